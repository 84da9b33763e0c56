"""What the registered claims say of a right port, and of subjects that compute nothing."""

import numpy as np
import numpy_port
import pytest

from parity.implementations import Implementation, InProcess
from parity.operations import Array, catalogue
from parity.references import References
from parity.registry import load_registry
from parity.runner import RunError, outcome
from reference_harness.recordings import FOLDER

ASKED = [
    (entry, claim)
    for entry in load_registry()
    for claim in entry.claims
    if claim.about != "reference" and claim.operations
]
IDS = [f"{entry.id}/{claim.id}" for entry, claim in ASKED]


@pytest.fixture(scope="module")
def references():
    with References("recorded", FOLDER) as opened:
        yield opened


def verdict(references, entry, claim, subject):
    reference = None if claim.about == "subject" else references(entry.pins_of(claim)[0])
    return outcome(entry, claim, subject, reference, claim.cases(entry.rng(claim)))


@pytest.mark.parametrize(("entry", "claim"), ASKED, ids=IDS)
def test_no_claim_is_broken_for_a_right_port(references, entry, claim):
    port = InProcess(numpy_port.NAME, numpy_port.OPERATIONS)
    found = verdict(references, entry, claim, port)
    assert found.verdict != "BROKEN", found
    offered = set(claim.operations) <= set(numpy_port.OPERATIONS)
    assert (found.verdict == "NOT MEASURED") == (claim.core_only or not offered)


class Null(Implementation):
    """Answers every operation in the right shape, with something that was not computed."""

    name, is_core = "null", True

    def __init__(self, fill):
        self._fill = fill

    def answer(self, operation, inputs):
        signature = catalogue()[operation]
        axes = signature.check_inputs(inputs)
        first = next((v for v in inputs.values() if isinstance(v, np.ndarray)), np.zeros(1))
        return {
            field.name: self._fill(
                tuple(axes.get(n, 0) if not n.isdigit() else int(n) for n in field.shape.split()),
                field,
                first,
            )
            for field in signature.outputs
        }


def echo(shape, field: Array, first):
    return np.resize(first, shape).astype(field.dtype)


