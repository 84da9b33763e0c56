"""The core and the reference on one case, taking turns."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from benchmarks.timing import Seconds, median

Say = Callable[[str], None]
Call = Callable[[Any, int], Seconds]


@dataclasses.dataclass(frozen=True)
class Timed:
    """One thing that both sides can do.

    Attributes:
        name: What tables call it.
        call: A side and a number of times, to the seconds of one.
        times: How often in a round, so that a round takes neither an instant nor a minute.
        gflop: Of the matrix products that it needs, in 10⁹ operations; None if they are not
            what it spends its time with.
    """

    name: str
    call: Call
    times: int
    gflop: float | None = None


@dataclasses.dataclass(frozen=True)
class Compared:
    """Medians over rounds in which both sides took turns; the reference's may be missing.

    Attributes:
        name: What was timed.
        ours: The core.
        theirs: The reference.
        gflop: See `Timed`.
    """

    name: str
    ours: Seconds
    theirs: Seconds | None = None
    gflop: float | None = None

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
        case: What tables call it.
        compared: What was timed.
        compile_ours: Seconds to compile the core's update, without a cache.
        compile_theirs: Seconds of the reference's, with or without one; None if it compiles
            nothing.
        their_packages: The versions that the reference runs with.
        note: What else must be known to read the figures.
    """

    case: str
    compared: tuple[Compared, ...]
    compile_ours: float
    compile_theirs: float | None = None
    their_packages: Mapping[str, str] = dataclasses.field(default_factory=dict)
    note: str = ""


def alternate(
    case: str, timed: Sequence[Timed], sides: Sequence[Any], rounds: int, say: Say
) -> tuple[Compared, ...]:
    """Times everything, the sides one after the other in every round.

    Args:
        case: What tables call it.
        timed: What the sides can do.
        sides: The core, and the reference if it is there.
        rounds: How often each side has its turn.
        say: Told what is going on.
    """
    samples: list[list[list[Seconds]]] = [[[] for _ in sides] for _ in timed]
    for what in timed:
        for side in sides:
            what.call(side, 1)
    for turn in range(rounds):
        say(f"{case}: round {turn + 1} of {rounds}")
        for what, taken in zip(timed, samples, strict=True):
            for side, kept in zip(sides, taken, strict=True):
                kept.append(what.call(side, what.times))
    found = []
    for what, taken in zip(timed, samples, strict=True):
        ours, *rest = map(median, taken)
        found.append(Compared(what.name, ours, rest[0] if rest else None, what.gflop))
    return tuple(found)
