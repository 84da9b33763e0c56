"""T33: which gradients count when the model's gradient is clipped."""

from __future__ import annotations

import numpy as np

from deviations.eras import ALL, LATER, PAPER_ERA, figures
from parity.agreements.measures import fixed
from parity.agreements.tdmpc2.optimizer import NETWORKS, OPTIMIZER, gradient_cases
from parity.claims import Within
from parity.operations import Answer, Inputs
from parity.registry import Claim, Entry, Source


def _share(answer: Answer, question: Inputs) -> np.ndarray:
    """How much of the policy's last gradient, clipped and squared, each norm counts."""
    squares = {
        name: np.asarray([np.sum(g.astype(np.float64) ** 2) for g in question[f"{name}_gradients"]])
        for name in NETWORKS
    }
    model = np.sum([square for name, square in squares.items() if name != "policy"], axis=0)
    own = np.sqrt(squares["policy"])
    policy = (own * np.minimum(1, question["limit"] / (own + 1e-6))) ** 2
    excess = answer["norm"].astype(np.float64) ** 2 - model
    return (excess[1:] / policy[:-1])[policy[:-1] > 0.05 * model[1:]]


_ALL, _NONE = Within(0.999, 1.001, "of it"), Within(-0.001, 0.001, "of it")
_REASON = (
    "A norm is known to 4 ε, of which its square is known to 8; the policy's share is a twentieth "
    "of it or more where it is read: 2e-5."
)


def _claim(name: str, statement: str, counted: str, **fields) -> Claim:
    side = "subject" if fields["about"] == "subject" else "reference"
    tolerance = _ALL if counted == "all" else _NONE
    cases, measure = fixed(gradient_cases(counted)), figures(side, OPTIMIZER, _share)
    return Claim(name, statement, tolerance, _REASON, (OPTIMIZER,), cases, measure, **fields)


CLAIMS = (
    _claim(
        "reference",
        "In the paper's era the norm that clips the model's gradient counts the clipped gradient "
        "of the policy's update before, whole.",
        "all",
        about="reference",
        pins=PAPER_ERA,
        otherwise=True,
    ),
    _claim(
        "reference-later",
        "From eece801 on it counts nothing of it.",
        "model",
        about="reference",
        pins=LATER,
    ),
    _claim("core", "The core counts it, as in the paper's era.", "all", about="subject"),
    _claim(
        "core-later",
        "Configured as a later commit, the core counts nothing of it.",
        "model",
        about="subject",
    ),
)

ROW = Entry(
    id="T33",
    agent="TD-MPC2",
    kind="deviation",
    title="Norm that clips the model's gradient",
    reference=(
        "From eece801 on the norm is that of the model's own gradient. In the paper's era it is "
        "taken over all parameters, of which those of the policy still hold the gradient of the "
        "policy's last update."
    ),
    subject=(
        "As in the paper's era by default (clip_with_policy=True); clip_with_policy=False is what "
        "later commits do."
    ),
    consequence=(
        "Where the paper's era clips the model's gradient, it is clipped to less than the limit. "
        "Where it does not, the reported norm alone differs."
    ),
    sources=(
        Source("tdmpc2-b67b21c", "tdmpc2/tdmpc2.py", "232"),
        Source("tdmpc2-b67b21c", "tdmpc2/tdmpc2.py", "267"),
        Source("tdmpc2-5f6fade", "tdmpc2/tdmpc2.py", "236"),
        Source("tdmpc2-5f6fade", "tdmpc2/tdmpc2.py", "271"),
        Source("tdmpc2-eece801", "tdmpc2/tdmpc2.py", "228-230"),
        Source("tdmpc2-eece801", "tdmpc2/tdmpc2.py", "307"),
        Source("tdmpc2-e9f5932", "tdmpc2/tdmpc2.py", "228-230"),
        Source("tdmpc2-e9f5932", "tdmpc2/tdmpc2.py", "308"),
    ),
    pins=ALL,
    claims=CLAIMS,
    ours=True,
)
