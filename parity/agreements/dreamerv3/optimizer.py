"""The optimiser, step by step and as a whole, and the slow critic."""

from __future__ import annotations

import numpy as np

from parity.agreements.dreamerv3.entries import agreement
from parity.agreements.measures import compare_outputs, fixed, over, truths, uniform
from parity.claims import AtMost
from parity.comparisons import against_truth, in_epsilon, in_ulp
from parity.operations import Inputs
from parity.registry import Claim

CLIP, LAPROP, WARMUP, CHAIN, SLOW = (
    f"dreamerv3.{name}"
    for name in ("gradient_clipping", "laprop", "warmup_factor", "optimizer", "slow_critic")
)
K, P, ROWS, COLUMNS = 8, 24, 3, 4

BIAS_CORRECTION = (
    "0.999ᵗ in float32 is known to half a ULP of 1, so 1 − 0.999ᵗ to 3e-8/1e-3 = 3e-5 relative "
    "for t = 1 and to a t-th of it and the roundings of the power later; the root halves it"
)


def _clip_cases(rng: np.random.Generator) -> Inputs:
    """Gradients below and above the limit, small parameters, and a tensor of zeros."""
    kernel = uniform(rng, ROWS, COLUMNS)
    # Rows of very different norms tell a norm of the tensor from norms of its units.
    kernel *= np.asarray([1, 1 / 16, 4], np.float32)[:, None]
    variants = []
    for size, biases in ((4.0, 1.0), (0.01, 1.0), (4.0, 0.0), (0.001, 2.0**-13)):
        variants.append(
            {
                "kernel": kernel,
                "bias": uniform(rng, COLUMNS, within=biases),
                "kernel_gradient": uniform(rng, ROWS, COLUMNS, within=size),
                "bias_gradient": uniform(rng, COLUMNS, within=size),
            }
        )
    return {"variants": variants}


def _norms(rng: np.random.Generator) -> Inputs:
    """A parameter of norm 2 with a gradient of norm 5, and zeros with the same gradient."""
    del rng
    return {
        "kernel": np.asarray([[2.0, 0.0]], np.float32),
        "bias": np.zeros(2, np.float32),
        "kernel_gradient": np.asarray([[3.0, 4.0]], np.float32),
        "bias_gradient": np.asarray([-4.0, 3.0], np.float32),
    }


def _laprop_cases(rng: np.random.Generator) -> Inputs:
    """Gradients of every size, down to 1e-15, that change their size and sign as they come."""
    size = np.ldexp(1.0, np.arange(P) * 2 - 46)
    return {"gradients": (uniform(rng, K, P) * size).astype(np.float32)}


def _laprop(inputs: Inputs) -> np.ndarray:
    g = inputs["gradients"].astype(np.float64)
    v, m, seen = np.zeros(g.shape[1]), np.zeros(g.shape[1]), []
    for t in range(1, len(g) + 1):
        v = 0.999 * v + 0.001 * g[t - 1] ** 2
        m = 0.9 * m + 0.1 * g[t - 1] / (np.sqrt(v / (1 - 0.999**t)) + 1e-20)
        seen.append(m / (1 - 0.9**t))
    return np.stack(seen)


def _warmup_cases(rng: np.random.Generator) -> Inputs:
    del rng
    return {"updates": np.asarray([0, 1, 499, 999, 1000, 1001, 20000]), "warmup": 1000}


def _ramp(inputs: Inputs) -> np.ndarray:
    return np.minimum(1.0, inputs["updates"] / inputs["warmup"])


def _chain_cases(rng: np.random.Generator) -> Inputs:
    """A ramp that ends within the steps, and large steps, so that every part shows."""
    return {
        "kernel": uniform(rng, ROWS, COLUMNS),
        "bias": uniform(rng, COLUMNS),
        "kernel_gradients": uniform(rng, K, ROWS, COLUMNS, within=0.5),
        "bias_gradients": uniform(rng, K, COLUMNS, within=8.0),
        "learning_rate": 2.0**-6,
        "warmup": 4,
    }


def _slow_cases(rng: np.random.Generator) -> Inputs:
    critic, initial = uniform(rng, K, P), uniform(rng, P)
    return {
        "variants": [
            {"critic": critic, "initial": initial, "updates": updates} for updates in (0, 5)
        ]
    }


