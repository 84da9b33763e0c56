"""Element-wise functions, layers, percentiles and the discount of TD-MPC2.

The reference runs on torch and the core on XLA, whose elementary functions part in the last
bits: the tolerances say how far, and why not further.
"""

from __future__ import annotations

import numpy as np

from parity import cases
from parity.agreements.measures import compare_outputs, over, truths, uniform
from parity.agreements.tdmpc2.entries import agreement
from parity.claims import AtMost
from parity.comparisons import EPSILON, compare, gap, in_epsilon, in_epsilon_nats, in_ulp
from parity.operations import Inputs
from parity.registry import Claim

EXTREMES = cases.EXTREME_SCALARS


def _symlog_cases(rng: np.random.Generator) -> Inputs:
    spread = cases.scalars(rng, 1024, -149, 128)
    return {"x": np.concatenate([spread, cases.scalars(rng, 1024, -12, 5), EXTREMES])}


def _symexp_cases(rng: np.random.Generator) -> Inputs:
    spread = cases.scalars(rng, 1024, -149, 6)
    return {"x": np.concatenate([spread, cases.scalars(rng, 1024, -6, 4)])}


def _mish_cases(rng: np.random.Generator) -> Inputs:
    """Every size up to where eˣ leaves float32, and the neighbourhood of the minimum."""
    spread = cases.scalars(rng, 1024, -149, 6)
    return {"x": np.concatenate([spread, cases.scalars(rng, 1024, -6, 4), uniform(rng, 512)])}


def _in_epsilon_of_inverse(left: np.ndarray, right: np.ndarray, inputs: Inputs) -> np.ndarray:
    """The gap over ε · e^|x|: the size of what exp(|x|) − 1 is the difference of."""
    return gap(left, right) / (EPSILON * np.exp(np.abs(inputs["x"].astype(np.float64))))


def _in_ulp_of_size(left: np.ndarray, right: np.ndarray, inputs: Inputs) -> np.ndarray:
    """The gap over ε times the value; what is below the normal range may be 0."""
    del inputs
    floor = float(np.finfo(np.float32).tiny) / EPSILON
    return gap(left, right) / (EPSILON * np.maximum(np.abs(right.astype(np.float64)), floor))


def _sim_norm_cases(rng: np.random.Generator) -> Inputs:
    """Simplices of two lengths, from nearly flat ones to such with a single corner."""
    return {
        "variants": [{"x": cases.logits(rng, 48, 48, -6, 6), "length": length} for length in (8, 3)]
    }


def _layer_cases(rng: np.random.Generator) -> Inputs:
    """With and without dropout; small inputs, on which the ε of the norm shows."""
    F, U, B = 13, 20, 32
    size = np.ldexp(1.0, rng.integers(-2, 4, (B, 1)).astype(np.int32))
    given = {
        "x": (uniform(rng, B, F, within=1.0) * size).astype(np.float32),
        "layer_kernel": uniform(rng, F, U, within=0.5),
        "layer_bias": uniform(rng, U, within=0.5),
        "layer_scale": 1 + uniform(rng, U, within=0.5),
        "layer_offset": uniform(rng, U, within=0.5),
        "keep": rng.random((B, U)) < 0.75,
    }
    small = {name: given[name] * np.float32(2.0**-8) for name in ("x", "layer_bias")}
    return {
        "variants": [
            {**given, "dropout": 0.25},
            {**given, "dropout": 0.0},
            {**given, **small, "dropout": 0.0},
        ]
    }


def _in_epsilon_of_terms(left: np.ndarray, right: np.ndarray, inputs: Inputs) -> np.ndarray:
    """The gap over ε times the size of what a normed layer adds up, after its norm."""
    wide = {k: v.astype(np.float64) for k, v in inputs.items() if isinstance(v, np.ndarray)}
    factor = wide["keep"] / (1 - inputs["dropout"]) if inputs["dropout"] else 1.0
    sums = (wide["x"] @ wide["layer_kernel"] + wide["layer_bias"]) * factor
    terms = np.abs(wide["x"]) @ np.abs(wide["layer_kernel"]) + np.abs(wide["layer_bias"])
    terms = terms * factor
    mean = np.mean(terms, axis=-1, keepdims=True)
    centred = sums - np.mean(sums, axis=-1, keepdims=True)
    deviation = np.sqrt(np.mean(centred**2, axis=-1, keepdims=True) + 1e-5)
    # The norm spreads the errors of all sums over each value.
    shared = np.mean((terms + mean) * np.abs(centred), axis=-1, keepdims=True) / deviation**2
    size = (terms + mean + np.abs(centred) * shared) * np.abs(wide["layer_scale"]) / deviation
    return gap(left, right) / (EPSILON * (size + np.abs(wide["layer_offset"])))


