"""How likely an equivalence test is to settle the matter, and how many seeds would."""

from __future__ import annotations

import functools
import math

import numpy as np
from scipy import stats

_MOST_SEEDS = 1_000
_QUADRATURE = 60  # midpoints of the distribution of each standard deviation


@functools.lru_cache(maxsize=1024)
def equivalence_power(
    seeds: int,
    deviation: float,
    margin: float,
    *,
    true_difference: float = 0.0,
    alpha: float = 0.05,
) -> float:
    """Probability that two one-sided tests call two means equivalent.

    Both sides have `seeds` seeds and normal values of one standard deviation. Given the two
    standard deviations that were found, Welch's test passes where the difference, which is
    independent of them and normal, is smaller than margin − t · error; what is left is an
    integral over two χ² distributions.

    Args:
        seeds: Of each side.
        deviation: σ between seeds, in the units of the margin.
        margin: Of the test.
        true_difference: Between the two means.
        alpha: Level of each one-sided test.

    Returns:
        A probability; 0 with fewer than two seeds.
    """
    if seeds < 2:
        return 0.0
    if deviation <= 0.0:
        return float(abs(true_difference) < margin)
    shares = (np.arange(_QUADRATURE) + 0.5) / _QUADRATURE
    variances = deviation**2 * stats.chi2.ppf(shares, seeds - 1) / (seeds - 1)
    u, v = variances[:, None] / seeds, variances[None, :] / seeds
    degrees = (seeds - 1) * (u + v) ** 2 / (u**2 + v**2)
    reach = margin - stats.t.ppf(1 - alpha, degrees) * np.sqrt(u + v)
    error = deviation * math.sqrt(2 / seeds)
    inside = stats.norm.cdf((reach - true_difference) / error)
    inside -= stats.norm.cdf((-reach - true_difference) / error)
    return float(np.mean(np.where(reach > 0, inside, 0.0)))


@functools.lru_cache(maxsize=256)
def mean_equivalence_power(
    deviations: tuple[float, ...],
    ours: int,
    reference: int,
    margin: float,
    *,
    alpha: float = 0.05,
    draws: int = 20_000,
) -> float:
    """Probability that equal programs pass `equivalence.mean_equivalence` over several tasks.

    Drawn rather than integrated: every side of every task has a mean and a variance of its own,
    which of normal values are independent.

    Args:
        deviations: σ between seeds of every task, the same on both sides.
        ours: Seeds of our side.
        reference: Likewise.
        margin: Of the test.
        alpha: Level of each one-sided test.
        draws: Of all tasks.

    Returns:
        A probability, to about a hundredth; 0 with fewer than two seeds on a side.
    """
    if min(ours, reference) < 2 or not deviations:
        return 0.0
    rng = np.random.default_rng(0)
    difference, total, squared = (np.zeros(draws) for _ in range(3))
    for deviation in deviations:
        for seeds in (ours, reference):
            difference += rng.normal(0.0, deviation / math.sqrt(seeds), draws)
            term = deviation**2 * rng.chisquare(seeds - 1, draws) / (seeds - 1) / seeds
            total += term
            squared += term**2 / (seeds - 1)
    if not total.all():
        return 1.0
    half = stats.t.ppf(1 - alpha, total**2 / squared) * np.sqrt(total)
    return float(np.mean(np.abs(difference) + half < margin * len(deviations)))


@functools.lru_cache(maxsize=1024)
def seeds_needed(
    deviation: float, margin: float, *, power: float = 0.8, alpha: float = 0.05
) -> int | None:
    """The least number of seeds a side with which equal programs pass so often.

    Args:
        deviation: σ between seeds.
        margin: Of the test.
        power: Probability to pass where there is no difference.
        alpha: Level of each one-sided test.

    Returns:
        Seeds of each side; None if more than 1,000 would be needed.
    """
    low, high = 1, 2
    while equivalence_power(high, deviation, margin, alpha=alpha) < power:
        if high >= _MOST_SEEDS:
            return None
        low, high = high, min(2 * high, _MOST_SEEDS)
    while high - low > 1:
        middle = (low + high) // 2
        if equivalence_power(middle, deviation, margin, alpha=alpha) < power:
            low = middle
        else:
            high = middle
    return high