NULLS = {
    "zeros": lambda shape, field, first: np.zeros(shape, field.dtype),
    "ones": lambda shape, field, first: np.ones(shape, field.dtype),
    "nan": lambda shape, field, first: (
        np.full(shape, np.nan, field.dtype) if "float" in field.dtype else np.zeros(shape, "int64")
    ),
    "echo": echo,
    "empty": lambda shape, field, first: np.zeros((0, *shape[1:]), field.dtype),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("null", NULLS)
@pytest.mark.parametrize(("entry", "claim"), ASKED, ids=IDS)
def test_a_subject_that_computes_nothing_breaks_every_claim(references, entry, claim, null):
    assert verdict(references, entry, claim, Null(NULLS[null])).verdict == "BROKEN"


# True of the right answers to any question: two answers of the subject are held against each
# other, or a statistic of its draws, or an order of the inputs is drawn that makes no difference.
OF_ANY_QUESTION = {
    "T11/core",
    "D22/fragility",
    "D23/std",
    "D23/block-std",
    "T29/core-shares",
    "T29/core-tail",
    "T29/core-edge",
    "T29/core-refuses",
    "fresh-outputs/outscales",
    "observing/step-by-step",
    "observing/reset-past",
    "observing/reset-action",
    "observing/prior-is-blind",
    "observing/unimix",
    "imagining/feeds-back",
    "acting/reset-state",
    "acting/reset-action",
    "acting/same-features",
    "acting/unimix",
    "tdmpc2-percentiles/figures",
}


class Noting(InProcess):
    """A right port whose answers are noted."""

    def answer(self, operation, inputs):
        self.noted = (*getattr(self, "noted", ()), super().answer(operation, inputs))
        return self.noted[-1]


class Repeating(Implementation):
    """Gives answers to other questions than it is asked, in their order."""

    name, is_core = "repeating", True

    def __init__(self, answers):
        self._answers = iter(answers)

    def answer(self, operation, inputs):
        del operation, inputs
        return next(self._answers, {})


def drawn_parts(inputs):
    if isinstance(inputs, dict):
        inputs = [inputs[name] for name in sorted(inputs)]
    if not isinstance(inputs, (list, tuple)):
        return [np.asarray(inputs).tobytes()]
    return [part for value in inputs for part in drawn_parts(value)]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_the_right_answer_to_another_question_breaks_every_claim(references):
    held, tried = set(), 0
    for name, (entry, claim) in zip(IDS, ASKED, strict=True):
        if not set(claim.operations) <= set(numpy_port.OPERATIONS):
            continue
        other = claim.cases(np.random.default_rng(987))
        if drawn_parts(other) == drawn_parts(claim.cases(entry.rng(claim))):
            continue  # it has one question
        port = Noting(numpy_port.NAME, numpy_port.OPERATIONS, is_core=True)
        outcome(entry, claim, port, port, other)
        subject = Repeating(getattr(port, "noted", ()))
        held |= {name} if verdict(references, entry, claim, subject).verdict == "HOLDS" else set()
        tried += 1
    assert held == OF_ANY_QUESTION
    assert tried > 100


class LastIsNaN(Implementation):
    """Answers as a right port does, but for one question."""

    name, is_core = "forgetful", True

    def __init__(self, wrong=None):
        self._port = InProcess(numpy_port.NAME, numpy_port.OPERATIONS)
        self._wrong, self.asked = wrong, 0

    def answer(self, operation, inputs):
        found = self._port.answer(operation, inputs)
        self.asked += 1
        if self.asked == self._wrong:
            return {name: np.full_like(value, np.nan) for name, value in found.items()}
        return found


def of_one_figure(operation):
    (first, *others) = catalogue()[operation].outputs
    return not others and "float" in first.dtype and operation in numpy_port.OPERATIONS


# Whoever asks for one array has to look at it.
READ = [
    (entry, claim)
    for entry, claim in ASKED
    if not claim.core_only and all(map(of_one_figure, claim.operations))
]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    ("entry", "claim"), READ, ids=[f"{entry.id}/{claim.id}" for entry, claim in READ]
)
def test_nan_as_the_last_of_several_answers_breaks_a_claim(references, entry, claim):
    counting = LastIsNaN()
    verdict(references, entry, claim, counting)
    assert verdict(references, entry, claim, LastIsNaN(counting.asked)).verdict == "BROKEN"


class Blank(Implementation):
    """Answers in the shapes of a reference's recorded answers, with one number throughout."""

    name = "blank"

    def __init__(self, reference, number):
        self._reference, self._number = reference, number

    def answer(self, operation, inputs):
        answers = self._reference.answer(operation, inputs).items()
        whole = 0 if np.isnan(self._number) else self._number
        return {
            name: np.full_like(value, self._number if value.dtype.kind == "f" else whole)
            for name, value in answers
        }


ABOUT_REFERENCES = [
    (entry, claim)
    for entry in load_registry()
    for claim in entry.claims
    if claim.about == "reference" and entry.pins_of(claim)
]
MAY_BE_BLANK = {
    # Its sentence is that there is one number, which may be 0: that it depends on the compiler is
    # another claim.
    "D22/head-constant",
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("number", [0, 1, np.nan])
@pytest.mark.parametrize(
    ("entry", "claim"),
    ABOUT_REFERENCES,
    ids=[f"{entry.id}/{claim.id}" for entry, claim in ABOUT_REFERENCES],
)
def test_a_blank_answer_of_a_reference_satisfies_no_claim_about_it(
    references, entry, claim, number
):
    blank = Blank(references(entry.pins_of(claim)[0]), number)
    try:
        found = outcome(entry, claim, blank, blank, claim.cases(entry.rng(claim))).verdict
    except RunError as error:  # a claim that can not be measured stops the run
        found = str(error)
    held = {"HOLDS"} if f"{entry.id}/{claim.id}" in MAY_BE_BLANK else set()
    assert found != "NOT MEASURED"
    assert found not in {"HOLDS"} - held
