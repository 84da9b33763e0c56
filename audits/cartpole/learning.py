"""S1 and S2, and what the protocol concludes from them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import msgspec
import numpy as np

from audits.cartpole.protocol import (
    ALPHA,
    LAST_EPISODES,
    LAST_EVALUATIONS,
    LEVEL,
    MARGIN,
    POWER,
    WORKERS,
)
from audits.run_files import Episode, Run
from audits.statistics.bootstrap import difference_interval
from audits.statistics.equivalence import Equivalence, Verdict, equivalence
from audits.statistics.power import equivalence_power, seeds_needed


def s1(run: Run) -> float:
    """Mean of the evaluations in the last three records: 30 episodes at full length.

    NaN of a run that has fewer records.
    """
    last = run.records[-LAST_EVALUATIONS:]
    if len(last) < LAST_EVALUATIONS:
        return math.nan
    return float(np.mean([record.eval_mean for record in last]))


def s2(episodes: Iterable[Episode], rows: int) -> float:
    """Mean over environments of the mean return of the last ten episodes of each.

    Args:
        episodes: Of one seed.
        rows: Of the run so far, N; an episode counts if its last row is one of the first
            N / 16 + 1 of its environment, as the step that ends it has then been taken.

    Returns:
        S2(N); NaN while an environment has finished no episode.
    """
    last = rows // WORKERS
    by_worker: dict[int, list[tuple[int, float]]] = {worker: [] for worker in range(WORKERS)}
    for episode in episodes:
        if episode.row_last <= last:
            by_worker[episode.worker].append((episode.row_last, episode.score))
    if not all(by_worker.values()):
        return math.nan
    means = [
        np.mean([score for _, score in sorted(found)[-LAST_EPISODES:]])
        for found in by_worker.values()
    ]
    return float(np.mean(means))


class Statistic(msgspec.Struct, frozen=True):
    """One figure per seed of each side, and what is concluded from them.

    Attributes:
        name: "S1" or "S2".
        ours: One value per seed; None where a seed has none.
        reference: Likewise.
        mean: A, our mean.
        lowest: Least value of the reference.
        highest: Its largest.
        learns: LEARNS: A ≥ lowest. None where a value is missing.
        within_range: WITHIN_RANGE: lowest ≤ A ≤ highest.
        equivalence: The test of equivalence.
        bootstrap: Interval of the difference over resampled seeds.
        deviation: Pooled standard deviation between seeds of a side.
        power: Probability that two equal programs pass with this many seeds (the smaller side).
        seeds_needed: Seeds of each side with which they pass in 80 % of audits.
    """

    name: str
    ours: list[float | None]
    reference: list[float | None]
    mean: float | None
    lowest: float | None
    highest: float | None
    learns: bool | None
    within_range: bool | None
    equivalence: Equivalence | None
    bootstrap: tuple[float, float] | None
    deviation: float | None
    power: float | None
    seeds_needed: int | None

    @property
    def verdict(self) -> Verdict:
        """Of the test of equivalence; nothing is settled where it could not be made."""
        return self.equivalence.verdict if self.equivalence else Verdict.INCONCLUSIVE


def statistic(name: str, ours: Sequence[float], reference: Sequence[float]) -> Statistic:
    """The pre-registered conclusions and those that tell equal from unproven.

    Args:
        name: Of the figure.
        ours: One value per seed, NaN where there is none.
        reference: Likewise.
    """
    values = [
        [v if math.isfinite(v) else None for v in side] for side in (list(ours), list(reference))
    ]
    if None in values[0] + values[1]:
        empty = [None] * 10
        return Statistic(name, values[0], values[1], *empty)
    mean, lowest, highest = float(np.mean(ours)), min(reference), max(reference)
    deviation = _pooled(ours, reference)
    seeds = min(len(ours), len(reference))
    return Statistic(
        name,
        values[0],
        values[1],
        mean,
        lowest,
        highest,
        mean >= lowest,
        lowest <= mean <= highest,
        equivalence(ours, reference, MARGIN, ALPHA),
        difference_interval(ours, reference, level=LEVEL),
        deviation,
        None if deviation is None else equivalence_power(seeds, deviation, MARGIN, alpha=ALPHA),
        None if deviation is None else seeds_needed(deviation, MARGIN, power=POWER, alpha=ALPHA),
    )


def _pooled(a: Sequence[float], b: Sequence[float]) -> float | None:
    degrees = len(a) + len(b) - 2
    if degrees < 1:
        return None
    squares = sum(float(np.var(side)) * len(side) for side in (a, b))
    return math.sqrt(squares / degrees)
