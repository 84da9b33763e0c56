"""The eras of TD-MPC2's reference, and figures of one side's answers, for the rows about them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from parity.claims import Measurement
from parity.comparisons import Measure, questions
from parity.implementations import Implementation
from parity.operations import Answer, Inputs

FIRST, PAPER, BETWEEN, HEAD = (
    f"tdmpc2-{commit}" for commit in ("b67b21c", "5f6fade", "eece801", "e9f5932")
)
PAPER_ERA, LATER = (FIRST, PAPER), (BETWEEN, HEAD)
ALL = (*PAPER_ERA, *LATER)

Side = Literal["reference", "subject"]
Figures = Callable[[Answer, Inputs], np.ndarray | float]


def asked(side: Side, subject: Implementation, reference: Implementation) -> Implementation:
    """One of the two."""
    return reference if side == "reference" else subject


def figures(side: Side, operation: str, read: Figures) -> Measure:
    """The range of some figures of one side's answers.

    Args:
        side: Whose.
        operation: What it is asked, in every variant of the inputs.
        read: From an answer and its question to figures.
    """

    def measure(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
        one = asked(side, subject, reference)
        found = [read(one(operation, **q), q) for q in questions(operation, inputs)]
        values = np.concatenate([np.ravel(np.asarray(x, np.float64)) for x in found])
        if not values.size:
            return Measurement(np.nan, np.nan, 0)
        return Measurement(float(values.min()), float(values.max()), values.size)

    return measure


SERVED = "tdmpc2.served_tasks"
SERVED_REASON = (
    "An assertion refuses, or none does; an agent of one task must be served, and what no agent "
    "can do must be refused."
)


def served_cases(rng: np.random.Generator) -> Inputs:
    """An agent of one task, as a control, and one of three."""
    del rng
    return {"variants": [{"tasks": 0}, {"tasks": 3}]}


def served(what: str) -> Measure:
    """Of one attempt with an agent of several tasks, how many the reference does not refuse.

    Args:
        what: "planned" or "updated".
    """

    def measure(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
        del subject
        control, several = (reference(SERVED, **q) for q in questions(SERVED, inputs))
        seen = control[what] and not several["misasked"]
        went = float(several[what]) if seen else np.nan
        return Measurement(went, went, 1, inputs)

    return measure
