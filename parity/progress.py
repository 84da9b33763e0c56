"""A progress bar for what takes longer than a moment."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator

PATIENCE = 2.0  # seconds


@contextlib.contextmanager
def shown(*, quiet: bool = False) -> Iterator[Callable[[int, int, str], None]]:
    """A function that is told (steps done, steps in all, the next step).

    The bar is on the standard error stream, only if that is a terminal, and only once the
    work has taken two seconds; it goes when the work is done.
    """
    from rich.console import Console

    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield lambda done, total, label: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}", markup=False))
    bar = Progress(*columns, console=console, transient=True)
    task = bar.add_task("", total=None)
    timer = threading.Timer(PATIENCE, bar.start)
    timer.daemon = True
    timer.start()
    try:
        yield lambda done, total, label: bar.update(
            task, completed=done, total=total, description=label
        )
    finally:
        timer.cancel()
        timer.join()
        bar.stop()
