"""T35: whether the policy's loss moves the vectors of the tasks."""

from __future__ import annotations

import numpy as np

from deviations.eras import (
    ALL,
    BETWEEN,
    FIRST,
    HEAD,
    PAPER,
    SERVED,
    SERVED_REASON,
    Figures,
    figures,
    served,
    served_cases,
)
from parity.agreements.measures import fixed, uniform
from parity.claims import Equals, Tolerance, Within
from parity.operations import Answer, Inputs
from parity.registry import Claim, Entry, Source

VECTORS = "tdmpc2.task_vectors"
K, TASKS, WIDTH = 5, 3, 8
_MODEL, _POLICY = np.arange(WIDTH) % 2 == 0, np.arange(WIDTH) % 2 == 1


def _cases(era: str):
    def make(rng: np.random.Generator) -> Inputs:
        """Each loss has a gradient by numbers of its own, so that one sees whose is counted."""
        shape = (K, TASKS, WIDTH)
        return {
            "table": uniform(rng, TASKS, WIDTH, within=0.25),
            "model_gradients": uniform(rng, *shape, within=1.0) * _MODEL.astype(np.float32),
            "policy_gradients": uniform(rng, *shape, within=1.0) * _POLICY.astype(np.float32),
            **{"learning_rate": 2.0**-8, "limit": 2.5, "era": era},
        }

    return fixed(make)


def _squares(gradients: np.ndarray) -> np.ndarray:
    return np.sum(gradients.astype(np.float64) ** 2, axis=(1, 2))


def _share(answer: Answer, question: Inputs) -> np.ndarray:
    """How much of the gradient by the policy's last loss, squared, the model's norm counts."""
    excess = answer["norm"].astype(np.float64) ** 2 - _squares(question["model_gradients"])
    return excess[1:] / _squares(question["policy_gradients"])[:-1]


def _moved(answer: Answer, question: Inputs) -> float:
    """Numbers that moved of those which the policy's loss alone has a gradient by.

    Nothing, if those of the model's loss did not move as well, or by more than Adam can.
    """
    moved = answer["table"][-1] != question["table"]
    furthest = np.abs(answer["table"][-1] - question["table"]).max()
    within = furthest <= 2 * len(answer["table"]) * question["learning_rate"]
    if not moved[:, _MODEL].all() or not within:
        return np.nan
    return float(np.count_nonzero(moved[:, _POLICY]))


_COUNT = TASKS * int(_POLICY.sum())
_WITHIN = 1e-4
_KNOWN = "A norm of 2 is known to 4 ε, and so the difference of two squares to 1e-5."
_BITS = "What has no gradient keeps its bits."


def _claim(
    name: str, statement: str, tolerance: Tolerance, figure: Figures, era: str, **fields
) -> Claim:
    side = "subject" if fields["about"] == "subject" else "reference"
    reason = _KNOWN if figure is _share else _BITS
    measure = figures(side, VECTORS, figure)
    return Claim(name, statement, tolerance, reason, (VECTORS,), _cases(era), measure, **fields)


_ALL, _NONE = Within(1 - _WITHIN, 1 + _WITHIN, "of it"), Within(-_WITHIN, _WITHIN, "of it")
_MOVING, _STILL = Equals(_COUNT, f"of {_COUNT} numbers"), Equals(0, f"of {_COUNT} numbers")

CLAIMS = (
    _claim(
        "reference-head",
        "At e9f5932 the gradient of the policy's loss by the vectors of the tasks is added, whole, "
        "to that of the model's loss in the next update.",
        _ALL,
        _share,
        "head",
        about="reference",
        pins=(HEAD,),
    ),
    _claim(
        "reference-head-moved",
        "So it moves them.",
        _MOVING,
        _moved,
        "head",
        about="reference",
        pins=(HEAD,),
    ),
    _claim(
        "reference-paper",
        "In the paper's era none of it is.",
        _NONE,
        _share,
        "paper",
        about="reference",
        pins=(FIRST, PAPER),
        otherwise=True,
    ),
    _claim(
        "reference-paper-moved",
        "What the policy's loss alone depends on does not move there.",
        _STILL,
        _moved,
        "paper",
        about="reference",
        pins=(FIRST, PAPER),
        otherwise=True,
    ),
    Claim(
        "reference-between",
        "At eece801 an agent of several tasks can not be updated: its termination head asserts "
        "that there is one task.",
        Equals(0, "of 1 update"),
        SERVED_REASON,
        (SERVED,),
        served_cases,
        served("updated"),
        about="reference",
        pins=(BETWEEN,),
        otherwise=True,
    ),
    Claim(
        "reference-head-updates",
        "At e9f5932 it can.",
        Equals(1, "of 1 update"),
        SERVED_REASON,
        (SERVED,),
        served_cases,
        served("updated"),
        about="reference",
        pins=(HEAD,),
    ),
    _claim(
        "core",
        "In the core the policy's loss does not move the vectors of the tasks.",
        _STILL,
        _moved,
        "paper",
        about="subject",
    ),
    _claim(
        "core-head",
        "Configured as e9f5932, the core adds the whole gradient to that of the next update.",
        _ALL,
        _share,
        "head",
        about="subject",
    ),
)

ROW = Entry(
    id="T35",
    agent="TD-MPC2",
    kind="deviation",
    title="Multi-task: the policy's loss and the vectors of the tasks",
    reference=(
        "At e9f5932 the policy's loss reaches the vectors of the tasks, and nothing clears that "
        "gradient: the model's optimiser takes it for part of its own in the next update. In the "
        "paper's era the vectors have no gradient by the policy's loss. At eece801 no agent of "
        "several tasks can be trained: its termination head asserts that there is one task."
    ),
    subject=(
        "As in the paper's era by default (policy_trains_tasks=False); policy_trains_tasks=True is "
        "what e9f5932 does."
    ),
    consequence=(
        "At e9f5932 the vectors of the tasks also learn, one update late, to make the policy's "
        "loss small, and that gradient counts where the model's is clipped."
    ),
    sources=(
        Source(FIRST, "tdmpc2/common/world_model.py", "67-69"),
        Source(PAPER, "tdmpc2/common/world_model.py", "66-68"),
        Source(BETWEEN, "tdmpc2/common/world_model.py", "136"),
        Source(HEAD, "tdmpc2/tdmpc2.py", "219-230"),
        Source(HEAD, "tdmpc2/tdmpc2.py", "306-310"),
    ),
    pins=ALL,
    status="reference bug",
    claims=CLAIMS,
    ours=True,
)
