"""T31: what the policy's loss takes for the entropy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from deviations.eras import ALL, LATER, PAPER_ERA, Figures, figures
from parity.agreements.tdmpc2.policies import HIGH, LOW, POLICY, drawn
from parity.claims import Within
from parity.operations import Answer, Inputs
from parity.registry import Claim, Entry, Source

ACTIONS = 3


def _question(form: str) -> Inputs:
    """Three draws of policies whose deviations are 1.

    The second differs from the first in the mean alone; the third has the second's action, made
    of another mean and other noise.
    """
    noise = np.asarray([[1, -2, 0.5], [1, -2, 0.5], [0, 1, -1]], np.float32)
    before = np.asarray([[1, -2, 0.5], [1.5, -2.25, 1.5], [1.5, -2.25, 1.5]], np.float32)
    # tanh(r) = 2/3 is ln σ = 0 on [−10, 2].
    raw = np.full((3, ACTIONS), np.arctanh(2 / 3), np.float32)
    return {
        "outputs": np.concatenate([before - noise, raw], axis=-1),
        "noise": noise,
        "mask": np.ones((3, ACTIONS), np.float32),
        "log_std_min": LOW,
        "log_std_max": HIGH,
        "form": form,
    }


def _cases(*forms: str) -> Callable[[np.random.Generator], Inputs]:
    return lambda rng: {"variants": [_question(form) for form in forms]}


def _of_squashing(answer: Answer, question: Inputs) -> float:
    """How often ln |d tanh| counts in the entropy; nothing, if nothing does."""
    if not _of_gaussian(answer, question) > 0.5:
        return np.nan
    first, second, _ = answer["entropy"].astype(np.float64)
    squashing = drawn(question).squashing
    return (second - first) / (squashing[1] - squashing[0])


def _of_gaussian(answer: Answer, question: Inputs) -> float:
    """How often the Gaussian's own log-density counts."""
    _, second, third = answer["entropy"].astype(np.float64)
    density = drawn(question).gaussian
    return (second - third) / (density[2] - density[1])


def _claim(name: str, statement: str, times: int, figure: Figures, form: str, **fields) -> Claim:
    """A claim about how often a term counts."""
    side = "subject" if fields["about"] == "subject" else "reference"
    return Claim(
        name,
        statement,
        Within(times - 1e-3, times + 1e-3, "times"),
        "Entropies of 20 at most, known to a few ε of their terms, which is 2e-5, over terms that "
        "are more than 0.1 apart.",
        (POLICY,),
        _cases(*form.split()),
        figures(side, POLICY, figure),
        **fields,
    )


CLAIMS = (
    _claim(
        "reference-squashing",
        "In the paper's era the logarithm of what squashing compresses is counted once, as in the "
        "entropy of the squashed policy.",
        1,
        _of_squashing,
        "density",
        about="reference",
        pins=PAPER_ERA,
        otherwise=True,
    ),
    _claim(
        "reference-squashing-later",
        "From eece801 on it is not counted: a ratio divides it out again.",
        0,
        _of_squashing,
        "scaled",
        about="reference",
        pins=LATER,
    ),
    _claim(
        "reference-actions",
        "The Gaussian's log-density is counted once for each action, here 3 times.",
        ACTIONS,
        _of_gaussian,
        "density",
        about="reference",
        pins=PAPER_ERA,
    ),
    _claim(
        "reference-actions-later",
        "So it is from eece801 on.",
        ACTIONS,
        _of_gaussian,
        "scaled",
        about="reference",
        pins=LATER,
    ),
    _claim(
        "core-squashing",
        "The core counts squashing once, as in the paper's era.",
        1,
        _of_squashing,
        "density",
        about="subject",
    ),
    _claim(
        "core-squashing-later",
        "Configured as a later commit, the core does not count it.",
        0,
        _of_squashing,
        "scaled",
        about="subject",
    ),
    _claim(
        "core-actions",
        "In both configurations the core counts the log-density once for each action.",
        ACTIONS,
        _of_gaussian,
        "density scaled",
        about="subject",
    ),
)

ROW = Entry(
    id="T31",
    agent="TD-MPC2",
    kind="deviation",
    title="Entropy in the loss of the policy",
    reference=(
        "From eece801 on the log-density of the squashed policy, times a ratio that divides the "
        "squashing out again: the Gaussian's log-density times the number of actions is left. In "
        "the paper's era squashing counts, once, beside the Gaussian's log-density times the "
        "number of actions, in which the constant is one of a single action."
    ),
    subject=(
        "As in the paper's era by default (policy_entropy=density); policy_entropy=scaled is the "
        "later form."
    ),
    consequence=(
        "In the later form the entropy bonus does not keep actions away from their bounds. In "
        "neither is it the entropy of the squashed policy."
    ),
    sources=(
        *(
            Source(pin, "tdmpc2/common/math.py", lines)
            for pin in PAPER_ERA
            for lines in ("27-32", "40-45")
        ),
        Source("tdmpc2-eece801", "tdmpc2/common/world_model.py", "166-183"),
        Source("tdmpc2-e9f5932", "tdmpc2/common/world_model.py", "166-183"),
    ),
    pins=ALL,
    claims=CLAIMS,
    ours=True,
)
