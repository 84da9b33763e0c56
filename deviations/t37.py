"""T37: whether plans are cut where a termination is predicted."""

from __future__ import annotations

import numpy as np

from deviations.eras import ALL, BETWEEN, FIRST, HEAD, PAPER, Side, figures
from parity.agreements.measures import fixed, uniform
from parity.claims import Equals, Tolerance, Within
from parity.operations import Answer, Inputs
from parity.registry import About, Claim, Entry, Source

VALUES = "tdmpc2.fresh_values"
AGENTS, SEQUENCES, BIN, BINS, LIMIT = 16, 16, 60, 101, 10.0
_WORTH = 0.99**3 * np.expm1(2 * LIMIT * BIN / (BINS - 1) - LIMIT)


def _fresh(rng: np.random.Generator) -> Inputs:
    """Fresh agents that expect the same of every state, whatever they do."""
    bias = np.zeros(BINS, np.float32)
    bias[BIN] = 40
    return {
        **{"observation": uniform(rng, 4), "bias": bias},
        **{"agents": AGENTS, "sequences": SEQUENCES, "seed": 1},
    }


def _cut(answer: Answer, question: Inputs) -> float:
    """The share of sequences that are not worth what the Q networks say of their last state."""
    del question
    apart = np.abs(answer["values"].astype(np.float64) - _WORTH)
    return float(np.mean(~(apart < 1e-3 * _WORTH)))


_NONE = Equals(0, "of the sequences")


def _claim(name: str, statement: str, tolerance: Tolerance, about: About, **fields) -> Claim:
    side: Side = "subject" if about == "subject" else "reference"
    return Claim(
        name,
        statement,
        tolerance,
        "Each agent's head takes a side at random, for nearly all of its states alike: of 16 "
        "heads, 1 to 15 are on either but once in 30,000. Without a head, every sequence is worth "
        "the same, to 1e-5.",
        (VALUES,),
        fixed(_fresh),
        figures(side, VALUES, _cut),
        about=about,
        **fields,
    )


CLAIMS = (
    _claim(
        "reference",
        "At eece801 fresh agents outside of the episodic mode take many sequences to end early: a "
        "termination head that nothing trains says so.",
        Within(0.06, 0.94, "of the sequences"),
        "reference",
        pins=(BETWEEN,),
    ),
    _claim(
        "reference-others",
        "At the other commits they take none to.",
        _NONE,
        "reference",
        pins=(FIRST, PAPER, HEAD),
        otherwise=True,
    ),
    _claim("core", "Nor do those of the core.", _NONE, "subject"),
)

ROW = Entry(
    id="T37",
    agent="TD-MPC2",
    kind="deviation",
    title="Predicted terminations outside of the episodic mode",
    reference=(
        "At eece801 every plan is cut where the termination head predicts an end, in the episodic "
        "mode and outside of it, where no loss trains the head. At e9f5932 there is no head "
        "outside of the episodic mode, and before eece801 there is none at all."
    ),
    subject="No head outside of the episodic mode.",
    consequence=(
        "At eece801 the plans of a run that is not episodic ignore all that follows a state of "
        "which the head says so, and which states these are depends on the seed alone."
    ),
    sources=(
        Source(FIRST, "tdmpc2/tdmpc2.py", "91-99"),
        Source(PAPER, "tdmpc2/tdmpc2.py", "95-103"),
        Source(BETWEEN, "tdmpc2/tdmpc2.py", "124-136"),
        Source(HEAD, "tdmpc2/tdmpc2.py", "124-136"),
    ),
    pins=ALL,
    status="reference bug",
    claims=CLAIMS,
    ours=True,
)
