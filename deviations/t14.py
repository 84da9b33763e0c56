"""T14: the length of the task embedding."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from parity.claims import Equals, Measurement, Stated
from parity.comparisons import Measure, questions
from parity.implementations import Implementation
from parity.operations import Inputs
from parity.registry import Claim, Entry, Source

WIDTHS, TASKS = "tdmpc2.multitask_widths", "tdmpc2.task_set"
SIZES = (1, 5, 19, 48, 317)
NARROW = (5, 19, 48)


def _asked(*asked: tuple[str, Sequence[int]]) -> Callable[[np.random.Generator], Inputs]:
    """Sets of tasks, each at some model sizes."""

    def cases(rng: np.random.Generator) -> Inputs:
        del rng
        return {"variants": [{"tasks": t, "size": size} for t, sizes in asked for size in sizes]}

    return cases


def _width(name: str, side: str) -> Measure:
    """The range of a width of one side."""

    def measure(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
        asked = reference if side == "reference" else subject
        found = [float(asked(WIDTHS, **q)[name]) for q in questions(WIDTHS, inputs)]
        return Measurement(min(found), max(found), len(found), inputs)

    return measure


def _differing(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    """Widths that differ between the two sides."""
    wrong, compared, notes = 0, 0, []
    for question in questions(WIDTHS, inputs):
        theirs, ours = reference(WIDTHS, **question), subject(WIDTHS, **question)
        compared += len(theirs)
        for name in theirs:
            if theirs[name] != ours[name]:
                wrong += 1
                at = f"{question['tasks']} at {question['size']}M"
                notes.append(f"{name} of {at}: {theirs[name]} and {ours[name]}")
    return Measurement(float(wrong), float(wrong), compared, inputs, "; ".join(notes))


def _mt30(rng: np.random.Generator) -> Inputs:
    del rng
    return {"tasks": "mt30"}


def _shared(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    """Tasks of the reference's set that the core's has; all of the core's must be of it."""
    theirs, ours = (
        set(side(TASKS, **inputs)["names"].tobytes().decode(errors="replace").split("\n"))
        for side in (reference, subject)
    )
    found = float(len(theirs & ours)) if ours <= theirs else np.nan
    return Measurement(found, found, len(theirs), inputs, f"the set has {len(theirs)} tasks")


_PARSED = "A number that the configuration's own parser sets."

CLAIMS = (
    Claim(
        "reference-mt30",
        "Of mt30 the reference's task_dim is 64 at 5M, 19M and 48M.",
        Equals(64, "numbers"),
        _PARSED,
        (WIDTHS,),
        _asked(("mt30", NARROW)),
        _width("task_dim", "reference"),
        about="reference",
        stated=Stated("task_dim is 64 for mt30 at 5/19/48M", 64, 64),
    ),
    Claim(
        "reference-others",
        "It is 96 of mt30 at 1M and 317M, and of mt80 at every size.",
        Equals(96, "numbers"),
        _PARSED,
        (WIDTHS,),
        _asked(("mt30", (1, 317)), ("mt80", SIZES)),
        _width("task_dim", "reference"),
        about="reference",
        stated=Stated("96 (paper)", 96, 96),
    ),
    Claim(
        "reference-latent",
        "At 19M, mt30 has shorter latent states as well, of 512 numbers, which the row leaves out.",
        Equals(512, "numbers"),
        _PARSED,
        (WIDTHS,),
        _asked(("mt30", (19,))),
        _width("latent_dim", "reference"),
        about="reference",
    ),
    Claim(
        "core",
        "The core's task_dim is 96 at every size.",
        Equals(96, "numbers"),
        "The default of a configuration.",
        (WIDTHS,),
        _asked(("mt80", SIZES)),
        _width("task_dim", "subject"),
        about="subject",
        core_only=True,
        stated=Stated("96 (paper)", 96, 96),
    ),
    Claim(
        "widths",
        "With the widths that the core lists for mt30, its networks are as wide as the "
        "reference's, of both sets and at every size.",
        Equals(0, "widths that differ"),
        _PARSED,
        (WIDTHS,),
        _asked(("mt30", SIZES), ("mt80", SIZES)),
        _differing,
    ),
    Claim(
        "core-set",
        "The core's set of tasks is a part of mt30: it has 19 of its 30 tasks, and no other.",
        Equals(19, "of 30 tasks"),
        "Names are counted.",
        (TASKS,),
        _mt30,
        _shared,
        core_only=True,
        stated=Stated("The core's task set is not mt30", 0, 29),
    ),
)

ROW = Entry(
    id="T14",
    agent="TD-MPC2",
    kind="deviation",
    title="Multi-task: dimension of the task embedding",
    reference="task_dim is 64 for mt30 at 5/19/48M (an acknowledged accident).",
    subject="96 (paper).",
    consequence="The core's task set is not mt30.",
    sources=(
        Source("tdmpc2-b67b21c", "tdmpc2/common/parser.py", "54-55"),
        Source("tdmpc2-5f6fade", "tdmpc2/common/parser.py", "55-56"),
        Source("tdmpc2-eece801", "tdmpc2/common/parser.py", "74-75"),
        Source("tdmpc2-e9f5932", "tdmpc2/common/parser.py", "74-75"),
    ),
    pins=("tdmpc2-b67b21c", "tdmpc2-5f6fade", "tdmpc2-eece801", "tdmpc2-e9f5932"),
    normative="paper",
    status="paper versus code",
    claims=CLAIMS,
)