def percentile_size(values: np.ndarray, percent: int) -> float:
    """What a percentile is known to, over ε: its value, and its place among the others."""
    ordered = np.sort(values.astype(np.float64))
    place = percent / 100 * (len(ordered) - 1)
    around = ordered[max(0, int(place) - 1) : int(place) + 3]
    return float(np.abs(around).max() + place * np.diff(around).max())


PERCENTILES = {
    name: over(lambda inputs, percent=percent: percentile_size(inputs["values"], percent))
    for name, percent in (("low", 5), ("high", 95))
}


def percentile_cases(rng: np.random.Generator) -> Inputs:
    """Batches of which both percentiles lie between two values, and one where they are values."""
    return {
        "variants": [
            {"values": np.concatenate([cases.scalars(rng, count, -4, 6)])}
            for count in (256, 257, 101, 7)
        ]
    }


def _ramp(rng: np.random.Generator) -> Inputs:
    return {"values": rng.permutation(256).astype(np.float32)}


PERCENTILE_REASON = (
    "A place among the values is known to 1 ε of itself a side, which moves a percentile by as "
    "much of the gap to the next value; two products and their sum round values half an ε each."
)

LENGTHS = (10, 25, 26, 50, 100, 125, 200, 333, 500, 999, 1000, 5000)


def _lengths(rng: np.random.Generator) -> Inputs:
    del rng
    return {"episode_length": np.asarray(LENGTHS, np.int64)}


def _known_lengths(rng: np.random.Generator) -> Inputs:
    del rng
    return {"episode_length": np.asarray([25, 200, 500, 1000], np.int64)}


def _in_double_epsilon(left: np.ndarray, right: np.ndarray, inputs: Inputs) -> np.ndarray:
    del inputs
    return gap(left, right) / float(np.finfo(np.float64).eps)


_LAYERS = "common/layers.py"
_MATH = "common/math.py"

