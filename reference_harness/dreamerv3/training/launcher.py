"""Starts one process for each seed, watches it, and lets finished runs count.

The processes are workers (`reference_harness.worker`): they have an environment without
surprises, and they end with this process, however it ends. Nothing that a process wrote counts
before this one has seen it end well and looked at what is there.
"""

from __future__ import annotations

import contextlib
import os
import queue
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

from reference_harness.dreamerv3.training.attempts import (
    Limits,
    Program,
    Report,
    SeedRun,
    explained_folder,
)
from reference_harness.dreamerv3.training.runs import RunFolder
from reference_harness.dreamerv3.training.settings import Settings
from reference_harness.errors import HarnessError

_SLICE = 0.5  # seconds between two looks
_ENDING_PATIENCE = 10.0


def run_seeds(
    out: Path,
    runs: Sequence[Settings],
    program: Program,
    *,
    cores: Sequence[int] = (),
    limits: Limits = Limits(),  # noqa: B008
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
    with explained_folder(out), contextlib.ExitStack() as locks:
        out.mkdir(parents=True, exist_ok=True)
        for folder in folders:
            locks.enter_context(_sole_user(folder))
        waiting: queue.SimpleQueue[SeedRun] = queue.SimpleQueue()
        started = []
        for folder in folders:
            if folder.is_finished():
                report(f"{folder.name}: already finished, kept")
                continue
            started.append(SeedRun(folder, program, limits, report))
            waiting.put(started[-1])
        groups = [[core] for core in cores] or [[]]
        _work(waiting, started, groups[: len(started)])
    return [run.error for run in started if run.error is not None]


def _work(
    waiting: queue.SimpleQueue[SeedRun], runs: Sequence[SeedRun], groups: Sequence[Sequence[int]]
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
