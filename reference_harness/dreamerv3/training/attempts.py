"""One seed: its attempts, one after the other, and what is said of them."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from reference_harness import home
from reference_harness.dreamerv3.training.runs import RunFolder
from reference_harness.errors import HarnessError
from reference_harness.worker import Worker
from reference_harness.worker_errors import (
    OperationFailedError,
    WorkerCrashedError,
    WorkerError,
    WorkerStartError,
)

OPERATION = "dreamerv3.train"

Report = Callable[[str], object]


@dataclasses.dataclass(frozen=True)
class Program:
    """What answers `dreamerv3.train`.

    Attributes:
        name: What messages call it.
        python: The interpreter.
        operations: Its module of operations, as of a `Worker`.
        import_paths: Likewise.
        environment: Variables for a process that may use so many cores.
        way_out: What to do if it does not start.
        inputs: More inputs of the operation, the same for every seed.
    """

    name: str
    python: Path
    operations: str | Path
    import_paths: tuple[Path, ...] = ()
    environment: Callable[[int], Mapping[str, str]] = lambda cores: {}
    way_out: str = ""
    inputs: Mapping[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Limits:
    """When a run is given up.

    Attributes:
        seconds: Of a whole attempt.
        stall_seconds: Without a sign of life. Compiling is silent, and takes minutes.
        attempts: How often a seed is started whose process died or stalled. An exception is
            not tried again.
    """

    seconds: float = 24 * 3600.0
    stall_seconds: float = 45 * 60.0
    attempts: int = 2


class StalledError(WorkerCrashedError):
    """A run gave no sign of life, and was killed."""


class _Child(Worker):
    """A worker that another thread may kill while it is asked."""

    def kill(self, number: int) -> None:
        process = self._process
        if process is not None and process.usable and process.worker_pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.worker_pid, number)


class SeedRun:
    """One seed: its attempts, one after the other, in a thread of its own."""

    def __init__(self, folder: RunFolder, program: Program, limits: Limits, report: Report):
        self.folder = folder
        self.error: HarnessError | None = None
        self._program, self._limits, self._report = program, limits, report
        self._child: _Child | None = None
        self._heard, self._sign = 0.0, 0.0
        self._told = 0
        self._telling = threading.Lock()
        self._stalled = self._stopped = False

    def work(self, cores: Sequence[int]) -> None:
        """Runs the seed to its end; what goes wrong is kept in `error`.

        Args:
            cores: Those that it is pinned to; none to leave it free. The calling thread is
                pinned too: its children inherit that.
        """
        try:
            if cores:
                os.sched_setaffinity(0, cores)
            with explained_folder(self.folder.out):
                for attempt in range(1, self._limits.attempts + 1):
                    if self._attempt(attempt, len(cores)):
                        return
        except HarnessError as error:
            self.error = error
        except Exception as error:
            self.error = HarnessError(
                f"{self.folder.name}: the launcher failed: {type(error).__name__}: {error}"
            )

    def _attempt(self, attempt: int, cores: int) -> bool:
        """One attempt; whether it finished. Not to be tried again is what raises."""
        folder, program = self.folder, self._program
        folder.clear()
        begin = self._heard = time.monotonic()
        self._told, self._stalled = 0, False
        started = time.strftime("%Y-%m-%d %H:%M:%S %z")
        with folder.log.open("a", encoding="utf-8") as log:
            log.write(f"\n=== {folder.name}, attempt {attempt}, {started}\n")
        inputs = {
            "folder": str(folder.path),
            "log": str(folder.log),
            "settings": dataclasses.asdict(folder.settings),
            **program.inputs,
        }
        child = _Child(
            f"{folder.name} of {program.name}",
            program.python,
            program.operations,
            import_paths=program.import_paths,
            environment=program.environment(cores),
            time_limit=self._limits.seconds,
            start_limit=600.0,
            way_out=program.way_out,
        )
        self._child = child
        try:
            with child:
                if not self._stopped:
                    child.ask(OPERATION, inputs)
        except WorkerError as error:
            if self._stopped:
                return True
            error = self._explained(error)
            if isinstance(error, WorkerCrashedError) and attempt < self._limits.attempts:
                self._report(f"{error}\n{folder.name}: starting it again")
                return False
            raise error from None
        finally:
            self._child = None
        if self._stopped:
            return True
        seconds = time.monotonic() - begin
        folder.mark_finished(
            program=program.name,
            attempt=attempt,
            started=started,
            wall_s=seconds,
            identity=dataclasses.asdict(child.identity),
        )
        self.tell_records()
        self._report(f"{folder.name}: finished after {_span(seconds)}, in {folder.path}")
        return True

    def watch(self) -> None:
        """Tells new records, and kills the run if it is dead."""
        child = self._child
        if child is None or self._stalled:
            return
        self.tell_records()
        if (sign := self.folder.last_sign()) != self._sign:
            self._sign, self._heard = sign, time.monotonic()
        if time.monotonic() - self._heard > self._limits.stall_seconds:
            self._stalled = True
            child.kill(signal.SIGABRT)  # its log then says where every thread was

    def stop(self) -> None:
        """Ends the run, whatever it is doing."""
        self._stopped = True
        if (child := self._child) is not None:
            child.kill(signal.SIGKILL)

    def tell_records(self) -> None:
        """Reports the records that are new."""
        with self._telling:
            records = self.folder.records()
            for record in records[self._told :]:
                self._report(
                    f"{self.folder.name}: {record['rows']:,} of "
                    f"{self.folder.settings.steps:,} rows, {record['updates']:,} updates, "
                    f"evaluation {record['eval_mean']:.1f}, after {_span(record['wall_s'])}"
                )
            self._told = len(records)

    def _explained(self, error: WorkerError) -> WorkerError:
        """The same error with the end of the log, and with what this side knows."""
        kind, sentence = type(error), error.sentence
        if self._stalled:
            kind = StalledError
            silence = _span(self._limits.stall_seconds)
            sentence = f"{self.folder.name} gave no sign of life for {silence} and was killed"
        if isinstance(error, OperationFailedError | WorkerStartError):
            explained = kind(f"{sentence}; its log is {self.folder.log}", error.log)
        else:
            explained = kind(f"{sentence}; the end of {self.folder.log}:", self.folder.log_tail())
        if home.says_disk_is_full(str(explained)):
            explained.args = (f"{explained}\nThe disk is full: make room and repeat the command.",)
        return explained


@contextlib.contextmanager
def explained_folder(out: Path) -> Iterator[None]:
    """Turns a folder that can not be written into one sentence."""
    try:
        yield
    except OSError as error:
        raise HarnessError(
            f"{out} can not be used: {error.strerror or error}"
            + (f" ({error.filename})" if error.filename else "")
            + "; make room, or choose another folder with --out."
        ) from None


def _span(seconds: float) -> str:
    minutes = seconds / 60
    if seconds < 60:
        return f"{seconds:.0f} s"
    return f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.1f} h"