AGREEMENTS = (
    agreement(
        "symlog",
        "Symmetric logarithm",
        "sign(x) · ln(1 + |x|)",
        {_MATH: ("49-54", "49-54", "43-48", "42-47")},
        (
            Claim(
                "equal",
                "symlog is the reference's, from subnormals to 3e38.",
                AtMost(5, "ε · max(1, |y|)"),
                "The reference rounds 1 + |x|, which moves the logarithm by half an ε, and its "
                "logarithm is within 1 ULP; log1p of XLA is within 3 ULP.",
                ("tdmpc2.symlog",),
                _symlog_cases,
                compare("tdmpc2.symlog", "y", in_epsilon_nats),
                search=lambda: cases.search_scalars(3.4e38).map(lambda x: {"x": x}),
            ),
        ),
        "Rewards and values are put where the reference puts them.",
    ),
    agreement(
        "symexp",
        "Symmetric exponential",
        "sign(x) · (exp(|x|) − 1)",
        {_MATH: ("58-63", "58-63", "51-56", "50-55")},
        (
            Claim(
                "equal",
                "symexp is the reference's, up to |x| = 64.",
                AtMost(8, "ε · e^|x|"),
                "The reference's exp is within 1 ε, and the difference rounds half an ε; expm1 "
                "of XLA is within 6 ULP.",
                ("tdmpc2.symexp",),
                _symexp_cases,
                compare("tdmpc2.symexp", "y", _in_epsilon_of_inverse),
                search=lambda: cases.search_scalars(64.0).map(lambda x: {"x": x}),
            ),
        ),
        "Predicted rewards and values are on the reference's scale.",
    ),
    agreement(
        "mish",
        "Mish",
        "x · tanh(ln(1 + eˣ))",
        {_LAYERS: ("55", "90", "99-104", "99-104")},
        (
            Claim(
                "equal",
                "Mish is the reference's, for |x| up to 64.",
                AtMost(12, "ε · |y|"),
                "The core rounds 6 times after an exponential that is within 2 ε and counts "
                "twice: 5 ε. The reference takes an exponential, a logarithm and a hyperbolic "
                "tangent, each within 1 to 2 ε: 6 ε.",
                ("tdmpc2.mish",),
                _mish_cases,
                compare("tdmpc2.mish", "y", _in_ulp_of_size),
                search=lambda: cases.search_scalars(64.0).map(lambda x: {"x": x}),
            ),
        ),
        "Every hidden layer bends as the reference's does.",
    ),
    agreement(
        "simnorm",
        "Simplicial normalisation",
        "A softmax over each group of 8 neighbouring features",
        {_LAYERS: ("30-47", "65-82", "74-91", "74-91")},
        (
            Claim(
                "equal",
                "Simplices are the reference's, for two lengths.",
                AtMost(8, "ULP"),
                "Each side's exponential is within 2 ULP, the sum of up to 8 of them rounds 3 "
                "times half an ε, and the quotient half: 4 ULP a side.",
                ("tdmpc2.sim_norm",),
                _sim_norm_cases,
                compare("tdmpc2.sim_norm", "y", in_ulp),
            ),
        ),
        "Latent states are points of the reference's simplices.",
    ),
    agreement(
        "normed-linear",
        "Hidden layers",
        "mish(norm(drop(x · kernel + bias)) · scale + offset), with ε = 1e-5 in the norm and "
        "dropout before it",
        {_LAYERS: ("50-65", "85-100", "94-111", "94-111")},
        (
            Claim(
                "equal",
                "A hidden layer is the reference's, with a given dropout mask and without.",
                AtMost(5, "ε · size of what is added up"),
                "Both sides add up the same terms. A sum of 14 rounds 14 times by at most half an "
                "ε of their absolute sum: as a random walk, under 2 ε a side, and on average over "
                "a layer far less; norm and Mish add half of an ε of it a side.",
                ("tdmpc2.normed_linear",),
                _layer_cases,
                compare("tdmpc2.normed_linear", "y", _in_epsilon_of_terms),
            ),
        ),
        "Every network is built of the reference's layer.",
    ),
    agreement(
        "percentiles",
        "Percentiles of the values",
        "Linear interpolation between the sorted values at 5 and 95 %",
        {"common/scale.py": ("23-35", "23-35", "21-37", "21-37")},
        (
            Claim(
                "equal",
                "Both percentiles are the reference's, for batches of several sizes.",
                AtMost(3, "ε · (|value| + place · gap)"),
                PERCENTILE_REASON,
                ("tdmpc2.percentiles",),
                percentile_cases,
                compare_outputs("tdmpc2.percentiles", PERCENTILES),
            ),
            Claim(
                "figures",
                "Of 0 to 255, the percentiles are 12.75 and 242.25.",
                AtMost(64, "ε"),
                "A position near 255 is known to an ULP of it, 64 to 128 ε, on neighbours that "
                "are 1 apart; it is rounded twice, by half an ULP at most.",
                ("tdmpc2.percentiles",),
                _ramp,
                truths(
                    "tdmpc2.percentiles",
                    {
                        "low": (lambda i: np.asarray(12.75), in_epsilon),
                        "high": (lambda i: np.asarray(242.25), in_epsilon),
                    },
                ),
            ),
        ),
        "The policy weighs values against entropy on the reference's scale.",
    ),
    agreement(
        "discount",
        "Discount of a task",
        "min(max((x − 1) / x, 0.95), 0.995) with x = episode length / 5",
        {"tdmpc2.py": ("35-48", "36-49", "58-71", "57-70")},
        (
            Claim(
                "equal",
                "The discount is the reference's for every length of an episode.",
                AtMost(2, "ε of float64"),
                "Two quotients and a difference of numbers of the size 1, of which a port may "
                "write 1 − 1/x instead.",
                ("tdmpc2.discount",),
                _lengths,
                compare("tdmpc2.discount", "discount", _in_double_epsilon),
            ),
            Claim(
                "figures",
                "Episodes of 25, 200, 500 and 1000 steps have 0.95, 0.975, 0.99 and 0.995.",
                AtMost(2, "ε of float64"),
                "As for `equal`.",
                ("tdmpc2.discount",),
                _known_lengths,
                truths(
                    "tdmpc2.discount",
                    {
                        "discount": (
                            lambda i: np.asarray([0.95, 0.975, 0.99, 0.995]),
                            _in_double_epsilon,
                        )
                    },
                ),
            ),
            Claim(
                "tasks",
                "In an agent of several tasks, each has the discount of its own episodes.",
                AtMost(1, "ε"),
                "Float64 numbers below 1 that are rounded to float32 on both sides.",
                ("tdmpc2.task_discounts",),
                lambda rng: {"episode_lengths": rng.permutation([25, 100, 200, 500, 1000])},
                compare("tdmpc2.task_discounts", "discounts", in_epsilon),
            ),
        ),
        "The agent looks as far ahead as the reference's.",
    ),
)
