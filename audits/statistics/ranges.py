"""Ranges of a few seeds: what it means that they overlap, and what it does not."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from scipy import stats

_DIVISIONS = 20_000  # that are enumerated rather than drawn


def overlap(a: Sequence[float], b: Sequence[float]) -> bool:
    """Whether [min a, max a] and [min b, max b] have a point in common."""
    return max(min(a), min(b)) <= min(max(a), max(b))


def chance_of_overlap(n: int, m: int) -> float:
    """Probability that the ranges of n and m values of one continuous distribution overlap.

    They part only if all values of one side lie above all of the other's, which 2 of the
    (n + m choose n) equally likely orders do. 3 and 3 values: 0.9.
    """
    return 1.0 - 2.0 / math.comb(n + m, n) if n and m else 1.0


def chance_within(n: int, m: int) -> float:
    """Probability that the mean of n values lies in the range of m, all of one distribution.

    For normal values, by quadrature. One minus it is how often WITHIN_RANGE rejects a
    perfect port: 0.37 for 3 and 3.
    """
    shares = (np.arange(20_000) + 0.5) / 20_000
    mean = stats.norm.ppf(shares) / math.sqrt(n)
    below = stats.norm.cdf(mean)
    return float(np.mean(1.0 - below**m - (1.0 - below) ** m))


class Relabelling(NamedTuple):
    """How the actual division into sides compares with all others of the same sizes.

    Attributes:
        parted: Windows whose ranges part, for the actual division.
        typical: Median over all divisions.
        at_least: Divisions, the actual one among them, in which as many windows part.
        divisions: How many there are.
    """

    parted: int
    typical: float
    at_least: int
    divisions: int

    @property
    def p_value(self) -> float:
        """Of the exact permutation test that the sides are exchangeable."""
        return self.at_least / self.divisions


def relabel(values: np.ndarray, ours: int, *, draws: int = 2_000) -> Relabelling:
    """Counts the windows that part, for every division of the seeds into two sides.

    Windows of one run depend on each other, so their number says little by itself; but if
    the sides run the same program, the actual division is one of many that are equally
    likely. With 3 seeds a side there are 20 of them (10, each counted both ways).

    Args:
        values: [seeds, windows], ours first; a window with a NaN is left out.
        ours: How many of the seeds are ours.
        draws: Divisions that are drawn where there are too many to try all.
    """
    kept = values[:, np.isfinite(values).all(0)]
    counts = []
    for chosen in _divisions(len(values), ours, draws):
        a, b = kept[chosen], kept[~chosen]
        counts.append(int(((a.min(0) > b.max(0)) | (b.min(0) > a.max(0))).sum()))
    actual = counts[0]
    at_least = sum(count >= actual for count in counts)
    return Relabelling(actual, float(np.median(counts)), at_least, len(counts))


def _divisions(seeds: int, ours: int, draws: int) -> Iterator[np.ndarray]:
    """Masks of which seeds count as ours; the actual division comes first."""
    first = np.arange(seeds) < ours
    if math.comb(seeds, ours) > _DIVISIONS:
        rng = np.random.default_rng(0)
        yield first
        for _ in range(draws):
            yield rng.permutation(first)
        return
    for chosen in itertools.combinations(range(seeds), ours):
        mask = np.zeros(seeds, bool)
        mask[list(chosen)] = True
        yield mask
