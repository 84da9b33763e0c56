"""Where a run's numbers go: JSON lines, TensorBoard if wanted, and the terminal."""

from __future__ import annotations

import contextlib
import json
import math
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn


class LoggingError(Exception):
    """A log can not be written, or a library for it is missing."""


class MetricsLog:
    """Appends one JSON object per seed and window to a file.

    A line holds `rows`, `seed` and the figures under their names; what is not finite is
    null. Figures under `time/` depend on the machine, all others only on the run.
    """

    def __init__(self, path: Path, *, rows: int, tensorboard: Path | None = None):
        """Opens the log of a run that stands at `rows`, dropping lines beyond it.

        Such lines were written after the checkpoint that the run resumes from; they will
        be written again.

        Raises:
            LoggingError: The file can not be written, or TensorBoard is wanted and its
                library not installed.
        """
        self._path = path
        try:
            self._keep_until(rows)
        except OSError as error:
            raise LoggingError(f"{path} can not be written: {error.strerror or error}") from error
        self._tensorboard = tensorboard
        self._writers: dict[int, Any] = {}
        self._rows = rows
        if tensorboard is not None:
            _summary_writer()

    def write(self, rows: int, seed: int, figures: Mapping[str, Any]) -> None:
        """Appends a line; it is on the disk when this returns.

        Args:
            rows: Environment rows of the seed so far.
            seed: Of the run.
            figures: Numbers, or lists of numbers, by name.

        Raises:
            LoggingError: The disk is full, or the file is gone.
        """
        line = {"rows": rows, "seed": seed} | {k: _json(v) for k, v in figures.items()}
        try:
            with self._path.open("a") as file:
                file.write(json.dumps(line) + "\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise LoggingError(
                f"{self._path} can not be written: {error.strerror or error}; make room and start "
                f"again with the same command"
            ) from error
        if self._tensorboard is not None:
            writer = self._writers.get(seed)
            if writer is None:
                folder = str(self._tensorboard / f"seed{seed}")
                writer = _summary_writer()(folder, purge_step=self._rows + 1)
                self._writers[seed] = writer
            for name, value in figures.items():
                if isinstance(value, int | float) and math.isfinite(value):
                    writer.add_scalar(name, value, rows)
            writer.flush()

    def close(self) -> None:
        """Closes TensorBoard's files."""
        for writer in self._writers.values():
            writer.close()

    def _keep_until(self, rows: int) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        kept = []
        if self._path.exists():
            for line in self._path.read_text().splitlines():
                # Half a line is what a killed process was writing: nothing follows it.
                with contextlib.suppress(json.JSONDecodeError, KeyError, TypeError):
                    if json.loads(line)["rows"] <= rows:
                        kept.append(line + "\n")
        write_atomically(self._path, "".join(kept))


def write_atomically(path: Path, text: str) -> None:
    """Writes a file through a temporary beside it, so that no reader sees half of it."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _json(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_json(item) for item in value]
    return value if math.isfinite(value) else None


def _summary_writer() -> Any:
    try:
        from tensorboardX import SummaryWriter  # type: ignore[import-not-found]
    except ImportError as error:
        raise LoggingError(
            "TensorBoard files need tensorboardX: pip install 'world-model-parity[tensorboard]'"
        ) from error
    return SummaryWriter


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
    def busy(self, text: str) -> Iterator[None]:
        """Shows what takes so long, until it is done."""
        if not self.console.is_terminal:
            self.note(text)
        with self.console.status(text):
            yield

    def note(self, text: str) -> None:
        """Prints a line above the bar."""
        self.console.print(text, markup=False, soft_wrap=True)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._progress.stop()


@contextlib.contextmanager
def closing(log: MetricsLog) -> Iterator[MetricsLog]:
    """Closes a log at the end of a block."""
    try:
        yield log
    finally:
        log.close()
