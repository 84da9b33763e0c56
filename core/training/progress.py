"""The state of a run on the terminal."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn


class _Clock:
    """A text with the seconds since it was made, whenever it is shown."""

    def __init__(self, text: str):
        self._text, self._start = text, time.monotonic()

    def __str__(self) -> str:
        return f"{self._text}, {time.monotonic() - self._start:.0f} s …"

    __rich__ = __str__


class ProgressBar:
    """The state of a run in one line of the terminal; on no terminal, only its notes."""

    def __init__(self, total: int, console: Console | None = None):
        self.console = console or Console(stderr=True, highlight=False)
        self._progress = Progress(
            TextColumn("{task.completed:,.0f} of {task.total:,.0f} rows"),
            BarColumn(bar_width=None),
            TextColumn("{task.fields[speed]:.2f} updates/s"),
            TextColumn("return {task.fields[score]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(elapsed_when_finished=False),
            console=self.console,
            disable=not self.console.is_terminal,
        )
        self._task = self._progress.add_task("", total=total, speed=0.0, score="–")

    def move(self, rows: int, updates_per_second: float, score: float) -> None:
        """Shows where the run is.

        Args:
            rows: Rows so far, of each seed.
            updates_per_second: Of each seed, lately.
            score: Mean return of the recent training episodes; NaN before the first.
        """
        shown = f"{score:.4g}" if math.isfinite(score) else "–"
        self._progress.update(self._task, completed=rows, speed=updates_per_second, score=shown)

    @contextlib.contextmanager
    def busy(self, text: str) -> Iterator[Callable[[], None]]:
        """Shows what takes so long, and for how long already, until it is done.

        Yields:
            What to call now and then: a terminal shows the seconds by itself, anything else
            only in lines of their own.
        """
        clock = _Clock(text)
        if self.console.is_terminal:
            with self.console.status(clock):
                yield lambda: None
        else:
            self.note(f"{text} …")
            yield lambda: self.note(str(clock))

    def note(self, text: str) -> None:
        """Prints a line above the bar."""
        self.console.print(text, markup=False, soft_wrap=True)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._progress.stop()
