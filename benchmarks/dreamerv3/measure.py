"""Takes the measurements, one section of the report after the other."""

from __future__ import annotations

import dataclasses
import math
import tempfile
from collections.abc import Callable
from typing import Any

from benchmarks.dreamerv3 import peak, products
from benchmarks.dreamerv3.cores import use_cores
from benchmarks.dreamerv3.ours import Ours
from benchmarks.dreamerv3.problems import CASES, Case
from benchmarks.dreamerv3.program import Answer, Question
from benchmarks.dreamerv3.program import measure as ask_program
from benchmarks.dreamerv3.theirs import PIN, Theirs
from benchmarks.dreamerv3.timing import Seconds, circumstances, median

Say = Callable[[str], None]

# Calls of one round, so that a round takes neither an instant nor a minute.
_UPDATES = {"1m": 4, "12m": 1}
_ACTS = 50
_TICKS = {"1m": 2, "12m": 1}


@dataclasses.dataclass(frozen=True)
class Compared:
    """Medians over rounds in which both sides took turns; the reference's may be missing.

    Attributes:
        ours: The core.
        theirs: The reference.
    """

    ours: Seconds
    theirs: Seconds | None = None

    @property
    def speedup(self) -> float:
        """How many times as fast the core is, on the clock."""
        return self.theirs.wall / self.ours.wall if self.theirs else math.nan

    @property
    def cpu_speedup(self) -> float:
        """How many times less processor time it takes."""
        return self.theirs.cpu / self.ours.cpu if self.theirs else math.nan


@dataclasses.dataclass(frozen=True)
class Steps:
    """One case, step by step.

    Attributes:
        case: A key of `CASES`.
        gflop: Of the matrix products of one update, in 10⁹ operations.
        update: One update.
        act: One row of 16 environments.
        compile_ours: Seconds to compile the core's update, without a cache.
        compile_theirs: Seconds of the reference's, with or without one.
        their_packages: The versions that the reference runs with.
    """

    case: str
    gflop: float
    update: Compared
    act: Compared
    compile_ours: float
    compile_theirs: float | None
    their_packages: dict[str, str]


def steps(name: str, rounds: int, *, reference: bool, dtype: str, say: Say) -> Steps:
    """Times updates and policy of both sides, taking turns.

    Args:
        name: A key of `CASES`.
        rounds: How often each side has its turn.
        reference: Whether the reference is asked at all.
        dtype: What the core computes in; the reference always computes in float32.
        say: Told what is going on.
    """
    case = CASES[name]
    theirs = None
    if reference:
        say(f"{case.name}: the reference compiles, which takes minutes the first time")
        theirs = Theirs(case)
    try:
        say(f"{case.name}: the core compiles")
        ours = Ours(case, dtype)
        sides: list[Any] = [ours, theirs] if theirs else [ours]
        updates: list[list[Seconds]] = [[] for _ in sides]
        acts: list[list[Seconds]] = [[] for _ in sides]
        for side in sides:
            side.update(), side.act(5)
        for turn in range(rounds):
            say(f"{case.name}: round {turn + 1} of {rounds}")
            for side, update, act in zip(sides, updates, acts, strict=True):
                update.append(side.update(_UPDATES[case.size]))
                act.append(side.act(_ACTS))
        return Steps(
            name,
            _gflop(case),
            Compared(*map(median, updates)),
            Compared(*map(median, acts)),
            ours.compile_seconds,
            theirs.compile_seconds if theirs else None,
            {k: theirs.packages[k] for k in ("jax", "jaxlib", "numpy")} if theirs else {},
        )
    finally:
        if theirs:
            theirs.close()


def _gflop(case: Case) -> float:
    return products.per_update(case.agent, case.problem.batch, case.problem.length) / 1e9


def peaks() -> dict[int, float]:
    """GFLOP/s of large products on one core, and on all that may be used, up to two."""
    return {cores: peak.measure(cores) for cores in range(1, min(2, use_cores(None)) + 1)}


def programs(name: str, seeds: int, say: Say) -> dict[str, Answer]:
    """The training program: compiled without and with a cache, and run; one seed and several.

    Args:
        name: A key of `CASES`.
        seeds: How many runs the other program has side by side; 1 for no other program.
        say: Told what is going on.
    """
    with tempfile.TemporaryDirectory() as cache:
        case, ticks = CASES[name].name, _TICKS[CASES[name].size]
        say(f"{case}: the training program, without a cache")
        cold = ask_program(Question(name, cache))
        say(f"{case}: again, with one")
        found = {"cold": cold, "warm": ask_program(Question(name, cache, ticks=ticks))}
        if seeds > 1:
            say(f"{case}: {seeds} seeds in one program")
            found[f"{seeds} seeds"] = ask_program(Question(name, cache, seeds, ticks))
            say(f"{case}: {seeds} seeds, each on a device of its own")
            found[f"{seeds} seeds, {seeds} devices"] = ask_program(
                Question(name, cache, seeds, ticks, devices=seeds)
            )
    return found


@dataclasses.dataclass
class Report:
    """Everything that one run of the benchmark has measured.

    Attributes:
        before: Circumstances at the start.
        after: Circumstances at the end.
        peaks: GFLOP/s by number of cores, the better of the measurements before and after.
        steps: By case.
        programs: By case, then by what was asked.
        reference: The pin that the reference is.
        dtype: What the core computed in.
    """

    before: Any = dataclasses.field(default_factory=circumstances)
    after: Any = None
    peaks: dict[int, float] = dataclasses.field(default_factory=dict)
    steps: dict[str, Steps] = dataclasses.field(default_factory=dict)
    programs: dict[str, dict[str, Answer]] = dataclasses.field(default_factory=dict)
    reference: str = PIN
    dtype: str = "float32"

    def add_peaks(self, measured: dict[int, float]) -> None:
        """Keeps the better one of each number of cores."""
        self.peaks = {n: max(value, self.peaks.get(n, 0)) for n, value in measured.items()}
