"""The policies: log-probabilities, entropies, their gradients, and draws."""

from __future__ import annotations

import numpy as np

from parity.agreements.dreamerv3.entries import agreement
from parity.agreements.measures import compare_outputs, fixed, over, slopes, uniform
from parity.claims import AtMost
from parity.comparisons import in_epsilon
from parity.operations import Inputs
from parity.registry import Claim

DISCRETE, CONTINUOUS = "dreamerv3.discrete_policy", "dreamerv3.continuous_policy"
ROWS, ACTIONS, SIZE = 48, 4, 3
STEP = 2.0**-5

SCORE_REASON = (
    "A central difference with the step 1/32 errs by a sixth of its square, 1.6e-4, times a third "
    "derivative of the size of the slopes, and by the rounding of the values over it, 1e-4."
)


def discrete_cases(rng: np.random.Generator) -> Inputs:
    """Nearly flat and nearly certain policies."""
    scale = np.ldexp(1.0, np.arange(ROWS) % 6 - 2)[:, None]
    return {
        "raw": (uniform(rng, ROWS, ACTIONS) * scale).astype(np.float32),
        "action": rng.integers(0, ACTIONS, ROWS).astype(np.int32),
        "gumbel": uniform(rng, ROWS, ACTIONS, within=4.0),
    }


def continuous_cases(rng: np.random.Generator) -> Inputs:
    """Means that are squashed and such that are not, deviations from one bound to the other."""
    return {
        "mean": uniform(rng, ROWS, SIZE, within=3.0),
        "deviation": uniform(rng, ROWS, SIZE, within=9.0),
        "action": uniform(rng, ROWS, SIZE, within=1.5),
        "normal": uniform(rng, ROWS, SIZE, within=3.0),
    }


def _mixed(inputs: Inputs) -> np.ndarray:
    raw = inputs["raw"].astype(np.float64)
    weights = np.exp(raw - raw.max(-1, keepdims=True))
    return 0.99 * weights / weights.sum(-1, keepdims=True) + 0.01 / raw.shape[-1]


def _taken_size(inputs: Inputs) -> np.ndarray:
    rows = np.arange(len(inputs["action"]))
    return 1 + np.abs(np.log(_mixed(inputs)[rows, inputs["action"]]))


def _entropy_size(inputs: Inputs) -> np.ndarray:
    p = _mixed(inputs)
    return (p * (1 + np.abs(np.log(p)))).sum(-1)


def _entropy_slope_size(inputs: Inputs) -> np.ndarray:
    return 1 + np.abs(np.log(_mixed(inputs))).max(-1, keepdims=True)


def deviation_of(raw: np.ndarray) -> np.ndarray:
    """The standard deviation of an unbounded output, in float64."""
    return 0.9 / (1 + np.exp(-(raw.astype(np.float64) + 2))) + 0.1


def density_terms(mean: np.ndarray, raw: np.ndarray, action: np.ndarray) -> np.ndarray:
    """The size of what a log-density is made of, component by component.

    A distance z in deviations is the difference of a/σ and μ/σ, and is multiplied by itself.
    """
    std = deviation_of(raw)
    a, m = np.abs(action.astype(np.float64)), np.abs(np.tanh(mean.astype(np.float64)))
    z = np.abs(action - np.tanh(mean.astype(np.float64))) / std
    return z * (a + m) / std + z**2 + np.abs(np.log(std)) + 1


def _density_size(inputs: Inputs) -> np.ndarray:
    return density_terms(inputs["mean"], inputs["deviation"], inputs["action"]).sum(-1)


def _slope_size(inputs: Inputs) -> np.ndarray:
    terms = density_terms(inputs["mean"], inputs["deviation"], inputs["action"])
    return (terms / deviation_of(inputs["deviation"]))[:, None, :]


