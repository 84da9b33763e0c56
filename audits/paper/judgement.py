"""The verdict: every task and window against the acceptance criteria.

Beside it stands what the seeds can tell of equality, which no verdict rests on.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from statistics import mean

import msgspec
import numpy as np

from audits.paper.acceptance import Criteria, Window
from audits.paper.eligibility import not_judged, window_scores
from audits.paper.files import Run
from audits.references.store import Reference, TaskReference
from audits.statistics.bootstrap import strata_interval
from audits.statistics.equivalence import Equivalence, equivalence, mean_equivalence
from audits.statistics.power import (
    equivalence_power,
    mean_equivalence_power,
    seeds_needed,
)


class Verdict(enum.StrEnum):
    """Of a task, a window, or all of them."""

    PASS = "PASS"
    FAIL = "FAIL"
    INCOMPLETE = "INCOMPLETE"


class TaskResult(msgspec.Struct, frozen=True):
    """One task in one window.

    Attributes:
        task: As the reference calls it.
        run: Name of the run.
        verdict: INCOMPLETE if it was not judged.
        why: Why it was not; "" if it was.
        ours: Mean return of each seed over the window.
        reference: Likewise of the reference's.
        bar: The least mean that passes.
        equivalence: Test of the difference of means; None if not judged.
        power: How often equal programs would pass that test with so many seeds.
        seeds_needed: Seeds a side with which they would in most audits.
    """

    task: str
    run: str
    verdict: Verdict
    why: str
    ours: list[float]
    reference: list[float]
    bar: float
    equivalence: Equivalence | None = None
    power: float | None = None
    seeds_needed: int | None = None

    @property
    def mean(self) -> float:
        """Our mean over the seeds."""
        return mean(self.ours)

    @property
    def above(self) -> float:
        """How far it lies above the bar."""
        return self.mean - self.bar


class Aggregate(msgspec.Struct, frozen=True):
    """Mean or median over the tasks.

    Attributes:
        name: "mean" or "median".
        ours: Of our task means; None until all are judged.
        reference: Of the reference's.
        bar: The least that passes.
    """

    name: str
    ours: float | None
    reference: float
    bar: float

    @property
    def passes(self) -> bool | None:
        """Whether it is reached; None until it is known."""
        return None if self.ours is None else self.ours >= self.bar


class WindowResult(msgspec.Struct, frozen=True):
    """All tasks of an agent in one window.

    Attributes:
        agent: Whose.
        window: Its name.
        bounds: In environment steps, as a reader writes them.
        verdict: Of the window.
        passed: Tasks that pass.
        judged: Tasks that were judged.
        needed: Tasks that must pass.
        aggregates: Mean and median over the tasks.
        equivalence: Test of the mean over the tasks, seeds being the only chance in it.
        bootstrap: Interval of the same difference over resampled seeds.
        power: How often equal programs would pass that test, at the published seeds' spread.
        tasks: Every task of the protocol.
    """

    agent: str
    window: str
    bounds: str
    verdict: Verdict
    passed: int
    judged: int
    needed: int
    aggregates: list[Aggregate]
    equivalence: Equivalence | None
    bootstrap: tuple[float, float] | None
    power: float
    tasks: list[TaskResult]


def judge(
    agent: str,
    reference: Reference,
    runs: Mapping[str, Run],
    names: Mapping[str, str],
    rules: Criteria,
) -> list[WindowResult]:
    """Judges an agent's runs, window by window.

    Args:
        agent: "dreamerv3" or "tdmpc2".
        reference: Its published results.
        runs: The runs that are on protocol, by name.
        names: Of the run of every task.
        rules: The criteria.
    """
    return [
        _window(
            agent,
            window,
            [_task(task, names[task.task], runs, window, rules) for task in reference.tasks],
            reference,
            rules,
        )
        for window in rules.windows[agent]
    ]


def overall(results: Sequence[WindowResult]) -> Verdict:
    """FAIL if a window fails, else INCOMPLETE if one is, else PASS."""
    found = {result.verdict for result in results}
    for verdict in (Verdict.FAIL, Verdict.INCOMPLETE):
        if verdict in found:
            return verdict
    return Verdict.PASS if results else Verdict.INCOMPLETE


def _task(
    task: TaskReference, name: str, runs: Mapping[str, Run], window: Window, rules: Criteria
) -> TaskResult:
    theirs = task.window(window.name)
    bar = theirs.lowest - rules.tolerance
    run = runs.get(name)
    why = not_judged(run, window, rules.least_seeds)
    if why or run is None:
        return TaskResult(task.task, name, Verdict.INCOMPLETE, why, [], theirs.means, bar)
    ours = window_scores(run, window)
    levels = rules.statistics
    seeds = min(len(ours), len(theirs.means))
    deviation = _pooled(ours, theirs.means)
    return TaskResult(
        task.task,
        name,
        Verdict.PASS if mean(ours) >= bar else Verdict.FAIL,
        "",
        ours,
        theirs.means,
        bar,
        equivalence(ours, theirs.means, rules.tolerance, levels.alpha),
        equivalence_power(seeds, deviation, rules.tolerance, alpha=levels.alpha),
        seeds_needed(deviation, rules.tolerance, power=levels.power, alpha=levels.alpha),
    )


def _window(
    agent: str,
    window: Window,
    tasks: list[TaskResult],
    reference: Reference,
    rules: Criteria,
) -> WindowResult:
    judged = [task for task in tasks if task.verdict is not Verdict.INCOMPLETE]
    passed = sum(task.verdict is Verdict.PASS for task in judged)
    needed = rules.tasks_needed(len(tasks))
    complete = len(judged) == len(tasks)
    theirs = [task.window(window.name).mean for task in reference.tasks]
    aggregates = []
    for name, of in (("mean", np.mean), ("median", np.median)):
        bar = float(of(theirs)) - rules.tolerance
        ours = float(of([task.mean for task in judged])) if complete else None
        aggregates.append(Aggregate(name, ours, float(of(theirs)), bar))
    verdict = Verdict.INCOMPLETE
    if complete:
        reached = passed >= needed and all(a.passes for a in aggregates)
        verdict = Verdict.PASS if reached else Verdict.FAIL
    pairs = [(task.ours, task.reference) for task in judged]
    levels = rules.statistics
    return WindowResult(
        agent,
        window.name,
        _bounds(window),
        verdict,
        passed,
        len(judged),
        needed,
        aggregates,
        mean_equivalence(pairs, rules.tolerance, levels.alpha) if complete else None,
        strata_interval(pairs, level=levels.level) if complete else None,
        _power(reference, window, judged, rules),
        tasks,
    )


def _power(
    reference: Reference, window: Window, judged: Sequence[TaskResult], rules: Criteria
) -> float:
    """Of the test of the mean over the tasks; with as many seeds as published before any run."""
    theirs = [task.window(window.name).means for task in reference.tasks]
    published = min(map(len, theirs))
    ours = min((len(task.ours) for task in judged), default=published)
    deviations = tuple(float(np.std(means, ddof=1)) for means in theirs)
    alpha = rules.statistics.alpha
    return mean_equivalence_power(deviations, ours, published, rules.tolerance, alpha=alpha)


def _bounds(window: Window) -> str:
    if window.last:
        return f"the last {window.last:,} of the budget"
    return f"({window.after:,}, {window.until:,}]"


def _pooled(a: Sequence[float], b: Sequence[float]) -> float:
    squares = sum(float(np.var(side)) * len(side) for side in (a, b))
    return float(np.sqrt(squares / (len(a) + len(b) - 2)))
