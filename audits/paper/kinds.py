"""Kinds of runs: what differs between them, however they are begun, stopped and gone on with."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import msgspec


class AnySpec(Protocol):
    """What every specification of a run has; it is a `msgspec.Struct`."""

    @property
    def name(self) -> str:
        """Of the run and of its folder."""
        ...

    @property
    def seeds(self) -> tuple[int, ...]:
        """One independent training each."""
        ...

    @property
    def records(self) -> range:
        """Where there is a record, in the unit of its kind."""
        ...


class Kind(Protocol):
    """How runs of a kind are trained, and what is noted of them."""

    @property
    def unit(self) -> str:
        """What their progress is counted in: a field of every record."""
        ...

    @property
    def specification(self) -> type[msgspec.Struct]:
        """The type of what is asked for."""
        ...

    def require(self, spec: Any) -> None:
        """Refuses a run that can not be made.

        Raises:
            PaperError: It can not.
        """
        ...

    def resolved(self, spec: Any) -> dict[str, Any]:
        """Every number of the agent that a run trains, by key."""
        ...

    def train(
        self, spec: Any, folder: Path, observe: Callable[[int], None], *, save_every: float
    ) -> str:
        """Trains a run to its end; see `training.train`."""
        ...

    def records(self, spec: Any, log: Path) -> list[Any]:
        """One record for every chunk that a log of the core's has."""
        ...

    def reached(self, spec: Any, rows: int) -> int:
        """Rows of the core's, in the unit of this kind."""
        ...

    def keep(self, spec: Any, folder: Path) -> None:
        """Takes from the last checkpoint of a run, before it is removed, what is wanted of it."""
        ...
