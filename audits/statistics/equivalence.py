"""Welch's interval for a difference of means, and the test of equivalence that rests on it."""

from __future__ import annotations

import dataclasses
import enum
import math
from collections.abc import Sequence

import numpy as np
from scipy import stats


class Verdict(enum.StrEnum):
    """What an equivalence test says.

    PASS: the difference is smaller than the margin. FAIL: it is larger than the margin.
    INCONCLUSIVE: the seeds do not settle which.
    """

    PASS = "PASS"
    FAIL = "FAIL"
    INCONCLUSIVE = "INCONCLUSIVE"


@dataclasses.dataclass(frozen=True)
class Equivalence:
    """Two one-sided Welch tests of ours against the reference (Schuirmann 1987).

    Attributes:
        difference: Mean of ours − mean of the reference, in the units of the values; of several
            tasks, its mean over them.
        low: Lower end of the 1 − 2α interval of the difference.
        high: Its upper end.
        margin: Differences of less than this count as none.
        alpha: Level of each of the two tests.
        degrees: Welch's degrees of freedom.
        p_value: The larger of the two one-sided tests; below α the two are equivalent.
        p_difference: Of Welch's two-sided test of no difference at all.
        verdict: PASS if the interval lies within ± margin, FAIL if it lies outside,
            INCONCLUSIVE if it crosses ± margin or there are fewer than two seeds on a side.
    """

    difference: float
    low: float
    high: float
    margin: float
    alpha: float
    degrees: float
    p_value: float
    p_difference: float
    verdict: Verdict


def equivalence(
    ours: Sequence[float], reference: Sequence[float], margin: float, alpha: float = 0.05
) -> Equivalence:
    """Whether two means are the same up to a margin.

    Args:
        ours: One value per seed.
        reference: Likewise.
        margin: Above 0, in the units of the values.
        alpha: Level of each one-sided test.

    Raises:
        ValueError: A side has no value, a value is not finite, or the margin is not above 0.
    """
    return mean_equivalence([(ours, reference)], margin, alpha)


def mean_equivalence(
    pairs: Sequence[tuple[Sequence[float], Sequence[float]]], margin: float, alpha: float = 0.05
) -> Equivalence:
    """Whether the mean over several tasks is the same up to a margin.

    The tasks are given and not drawn: their differences are averaged, and what is left to
    chance is the seeds of each side in each task, whose variances add up.

    Args:
        pairs: Of each task, our values and the reference's, one per seed.
        margin: Above 0, in the units of the values.
        alpha: Level of each one-sided test.

    Raises:
        ValueError: There is no task, a side has no value, a value is not finite, or the margin
            is not above 0.
    """
    sides = [(_checked(ours), _checked(reference)) for ours, reference in pairs]
    if not sides or not margin > 0 or not 0 < alpha < 0.5:
        raise ValueError(
            f"expected a task or more, not {len(sides)}; margin {margin} must be above 0, alpha "
            f"{alpha} between 0 and 0.5"
        )
    difference = float(np.mean([a.mean() - b.mean() for a, b in sides]))
    if any(len(values) < 2 for side in sides for values in side):
        return Equivalence(
            difference, -math.inf, math.inf, margin, alpha, 0.0, 1.0, 1.0, Verdict.INCONCLUSIVE
        )
    error, degrees = _welch(sides)
    if error == 0.0:
        # Seeds that all agree: there is nothing left to be unsure about.
        inside = abs(difference) < margin
        return Equivalence(
            difference,
            difference,
            difference,
            margin,
            alpha,
            degrees,
            0.0 if inside else 1.0,
            1.0 if difference == 0.0 else 0.0,
            Verdict.PASS if inside else Verdict.FAIL,
        )
    half = float(stats.t.ppf(1 - alpha, degrees)) * error
    low, high = difference - half, difference + half
    above = float(stats.t.sf((difference + margin) / error, degrees))  # against ≤ −margin
    below = float(stats.t.cdf((difference - margin) / error, degrees))  # against ≥ margin
    if -margin < low and high < margin:
        verdict = Verdict.PASS
    elif high < -margin or low > margin:
        verdict = Verdict.FAIL
    else:
        verdict = Verdict.INCONCLUSIVE
    two_sided = 2 * float(stats.t.sf(abs(difference) / error, degrees))
    return Equivalence(
        difference,
        low,
        high,
        margin,
        alpha,
        degrees,
        max(above, below),
        two_sided,
        verdict,
    )


def _checked(values: Sequence[float]) -> np.ndarray:
    array = np.asarray(values, np.float64)
    if array.ndim != 1 or not array.size or not np.isfinite(array).all():
        raise ValueError(f"expected one finite value per seed, got {list(values)}")
    return array


def _welch(sides: Sequence[tuple[np.ndarray, np.ndarray]]) -> tuple[float, float]:
    """Standard error of the mean difference, and Welch–Satterthwaite's degrees of freedom."""
    terms = [
        (values.var(ddof=1) / len(values), len(values) - 1) for side in sides for values in side
    ]
    total = sum(term for term, _ in terms)
    if total == 0.0:
        return 0.0, float(sum(degrees for _, degrees in terms))
    degrees = total**2 / sum(term**2 / degrees for term, degrees in terms)
    return math.sqrt(total) / len(sides), float(degrees)
