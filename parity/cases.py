"""The inputs that claims ask about, and the strategies that search for worse ones.

Inputs are made of integer and uniform draws, powers of two and signs alone: exact
arithmetic, so that they have the same bits on every machine and a recording of the
reference's answers fits them. They reach where faults hide: subnormals, exact bins and
their neighbours, values outside the support, peaked and flat distributions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

EXTREME_SCALARS = np.asarray(
    [0.0, -0.0, 1.0, -1.0, 1e-45, -1e-45, 1.1754944e-38, -1.1754944e-38, 3.4e38, -3.4e38],
    np.float32,
)


def scalars(rng: np.random.Generator, count: int, low: int, high: int) -> np.ndarray:
    """Scalars of either sign, evenly spread over the binary exponents.

    Args:
        rng: Draws them.
        count: How many.
        low: Least binary exponent, −149 for the smallest subnormal.
        high: Greatest, exclusive.

    Returns:
        [count] float32.
    """
    mantissa = np.ldexp(1.0 + rng.random(count), rng.integers(low, high, count).astype(np.int32))
    return (mantissa * rng.choice([-1.0, 1.0], count)).astype(np.float32)


def logits(
    rng: np.random.Generator, rows: int, classes: int, low: int = -6, high: int = 5
) -> np.ndarray:
    """Logits from nearly flat (scale 2^low) to peaked (scale 2^high), row by row.

    Returns:
        [rows, classes] float32, uniform within ±scale.
    """
    scale = np.ldexp(1.0, rng.integers(low, high + 1, rows).astype(np.int32))
    return ((2 * rng.random((rows, classes)) - 1) * scale[:, None]).astype(np.float32)


def tilted_logits(rng: np.random.Generator, rows: int, classes: int) -> np.ndarray:
    """Logits with a slope and a curvature on top of noise: the mass on either end or on both.

    Returns:
        [rows, classes] float32.
    """
    place = np.arange(-(classes // 2), classes - classes // 2) / (classes / 2)
    slope, curve = 8 * rng.random((2, rows, 1)) - 4
    scale = np.ldexp(1.0, rng.integers(-2, 5, rows).astype(np.int32))
    noise = 2 * rng.random((rows, classes)) - 1
    return ((noise + slope * place + curve * np.abs(place)) * scale[:, None]).astype(np.float32)


def dominated_logits(rng: np.random.Generator, rows: int, classes: int) -> np.ndarray:
    """Logits with one entry so far above the rest that their log-sum-exp is that entry.

    exp(−130) is 0 beside 1 in float32, whatever the implementation of exp: two versions
    of a compiler that disagree on the last bit of exp agree on every bit here.

    Returns:
        [rows, classes] float32: one 200 per row, the rest within ±70.
    """
    rest = logits(rng, rows, classes, -6, 6) * np.float32(70 / 64)
    rest[np.arange(rows), rng.integers(0, classes, rows)] = 200.0
    return rest


def mirrored_logits(rng: np.random.Generator, rows: int, count: int, scale: float) -> np.ndarray:
    """Logits that are the same read from either end: their expectation is exactly 0.

    Returns:
        [rows, count] float32, uniform within ±scale; `count` is odd.
    """
    half = ((2 * rng.random((rows, count // 2)) - 1) * scale).astype(np.float32)
    middle = np.zeros((rows, 1), np.float32)
    return np.concatenate([half, middle, half[:, ::-1]], axis=1)


def probabilities(rng: np.random.Generator, rows: int, classes: int) -> np.ndarray:
    """Distributions from flat to nearly one-hot, some entries exactly 0.

    Returns:
        [rows, classes] float32; each row sums to 1 within rounding.
    """
    power = rng.integers(0, 4, rows)[:, None]
    raw = rng.random((rows, classes))
    weights = np.select([power == 0, power == 1, power == 2], [raw + 1, raw, raw**4], raw**16)
    weights *= rng.random((rows, classes)) > np.where(power == 3, 0.5, 0.0)
    weights[:, classes // 2] += 1e-3  # a row is never all zeros
    return (weights / weights.sum(axis=1, keepdims=True)).astype(np.float32)


def targets(rng: np.random.Generator, rows: int, bins: np.ndarray) -> np.ndarray:
    """Targets for a two-hot head: every bin, its float neighbours, and everything else.

    Args:
        rng: Draws the rest.
        rows: How many random targets to add, inside and outside of the support.
        bins: [N] the support.

    Returns:
        [3 N + rows + extremes] float32.
    """
    infinity = np.float32(np.inf)
    around = [bins, np.nextafter(bins, infinity), np.nextafter(bins, -infinity)]
    beyond = np.asarray([np.inf, -np.inf], np.float32)
    return np.concatenate([*around, scalars(rng, rows, -30, 31), EXTREME_SCALARS, beyond])


def search_scalars(limit: float, rows: int = 64) -> Any:
    """A strategy for [rows] float32 scalars within ±limit, subnormals included."""
    from hypothesis import strategies as st

    exact = float(np.float32(limit))
    number = st.floats(-exact, exact, width=32, allow_subnormal=True)
    numbers = st.lists(number, min_size=rows, max_size=rows)
    return numbers.map(lambda values: np.asarray(values, np.float32))


def search_logits(rows: int, classes: int, exponents: Sequence[int] = (-20, 6)) -> Any:
    """A strategy for [rows, classes] logits: a scale, a slope, a curvature and a seed."""
    from hypothesis import strategies as st

    def build(seed: int, exponent: int, slope: float, curve: float) -> np.ndarray:
        rng = np.random.default_rng(seed)
        noise = 2 * rng.random((rows, classes)) - 1
        place = np.linspace(-1, 1, classes)
        shape = noise + slope * place + curve * np.abs(place)
        return (shape * 2.0**exponent).astype(np.float32)

    small = st.floats(-4, 4, width=32)
    return st.builds(build, st.integers(0, 2**32 - 1), st.integers(*exponents), small, small)
