"""D4: the precision of the computation."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from deviations.d3 import HEAD
from parity.agreements.dreamerv3.entries import PINS
from parity.claims import AtLeast, AtMost, Equals, Measurement, Stated
from parity.comparisons import Measure
from parity.implementations import Implementation
from parity.operations import Inputs
from parity.registry import Claim, Entry, Source

DEFAULT = "dreamerv3.default_precision"
NORM = "dreamerv3.low_precision_norm"
SLOW = "dreamerv3.slow_critic_logits"

EPS = 1e-4  # of the norm
# Less than half the distance of two bfloat16 numbers, and many times that of two float32.
BELOW_BFLOAT16 = 2.0**-12


def _nothing(rng: np.random.Generator) -> Inputs:
    del rng
    return {}


def _activations(rng: np.random.Generator) -> Inputs:
    """Rows of bfloat16 numbers of very different sizes, ε's size among them."""
    mantissa = rng.integers(128, 256, (64, 32)) * rng.choice([-1, 1], (64, 32))
    sizes = rng.integers(-8, 3, (64, 1))
    x = np.ldexp(mantissa.astype(np.float64), sizes - 7).astype(np.float32)
    return {"x": x, "scale": (rng.integers(128, 256, 32) / 128).astype(np.float32)}


def _kernels(rng: np.random.Generator) -> Inputs:
    """A kernel of bfloat16 numbers, and features that add up without cancelling."""
    features = (rng.integers(128, 256, (8, 16)) / 128).astype(np.float32)
    kernel = (rng.integers(128, 255, (16, 5)) / 128).astype(np.float32)
    return {"features": features, "kernel": kernel}


