"""Where a run's numbers go: JSON lines, and TensorBoard if wanted."""

from __future__ import annotations

import contextlib
import json
import math
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any


class LoggingError(Exception):
    """A log can not be written, or a library for it is missing."""


class MetricsLog:
    """Appends one JSON object per seed and window to a file.

    A line holds `rows`, `seed` and the figures under their names; what is not finite is
    null. Figures under `time/` depend on the machine, all others only on the run.

    Attributes:
        remark: What is wrong with the log that was found, and what became of it; or None.
    """

    def __init__(self, path: Path, *, rows: int, tensorboard: Path | None = None):
        """Opens the log of a run that stands at `rows`, dropping lines beyond it.

        Such lines were written after the checkpoint that the run resumes from; they will
        be written again. Lines that are none of a log are put aside, into a file beside it.

        Raises:
            LoggingError: The file can not be written, or TensorBoard is wanted and its
                library not installed, or its folder can not be used.
        """
        self._path = path
        self._tensorboard = tensorboard
        self._writers: dict[int, Any] = {}
        self._rows = rows
        if tensorboard is not None:
            _summary_writer()
            with _written(tensorboard):
                tensorboard.mkdir(parents=True, exist_ok=True)
        with _written(path):
            self.remark = self._keep_until(rows)

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
        with _written(self._path), self._path.open("a") as file:
            file.write(json.dumps(line) + "\n")
            file.flush()
            os.fsync(file.fileno())
        if self._tensorboard is not None:
            with _written(self._tensorboard):
                self._write_scalars(self._tensorboard / f"seed{seed}", rows, seed, figures)

    def close(self) -> None:
        """Closes TensorBoard's files.

        Raises:
            LoggingError: What they still hold back can not be written.
        """
        for writer in self._writers.values():
            with _written(self._tensorboard or self._path):
                writer.close()

    def _write_scalars(
        self, folder: Path, rows: int, seed: int, figures: Mapping[str, Any]
    ) -> None:
        if seed not in self._writers:
            self._writers[seed] = _summary_writer()(str(folder), purge_step=self._rows + 1)
        writer = self._writers[seed]
        for name, value in figures.items():
            if isinstance(value, int | float) and math.isfinite(value):
                writer.add_scalar(name, value, rows)
        writer.flush()

    def _keep_until(self, rows: int) -> str | None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        there = self._path.exists()
        content = self._path.read_bytes() if there else b""
        # Half a line at the end is what a killed process was writing.
        lines = content.split(b"\n")[:-1]
        found = [_rows_of(line) for line in lines]
        damaged = [number for number, at in enumerate(found, 1) if at is None]
        remark = None
        if rows and not there:
            remark = f"{self._path} is gone: a new one begins after row {rows:,}"
        if damaged:
            aside = self._path.with_name(f"{self._path.name}.damaged")
            with aside.open("ab") as file:
                file.writelines(lines[number - 1] + b"\n" for number in damaged)
                file.flush()
                os.fsync(file.fileno())
            remark = (
                f"{self._path}: {len(damaged)} of {len(lines)} lines can not be read, the first "
                f"is line {damaged[0]}; they are now in {aside.name}"
            )
        pairs = zip(lines, found, strict=True)
        kept = [line + b"\n" for line, at in pairs if at is not None and at <= rows]
        write_atomically(self._path, b"".join(kept))
        return remark


@contextlib.contextmanager
def _written(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise LoggingError(
            f"{path} can not be written: {error.strerror or error}; make room and start again "
            f"with the same command, or choose another --logdir"
        ) from error


def _rows_of(line: bytes) -> int | None:
    """The rows of a line of the log; None if it is none."""
    try:
        rows = json.loads(line.decode())["rows"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return None
    return rows if type(rows) is int else None


def write_atomically(path: Path, data: bytes) -> None:
    """Writes a file through a temporary beside it, so that no reader sees half of it.

    Raises:
        OSError: It could not be written; what was there before still is.
    """
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
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
            "TensorBoard files need tensorboardX: pip install -e '.[tensorboard]' in the clone"
        ) from error
    return SummaryWriter


@contextlib.contextmanager
def closing(log: MetricsLog) -> Iterator[MetricsLog]:
    """Closes a log at the end of a block."""
    try:
        yield log
    finally:
        log.close()