AGREEMENTS = (
    agreement(
        "gradient-clipping",
        "Adaptive gradient clipping",
        "g / max(1, ‖g‖ / (0.3 · max(1e-3, ‖p‖))), norms of whole tensors",
        (("dreamerv3/jaxutils.py", "660-674", "659-673"),),
        (
            Claim(
                "values",
                "Clipped gradients of a kernel and a bias are the reference's.",
                AtMost(12, "ULP"),
                "A norm of 12 squares is within 3 ULP, two of them, three quotients or products "
                "and the reciprocal: 6 a side.",
                (CLIP,),
                fixed(_clip_cases),
                compare_outputs(CLIP, {"kernel": in_ulp, "bias": in_ulp}),
            ),
            Claim(
                "figures",
                "A gradient of norm 5 is clipped to 0.6 beside a parameter of norm 2, and to "
                "3e-4 beside one of norm 0.",
                AtMost(4, "ε relative"),
                "The norms are exact here; a product, two quotients and a product round once.",
                (CLIP,),
                fixed(_norms),
                truths(
                    CLIP,
                    {
                        "kernel": (lambda i: 0.12 * i["kernel_gradient"], over(lambda _: 0.48)),
                        "bias": (lambda i: 6e-5 * i["bias_gradient"], over(lambda _: 2.4e-4)),
                    },
                ),
            ),
        ),
        "No tensor is changed faster, relative to its own size, than in the reference.",
    ),
    agreement(
        "laprop",
        "LaProp",
        "Normalisation by the root of the second moment, then momentum, both bias-corrected",
        (("dreamerv3/jaxutils.py", "677-713", "676-712"),),
        (
            Claim(
                "updates",
                "The updates of 8 steps are the reference's, for gradients down to 1e-15.",
                AtMost(6e-5, "absolute, of updates of up to 2"),
                f"{BIAS_CORRECTION}: 1.5e-5, which the two sides may have in opposite "
                "directions, of updates of up to 2.",
                (LAPROP,),
                fixed(_laprop_cases),
                compare_outputs(LAPROP, {"updates": lambda a, b, _: np.abs(a - b)}),
            ),
            Claim(
                "by-formula",
                "They are those of the formula, in float64.",
                AtMost(6e-5, "absolute, of updates of up to 2"),
                f"{BIAS_CORRECTION}: 1.5e-5 of updates of up to 2, and the roundings of 8 steps.",
                (LAPROP,),
                fixed(_laprop_cases),
                truths(LAPROP, {"updates": (_laprop, lambda a, b, _: np.abs(a - b))}),
            ),
        ),
        "Gradients of any size move parameters as they do in the reference.",
    ),
    agreement(
        "warm-up",
        "Warm-up of the step size",
        "min(1, updates / 1000), counted before the update",
        (("dreamerv3/jaxutils.py", "511-513", "511-513"),),
        (
            Claim(
                "factor",
                "The factors of updates 0, 1, 499, 999, 1000 and later are the reference's.",
                AtMost(3e-5, "relative to 1"),
                f"The reference's is read off what it does to a parameter, through LaProp: "
                f"{BIAS_CORRECTION}.",
                (WARMUP,),
                fixed(_warmup_cases),
                compare_outputs(WARMUP, {"factor": lambda a, b, _: np.abs(a - b)}),
            ),
            Claim(
                "ramp",
                "The factor is updates/1000 up to 1: 0 for the first, 1 from the 1001st on.",
                AtMost(1, "ε"),
                "One quotient.",
                (WARMUP,),
                fixed(_warmup_cases),
                against_truth(WARMUP, "factor", _ramp, in_epsilon),
                about="subject",
            ),
        ),
        "The first updates are as careful as the reference's.",
    ),
    agreement(
        "optimizer",
        "The optimiser as a whole",
        "Clipping, LaProp, step size, warm-up; no weight decay",
        (("dreamerv3/jaxutils.py", "424-531", "424-531"),),
        (
            Claim(
                "parameters",
                "A kernel and a bias are the reference's after each of 8 updates.",
                AtMost(1e-5, "absolute"),
                f"{BIAS_CORRECTION}: 3e-5 of 7 steps of up to 2/64 each, or 7e-6; a parameter "
                "below 2 rounds once per step, to 1.2e-7.",
                (CHAIN,),
                fixed(_chain_cases),
                compare_outputs(
                    CHAIN, dict.fromkeys(("kernels", "biases"), lambda a, b, _: np.abs(a - b))
                ),
            ),
        ),
        "The parts of the optimiser follow each other as in the reference.",
    ),
    agreement(
        "slow-critic",
        "The slow critic",
        "slow ← 0.02 · critic + 0.98 · slow after every update; the first copies",
        (("dreamerv3/jaxutils.py", "737-762", "732-757"),),
        (
            Claim(
                "parameters",
                "Its parameters are the reference's after each of 8 updates, the first or later.",
                AtMost(12, "ε"),
                "Two products and a sum of numbers below 2 round once per update, and what an "
                "update rounds decays by 2 % only: 8 updates of 1.5 halves a side.",
                (SLOW,),
                fixed(_slow_cases),
                compare_outputs(SLOW, {"slow": in_epsilon}),
            ),
        ),
        "The critic is held back by as slow a target as the reference's.",
    ),
)
