"""The acceptance criteria: the only place where they are, as data with their reasons."""

from __future__ import annotations

import functools
from pathlib import Path

import msgspec
from ruamel.yaml import YAML

_FILE = Path(__file__).with_name("acceptance.yaml")


class Window(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A window of environment steps: those above one bound, up to and including the other.

    Attributes:
        name: Of the window.
        after: The lower bound.
        until: The upper bound.
        last: Length of a window that ends with the budget instead; 0 for one of those bounds.
    """

    name: str
    after: int = 0
    until: int = 0
    last: int = 0

    def bounds(self, budget: int) -> tuple[int, int]:
        """The bounds for a task, in environment steps.

        Args:
            budget: Of the task, in environment steps.
        """
        return (budget - self.last, budget) if self.last else (self.after, self.until)


class Statistics(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Levels of what stands beside the verdict: see `acceptance.yaml`."""

    alpha: float
    power: float
    level: float


class Criteria(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a validation is judged by; the meaning of each field is in `acceptance.yaml`."""

    tolerance: float
    share: float
    least_seeds: int
    scores: tuple[float, float]
    windows: dict[str, list[Window]]
    statistics: Statistics
    rules: dict[str, str]
    reasons: dict[str, str]

    def tasks_needed(self, tasks: int) -> int:
        """How many of so many tasks must pass: 15 of 18, 18 of 22."""
        return share_of(self.share, tasks)


def share_of(share: float, count: int) -> int:
    """The least whole number that is a share of another."""
    # 0.8 · 5 is 4.0 and not 4.000…1 in floats; for shares in percent, integers are exact.
    return -(-round(share * 100) * count // 100)


@functools.cache
def criteria() -> Criteria:
    """The criteria of the published protocol."""
    return msgspec.convert(YAML(typ="safe", pure=True).load(_FILE.read_text("utf-8")), Criteria)
