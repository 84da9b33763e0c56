"""What the registered claims say of a right port, and of subjects that compute nothing."""

import numpy as np
import numpy_port
import pytest

from parity.implementations import Implementation, InProcess
from parity.operations import Array, catalogue
from parity.references import References
from parity.registry import load_registry
from parity.runner import outcome
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
    reference = None if claim.about == "subject" else references(entry.pins[0])
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