def _bits(side: str, name: str) -> Measure:
    def measure(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
        asked = reference if side == "reference" else subject
        bits = float(asked(DEFAULT, **inputs)[name])
        return Measurement(bits, bits, 1, inputs)

    return measure


def _in(statistics: type) -> Callable[[Inputs], np.ndarray]:
    """The norm with its square, ε and root in bfloat16, or in float32; sums are in float32."""

    def expected(inputs: Inputs) -> np.ndarray:
        from ml_dtypes import bfloat16

        kept = bfloat16 if statistics is np.float16 else np.float32
        x = inputs["x"].astype(bfloat16)
        square = np.square(x.astype(kept)).astype(kept)
        mean = square.astype(np.float32).mean(-1, keepdims=True).astype(kept)
        shifted = (mean.astype(np.float32) + np.float32(EPS)).astype(kept).astype(np.float64)
        root = (1 / np.sqrt(shifted)).astype(np.float32).astype(kept)
        multiplier = (root * inputs["scale"].astype(kept)).astype(kept)
        return (x.astype(kept) * multiplier).astype(bfloat16).astype(np.float32)

    return expected


_low, _high = _in(np.float16), _in(np.float32)


def _unlike(expected: Callable[[Inputs], np.ndarray]) -> Measure:
    """The share of the reference's answers that are other numbers than expected, but near."""

    def measure(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
        del subject
        found, wanted = reference(NORM, **inputs)["y"], expected(inputs)
        near = np.allclose(found, wanted, rtol=2**-5, atol=2**-20)
        share = float(np.mean(found != wanted)) if near else np.nan
        return Measurement(share, share, inputs["x"].size, inputs)

    return measure


def _apart(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    """The share of the answers that differ between the two sides."""
    theirs, ours = (side(NORM, **inputs)["y"] for side in (reference, subject))
    share = float(np.mean(theirs != ours))
    return Measurement(share, share, theirs.size, inputs)


def _moved(side: str, dtype: str) -> Measure:
    """The share of the slow critic's logits that a small change of its kernel changes."""

    def measure(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
        asked = reference if side == "reference" else subject
        kernel = inputs["kernel"] * np.float32(1 + BELOW_BFLOAT16)
        before = asked(SLOW, dtype=dtype, **inputs)["logits"]
        after = asked(SLOW, dtype=dtype, **{**inputs, "kernel": kernel})["logits"]
        known = np.isfinite(before).all() and np.isfinite(after).all()
        known = known and len(np.unique(before)) > 1
        share = float(np.mean(before != after)) if known else np.nan
        return Measurement(share, share, before.size, inputs)

    return measure


CLAIMS = (
    Claim(
        "reference",
        "By default the reference's networks compute in bfloat16.",
        Equals(8, "bits of the significand"),
        "A dtype is what it is.",
        (DEFAULT,),
        _nothing,
        _bits("reference", "activations"),
        about="reference",
        stated=Stated("bf16 compute", 8, 8),
    ),
    Claim(
        "reference-parameters",
        "Their parameters are in float32.",
        Equals(24, "bits of the significand"),
        "A dtype is what it is.",
        (DEFAULT,),
        _nothing,
        _bits("reference", "parameters"),
        about="reference",
    ),
    Claim(
        "reference-norm",
        "The norm's square, mean, sum with ε and reciprocal root are rounded to bfloat16; only the "
        "sum inside the mean is in float32, and ε.",
        AtMost(0.01, "of the values differ"),
        "The same operations in the same order. (ε stands in the program as a bfloat16; XLA leaves "
        "that rounding out, which decides ties.) A reciprocal root that is a ULP of float32 off "
        "falls on another bfloat16 once in 2^15.",
        (NORM,),
        _activations,
        _unlike(_low),
        about="reference",
        pins=PINS,
        stated=Stated("bf16 RMS statistics", 0, 0.01),
    ),
    Claim(
        "reference-norm-float32",
        "Statistics in float32 would give other values.",
        AtLeast(0.2, "of the values differ"),
        "Rounding a mean to 8 bits moves it by 0.1 % on average, a quarter of the distance of "
        "two bfloat16 numbers: this keeps `reference-norm` honest.",
        (NORM,),
        _activations,
        _unlike(_high),
        about="reference",
        pins=PINS,
    ),
    Claim(
        "reference-norm-head",
        "At e3f0224 the norm's statistics are in float32.",
        AtMost(0.01, "of the values differ"),
        "The same operations in the same order, rounded to bfloat16 once; two compilers' roots "
        "and sums part by a few ULP of float32, which moves that rounding once in 2^13.",
        (NORM,),
        _activations,
        _unlike(_high),
        about="reference",
        pins=(HEAD,),
        stated=Stated("bf16 RMS statistics", 0.2),
    ),
    Claim(
        "reference-slow-parameters",
        "The slow critic's parameters are in float32.",
        Equals(24, "bits of the significand"),
        "A dtype is what it is.",
        (DEFAULT,),
        _nothing,
        _bits("reference", "slow_critic"),
        about="reference",
        stated=Stated("f32 slow critic", 24, 24),
    ),
    Claim(
        "reference-slow-products",
        "Its products are in bfloat16 all the same: a kernel that is larger by 2^-12 of itself "
        "gives the same logits.",
        Equals(0, "of the logits change"),
        "The kernel is rounded to bfloat16 before the product, which undoes the change.",
        (SLOW,),
        _kernels,
        _moved("reference", "bfloat16"),
        about="reference",
        pins=PINS,
        stated=Stated("f32 slow critic", 0.9, 1),
    ),
    Claim(
        "reference-slow-float32",
        "Where the networks compute in float32, the same change moves them all.",
        Equals(1, "of the logits change"),
        "All terms have one sign, so that every logit grows by 2^-12 of itself.",
        (SLOW,),
        _kernels,
        _moved("reference", "float32"),
        about="reference",
        pins=PINS,
    ),
    Claim(
        "core",
        "By default the core's networks compute in float32.",
        Equals(24, "bits of the significand"),
        "A dtype is what it is.",
        (DEFAULT,),
        _nothing,
        _bits("subject", "activations"),
        about="subject",
        core_only=True,
        stated=Stated("f32", 24, 24),
    ),
    Claim(
        "core-slow",
        "So does its slow critic: the small change moves all logits.",
        Equals(1, "of the logits change"),
        "All terms have one sign, so that every logit grows by 2^-12 of itself.",
        (SLOW,),
        _kernels,
        _moved("subject", "float32"),
        about="subject",
        core_only=True,
    ),
    Claim(
        "norm",
        "Asked to compute in bfloat16, the core takes the norm's statistics as the reference does.",
        AtMost(0.05, "of the values differ"),
        "The same operations in the same order, each rounded to bfloat16, ε too in the core: where "
        "the sum with it is a tie, and so near ε that the rounding counts, a row comes out "
        "otherwise. Statistics in float32 are at ten times the bound.",
        (NORM,),
        _activations,
        _apart,
        pins=PINS,
    ),
)

ROW = Entry(
    id="D4",
    agent="DreamerV3",
    kind="deviation",
    title="Compute precision",
    reference=(
        "bf16 compute (2411f7d: bf16 RMS statistics, f32 slow critic). Measured: 29eb964 is as "
        "2411f7d in both, and of the slow critic only the parameters are in f32. At e3f0224 bf16 "
        "compute with f32 RMS statistics."
    ),
    subject="f32.",
    consequence="Numerics only; bf16 is revisited at the GPU milestone.",
    sources=(
        Source("dreamerv3-29eb964", "dreamerv3/configs.yaml", "24"),
        Source("dreamerv3-29eb964", "dreamerv3/nets.py", "758-763"),
        Source("dreamerv3-29eb964", "dreamerv3/agent.py", "75-76"),
        Source("dreamerv3-2411f7d", "dreamerv3/configs.yaml", "24"),
        Source("dreamerv3-2411f7d", "dreamerv3/nets.py", "753-758"),
        Source("dreamerv3-2411f7d", "dreamerv3/agent.py", "77-78"),
        Source("dreamerv3-e3f0224", "dreamerv3/configs.yaml", "74"),
    ),
    pins=(*PINS, HEAD),
    claims=CLAIMS,
)
