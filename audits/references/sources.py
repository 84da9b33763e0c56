"""What is known of the published curves before they are read: `sources.yaml`."""

from __future__ import annotations

import fnmatch
import functools
from pathlib import Path

import msgspec
from ruamel.yaml import YAML

from audits.references.errors import ReferenceDataError
from reference_harness.pins import Pin, find_pin

AGENTS = ("dreamerv3", "tdmpc2")

_FILE = Path(__file__).with_name("sources.yaml")


class Known(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An aggregate over tasks that an extraction must come to.

    Attributes:
        mean: Of the task means over seeds.
        median: Likewise; None where only the mean is known.
        at: The point of the curves, in environment steps.
        window: Or the name of an acceptance window.
        tasks: "mt30", or "" for all.
    """

    mean: float
    median: float | None = None
    at: int | None = None
    window: str | None = None
    tasks: str = ""


class Source(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One reference's curves; the meaning of each field is in the head of `sources.yaml`."""

    pin: str
    files: list[str]
    copyright: str
    step_unit: str
    score: str
    protocol: list[str]
    known: list[Known]
    mapped: dict[str, str]
    unavailable: list[str] = []
    elsewhere: list[str] = []
    mt30: list[str] = []

    def find_pin(self) -> Pin:
        """The commit that the files are read at."""
        return find_pin(self.pin)

    def environment(self, task: str) -> str | None:
        """The playground environment of a task; None for one that is knowingly left out.

        Args:
            task: As the reference calls it.

        Raises:
            ReferenceDataError: Nobody has said what this task is.
        """
        if task in self.mapped:
            return self.mapped[task]
        others = (*self.unavailable, *self.elsewhere)
        if any(fnmatch.fnmatchcase(task, pattern) for pattern in others):
            return None
        raise ReferenceDataError(
            f"{self.pin} has results of {task!r}, a task that {_FILE.name} does not classify; say "
            "there whether it is mapped, unavailable or of another suite"
        )


@functools.cache
def sources() -> dict[str, Source]:
    """Every source, by agent."""
    loaded = YAML(typ="safe", pure=True).load(_FILE.read_text("utf-8"))
    return msgspec.convert(loaded, dict[str, Source])
