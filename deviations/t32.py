"""T32: how the Q networks start."""

from __future__ import annotations

import numpy as np

from deviations.eras import ALL, BETWEEN, FIRST, HEAD, PAPER, Figures, figures
from parity.agreements.tdmpc2.initialisation import FRESH, OF_Q, Q_INPUTS, fresh_cases
from parity.claims import Equals, Tolerance, Within
from parity.operations import Answer, Inputs
from parity.registry import Claim, Entry, Source

_HIDDEN = [0, 1]  # of the layers of the Q networks themselves, which come before the targets'


def _std(answer: Answer, question: Inputs) -> np.ndarray:
    """Standard deviations of the kernels of the hidden layers."""
    del question
    return answer["kernel_std"][OF_Q][_HIDDEN]


def _over_default(answer: Answer, question: Inputs) -> np.ndarray:
    """The same over those of uniform numbers within ± 1/sqrt(inputs)."""
    return _std(answer, question) * np.sqrt(3 * Q_INPUTS[_HIDDEN])


def _biased(answer: Answer, question: Inputs) -> float:
    """Layers with biases, if the kernels of the hidden ones are any good, and biases below 1."""
    if not (_std(answer, question) > 0).all() or not (answer["bias_peak"] < 1).all():
        return np.nan
    return float(np.count_nonzero(answer["bias_peak"][OF_Q][:3]))


def _claim(
    name: str,
    statement: str,
    tolerance: Tolerance,
    reason: str,
    figure: Figures,
    start: str = "normal",
    **fields,
) -> Claim:
    side = "subject" if fields["about"] == "subject" else "reference"
    cases, measure = fresh_cases(start), figures(side, FRESH, figure)
    return Claim(name, statement, tolerance, reason, (FRESH,), cases, measure, **fields)


_NORMAL = Within(0.019, 0.021)
_NORMAL_WHY = "The standard deviation of 100,000 draws is known to 0.2 %."
_DEFAULT = Within(0.98, 1.02, "of torch's default")
_DEFAULT_WHY = "The standard deviation of 100,000 uniform draws is known to 0.15 %."
_COUNTED = "A bias is 0 or it is not."
_LIKE_OTHERS = (FIRST, PAPER, HEAD)

CLAIMS = (
    _claim(
        "reference",
        "Kernels of the hidden layers of the Q networks start with a standard deviation of 0.02, "
        "as in all other networks.",
        _NORMAL,
        _NORMAL_WHY,
        _std,
        about="reference",
        pins=_LIKE_OTHERS,
        otherwise=True,
    ),
    _claim(
        "reference-biases",
        "Their biases start at 0.",
        Equals(0, "layers with others"),
        _COUNTED,
        _biased,
        about="reference",
        pins=_LIKE_OTHERS,
        otherwise=True,
    ),
    _claim(
        "reference-torch",
        "At eece801 they start with torch's default, whatever the initialiser: it no longer finds "
        "the ensemble's parameters.",
        _DEFAULT,
        _DEFAULT_WHY,
        _over_default,
        "torch",
        about="reference",
        pins=(BETWEEN,),
    ),
    _claim(
        "reference-torch-biases",
        "So do the biases of all three layers there.",
        Equals(3, "layers with others"),
        _COUNTED,
        _biased,
        "torch",
        about="reference",
        pins=(BETWEEN,),
    ),
    _claim(
        "core",
        "The core's start with a standard deviation of 0.02.",
        _NORMAL,
        _NORMAL_WHY,
        _std,
        about="subject",
    ),
    _claim(
        "core-biases",
        "The core's biases start at 0.",
        Equals(0, "layers with others"),
        _COUNTED,
        _biased,
        about="subject",
    ),
    _claim(
        "core-torch",
        "Configured as eece801, the core starts its Q networks like torch's default.",
        _DEFAULT,
        _DEFAULT_WHY,
        _over_default,
        "torch",
        about="subject",
    ),
)

ROW = Entry(
    id="T32",
    agent="TD-MPC2",
    kind="deviation",
    title="Initial Q networks",
    reference=(
        "At eece801 the initialiser does not reach the ensemble: hidden kernels and all biases "
        "keep torch's default. In the paper's era and at e9f5932 kernels are normal with a "
        "standard deviation of 0.02, and biases 0. The output kernels are 0 at every commit."
    ),
    subject="As in the paper's era by default (q_init=normal); q_init=torch is what eece801 does.",
    consequence=(
        "Results that were obtained between the two commits belong to Q networks with kernels more "
        "than twice as large in the first layer."
    ),
    sources=(
        Source("tdmpc2-b67b21c", "tdmpc2/common/init.py", "4-16"),
        Source("tdmpc2-5f6fade", "tdmpc2/common/init.py", "4-16"),
        Source("tdmpc2-eece801", "tdmpc2/common/world_model.py", "30-32"),
        Source("tdmpc2-e9f5932", "tdmpc2/common/world_model.py", "30-32"),
    ),
    pins=ALL,
    status="reference bug",
    claims=CLAIMS,
    ours=True,
)