AGREEMENTS = (
    agreement(
        "discrete-policy",
        "The discrete policy",
        "A one-hot categorical of 0.99 · softmax + 0.01 / actions",
        (("dreamerv3/nets.py", "523-534", "518-529"),),
        (
            Claim(
                "log-prob",
                "The log-probability of an action is the reference's.",
                AtMost(10, "ε · (1 + |ln p|)"),
                "exp, sum, quotient and mixture put 2 ε into p, the logarithm turns them into "
                "absolute ones and adds 1.2 ULP, and the distribution normalises once more, "
                "which adds as much: 5 a side.",
                (DISCRETE,),
                fixed(discrete_cases),
                compare_outputs(DISCRETE, {"log_prob": over(_taken_size)}),
            ),
            Claim(
                "entropy",
                "The entropy is that of the mixed distribution, and the reference's.",
                AtMost(16, "ε · Σ p (1 + |ln p|)"),
                "Logarithms as in `log-prob`, weighted by p with 2 ε, products and a sum of 4 "
                "terms with 1 more: 8 a side.",
                (DISCRETE,),
                fixed(discrete_cases),
                compare_outputs(DISCRETE, {"entropy": over(_entropy_size)}),
            ),
            Claim(
                "slopes",
                "The gradients of log-probability and entropy in the actor's output are the "
                "reference's; no gradient flows through the action.",
                AtMost(20, "ε, of entropies ε · (1 + max|ln p|)"),
                "A slope is a product of ratios of probabilities below 1, each within 3 ε, of "
                "which a sum over 4 is subtracted: 10 a side.",
                (DISCRETE,),
                fixed(discrete_cases),
                compare_outputs(
                    DISCRETE,
                    {"log_prob_slope": in_epsilon, "entropy_slope": over(_entropy_slope_size)},
                ),
            ),
            Claim(
                "draws",
                "From the same noise the same action is drawn.",
                AtMost(0, "actions"),
                "The noise decides no draw by less than 1e-4, far above any rounding.",
                (DISCRETE,),
                fixed(discrete_cases),
                compare_outputs(DISCRETE, {"drawn": lambda a, b, _: np.abs(a - b)}),
            ),
            Claim(
                "score",
                "The gradient of a log-probability is its difference quotient for a fixed action.",
                AtMost(5e-4, "of the largest quotient"),
                SCORE_REASON,
                (DISCRETE,),
                fixed(discrete_cases),
                slopes(DISCRETE, "log_prob", "log_prob_slope", {"raw": ACTIONS}, STEP),
                about="subject",
            ),
        ),
        "Discrete actions are drawn and scored as in the reference.",
    ),
    agreement(
        "continuous-policy",
        "The continuous policy",
        "Independent normals, mean tanh(m), deviation 0.9 · sigmoid(s + 2) + 0.1",
        (("dreamerv3/nets.py", "491-499", "486-494"),),
        (
            Claim(
                "moments",
                "Mean and deviation of every component are the reference's.",
                AtMost(10, "ε"),
                "XLA's tanh and sigmoid are within 4 ULP of numbers below 1; the deviation is "
                "scaled and shifted with one rounding each: 5 a side.",
                (CONTINUOUS,),
                fixed(continuous_cases),
                compare_outputs(CONTINUOUS, {"loc": in_epsilon, "scale": in_epsilon}),
            ),
            Claim(
                "log-prob",
                "The log-density of an action is the reference's.",
                AtMost(20, "ε · Σ (z (|a| + |μ|)/σ + z² + |ln σ| + 1)"),
                "Mean and deviation are within 5 ε, the larger of which (a tenth) is known to "
                "50 ε in the worst case, but then σ stands at its bound, where the sigmoid is 0; "
                "quotients, square and sum round once each: 10 a side.",
                (CONTINUOUS,),
                fixed(continuous_cases),
                compare_outputs(CONTINUOUS, {"log_prob": over(_density_size)}),
            ),
            Claim(
                "entropy",
                "The differential entropy is the reference's.",
                AtMost(30, "ε · nats"),
                "A relative error of 5 ε in each of 3 deviations, logarithms of up to 2.3 within "
                "a ULP, and a sum: 15 a side.",
                (CONTINUOUS,),
                fixed(continuous_cases),
                compare_outputs(CONTINUOUS, {"entropy": in_epsilon}),
            ),
            Claim(
                "slopes",
                "The gradients of log-density and entropy in the actor's outputs are the "
                "reference's; no gradient flows through the action.",
                AtMost(20, "ε · (z (|a| + |μ|)/σ + z² + |ln σ| + 1)/σ"),
                "A slope is a term of the log-density over σ, times a slope of tanh or sigmoid "
                "that is at most 1: the roundings of `log-prob`.",
                (CONTINUOUS,),
                fixed(continuous_cases),
                compare_outputs(
                    CONTINUOUS,
                    {"log_prob_slope": over(_slope_size), "entropy_slope": over(_slope_size)},
                ),
            ),
            Claim(
                "draws",
                "From the same noise the same action is drawn, beyond [−1, 1] if it so happens.",
                AtMost(40, "ε"),
                "A deviation within 5 ε times a noise of up to 3, a mean within 5 ε, and two "
                "roundings of numbers up to 4: 20 a side.",
                (CONTINUOUS,),
                fixed(continuous_cases),
                compare_outputs(CONTINUOUS, {"drawn": in_epsilon}),
            ),
            Claim(
                "score",
                "The gradient of a log-density is its difference quotient for a fixed action.",
                AtMost(2e-3, "of the largest quotient"),
                SCORE_REASON + " A density has steeper third derivatives than a probability.",
                (CONTINUOUS,),
                fixed(continuous_cases),
                slopes(
                    CONTINUOUS,
                    "log_prob",
                    "log_prob_slope",
                    {"mean": SIZE, "deviation": SIZE},
                    STEP,
                ),
                about="subject",
            ),
        ),
        "Continuous actions are drawn and scored as in the reference.",
    ),
)
