"""Published curves to what is kept of them, checked against aggregates that are known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from audits.paper.acceptance import Criteria, criteria
from audits.references.curves import Curve, read_curves
from audits.references.errors import ReferenceDataError
from audits.references.files import digest
from audits.references.sources import Known, Source
from audits.references.store import (
    VERSION,
    Aggregate,
    Band,
    Reference,
    TaskReference,
    WindowScores,
)

# Environment steps of a DreamerV3 run, whose last bin is missing from the file.
_BUDGETS = {"dreamerv3": 500_000}
_DIGITS = 4  # kept of a mean: a ten-thousandth of a return, and the curves have two or more


def extract(
    agent: str, source: Source, files: Mapping[str, bytes], rules: Criteria | None = None
) -> Reference:
    """Everything that is kept of one reference's files.

    Args:
        agent: "dreamerv3" or "tdmpc2".
        source: What is known of the files.
        files: Their contents by path.
        rules: The acceptance windows; the published ones by default.

    Raises:
        ReferenceDataError: See `read_curves`; or a seed has no point in a window, or an
            aggregate is not what it is known to be.
    """
    rules = rules or criteria()
    by_task: dict[str, list[Curve]] = {}
    for curve in read_curves(agent, source, files):
        by_task.setdefault(curve.task, []).append(curve)
    tasks = [_task(agent, source, rules, curves) for curves in by_task.values()]
    pin = source.find_pin()
    used = {curve.path for curves in by_task.values() for curve in curves}
    return Reference(
        version=VERSION,
        agent=agent,
        repository=pin.url,
        commit=pin.commit,
        license=pin.license,
        copyright=source.copyright,
        files={path: digest(files[path]) for path in sorted(used)},
        step_unit=source.step_unit,
        score=source.score,
        protocol=[" ".join(line.split()) for line in source.protocol],
        remarks=[remark for curves in by_task.values() for remark in _missing(curves)],
        unavailable=sorted(source.unavailable),
        mt30=list(source.mt30),
        aggregates=_aggregates(source, tasks, by_task, rules.windows[agent]),
        tasks=tasks,
    )


def _task(agent: str, source: Source, rules: Criteria, curves: Sequence[Curve]) -> TaskReference:
    name = curves[0].task
    steps = sorted({step for curve in curves for step in curve.points})
    budget = _BUDGETS.get(agent, steps[-1])
    windows = []
    for window in rules.windows[agent]:
        after, until = window.bounds(budget)
        inside = [[v for at, v in c.points.items() if after < at <= until] for c in curves]
        if not all(inside):
            bare = [str(c.seed) for c, found in zip(curves, inside, strict=True) if not found]
            raise ReferenceDataError(
                f"{name}: seed {', '.join(bare)} has no point in ({after:,}, {until:,}]"
            )
        windows.append(
            WindowScores(
                window.name,
                after,
                until,
                [curve.seed for curve in curves],
                [len(found) for found in inside],
                [round(float(np.mean(found)), _DIGITS) for found in inside],
            )
        )
    environment = source.environment(name)
    assert environment is not None  # curves of other tasks are not read
    return TaskReference(name, environment, budget, windows, _band(curves, steps))


def _band(curves: Sequence[Curve], steps: Sequence[int]) -> Band:
    found = [[c.points[step] for c in curves if step in c.points] for step in steps]
    return Band(
        list(steps),
        [len(values) for values in found],
        [round(min(values), 2) for values in found],
        [round(float(np.mean(values)), 2) for values in found],
        [round(max(values), 2) for values in found],
    )


def _missing(curves: Sequence[Curve]) -> Iterable[str]:
    """One sentence for every seed that lacks points which the others have."""
    steps = {step for curve in curves for step in curve.points}
    for curve in curves:
        absent = sorted(steps - set(curve.points))
        if absent:
            yield (
                f"{curve.task}: seed {curve.seed} has no point at "
                f"{', '.join(f'{step:,}' for step in absent)}; its mean over a window is that of "
                "the points that it has there, and it takes no part in the band at those steps"
            )


def _aggregates(
    source: Source,
    tasks: Sequence[TaskReference],
    by_task: Mapping[str, Sequence[Curve]],
    windows: Iterable,
) -> list[Aggregate]:
    found = []
    for window in windows:
        means = [task.window(window.name).mean for task in tasks]
        known = next((k for k in source.known if k.window == window.name), None)
        found.append(_aggregate(window.name, means, known))
    for known in source.known:
        if known.at is None:
            continue
        names = source.mt30 if known.tasks == "mt30" else list(by_task)
        try:
            means = [float(np.mean([c.points[known.at] for c in by_task[n]])) for n in names]
        except KeyError as error:
            raise ReferenceDataError(f"{source.pin}: a seed has no point at {error}") from error
        of = f", {known.tasks}" if known.tasks else ""
        found.append(_aggregate(f"at {known.at:,}{of}", means, known))
    return found


def _aggregate(what: str, means: Sequence[float], known: Known | None) -> Aggregate:
    mean, median = float(np.mean(means)), float(np.median(means))
    told = None
    if known is not None:
        for label, value, expected in (
            ("mean", mean, known.mean),
            ("median", median, known.median),
        ):
            if expected is not None and abs(value - expected) > _half_a_digit(expected):
                raise ReferenceDataError(
                    f"the {label} over tasks ({what}) is {value:.4f} and is known to be "
                    f"{expected}: these are not the published files, or they are read wrongly"
                )
        told = " / ".join(str(v) for v in (known.mean, known.median) if v is not None)
    return Aggregate(what, round(mean, _DIGITS), round(median, _DIGITS), told)


def _half_a_digit(value: float) -> float:
    """Half of the last digit in which a figure is given; a final zero may have been dropped."""
    decimals = len(repr(value).partition(".")[2])
    digits = _DIGITS if decimals >= 3 else decimals
    return 0.5 * 10**-digits * (1 + 1e-6)
