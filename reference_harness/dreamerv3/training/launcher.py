"""Starts one process for each seed, watches it, and lets finished runs count.

The processes are workers (`reference_harness.worker`): they have an environment without
surprises, and they end with this process, however it ends. Nothing that a process wrote counts
before this one has seen it end well and looked at what is there.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import queue
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from reference_harness import home
from reference_harness.dreamerv3.training.runs import RunFolder
from reference_harness.dreamerv3.training.settings import Settings
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

_SLICE = 0.5  # seconds between two looks
_ENDING_PATIENCE = 10.0


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


class _Run:
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
            with _explained_folder(self.folder.out):
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


def run_seeds(
    out: Path,
    runs: Sequence[Settings],
    program: Program,
    *,
    cores: Sequence[int] = (),
    limits: Limits = Limits(),
    report: Report = print,
) -> list[HarnessError]:
    """Brings runs to their end, those of them that are not finished.

    Args:
        out: The folder of the run folders.
        runs: One for each seed.
        program: What runs them.
        cores: Cores to use, one seed on each, pinned, with one thread; as many run side by
            side. Without any, one after the other on all cores.
        limits: When to give up.
        report: Told what happens, in one line each.

    Returns:
        What went wrong, one error for each seed that did not finish.

    Raises:
        HarnessError: Nothing could be started.
    """
    _check_cores(cores)
    folders = [RunFolder(out.absolute(), settings) for settings in runs]
    with _explained_folder(out), contextlib.ExitStack() as locks:
        out.mkdir(parents=True, exist_ok=True)
        for folder in folders:
            locks.enter_context(_sole_user(folder))
        waiting: queue.SimpleQueue[_Run] = queue.SimpleQueue()
        started = []
        for folder in folders:
            if folder.is_finished():
                report(f"{folder.name}: already finished, kept")
                continue
            started.append(_Run(folder, program, limits, report))
            waiting.put(started[-1])
        groups = [[core] for core in cores] or [[]]
        _work(waiting, started, groups[: len(started)])
    return [run.error for run in started if run.error is not None]


def _work(
    waiting: queue.SimpleQueue[_Run], runs: Sequence[_Run], groups: Sequence[Sequence[int]]
) -> None:
    """Works off the runs with a thread for each group of cores."""

    def work(cores: Sequence[int]) -> None:
        with contextlib.suppress(queue.Empty):
            while True:
                waiting.get_nowait().work(cores)

    threads = [threading.Thread(target=work, args=(cores,), daemon=True) for cores in groups]
    try:
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            for thread in threads:
                thread.join(_SLICE / len(threads))
            for run in runs:
                run.watch()
    except BaseException:
        with contextlib.suppress(queue.Empty):
            while True:
                waiting.get_nowait()
        for run in runs:
            run.stop()
        for thread in threads:
            if thread.is_alive():
                thread.join(_ENDING_PATIENCE)
        raise


@contextlib.contextmanager
def _sole_user(folder: RunFolder) -> Iterator[None]:
    import filelock

    lock = filelock.FileLock(folder.out / f".seed{folder.settings.seed}.lock")
    try:
        lock.acquire(timeout=0)
    except filelock.Timeout:
        raise HarnessError(
            f"another process is running {folder.name} in {folder.out}; wait for it, stop it, or "
            "choose another folder with --out."
        ) from None
    try:
        yield
    finally:
        lock.release()


@contextlib.contextmanager
def _explained_folder(out: Path) -> Iterator[None]:
    """Turns a folder that can not be written into one sentence."""
    try:
        yield
    except OSError as error:
        raise HarnessError(
            f"{out} can not be used: {error.strerror or error}"
            + (f" ({error.filename})" if error.filename else "")
            + "; make room, or choose another folder with --out."
        ) from None


def _check_cores(cores: Sequence[int]) -> None:
    if not cores:
        return
    if not hasattr(os, "sched_setaffinity"):
        raise HarnessError("this system can not pin a process to a core; leave --cores out.")
    there = sorted(os.sched_getaffinity(0))
    if len(set(cores)) < len(cores) or not set(cores) <= set(there):
        raise HarnessError(
            f"--cores {' '.join(map(str, cores))}: name different cores out of "
            f"{' '.join(map(str, there))}."
        )


def _span(seconds: float) -> str:
    minutes = seconds / 60
    if seconds < 60:
        return f"{seconds:.0f} s"
    return f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.1f} h"
