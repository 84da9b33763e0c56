"""One process at work on one run: it begins or goes on, keeps the records up to date, finishes.

All that a killed process loses is what it did since the last checkpoint. `curve.jsonl` is made
anew from the core's log after every chunk, so that it can be behind but never wrong; which
process made which part of a run follows from where each went on (`sessions.jsonl`).
"""

from __future__ import annotations

import collections
import contextlib
import json
import os
import platform
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import filelock
import msgspec

from audits.paper import training
from audits.paper.agents import resolved
from audits.paper.curve_log import read_records
from audits.paper.errors import PaperError
from audits.paper.files import (
    CURVE,
    FINISHED,
    PROGRESS,
    RUN,
    SESSIONS,
    Record,
    Session,
    read_lines,
    run_file,
    write_lines,
    write_run_file,
)
from audits.paper.kinds import AnySpec, Kind
from audits.paper.provenance import this_session
from audits.paper.registry import RunSpec, different
from reports.records import write_atomically

_BEAT = 5.0  # seconds between two looks at the log
_PACE = 600.0  # seconds over which the pace is taken


class PaperRuns:
    """Runs of one agent on one task; see `Kind`."""

    unit = "env_steps"
    specification = RunSpec

    def require(self, spec: RunSpec) -> None:
        """Refuses a run that the core can not make."""
        training.require(spec)

    def resolved(self, spec: RunSpec) -> dict[str, Any]:
        """Every number of the agent."""
        return resolved(spec)

    def train(
        self, spec: RunSpec, folder: Path, observe: Callable[[int], None], *, save_every: float
    ) -> str:
        """Trains a run to its end."""
        return training.train(spec, folder, observe, save_every=save_every)

    def records(self, spec: RunSpec, log: Path) -> list[Record]:
        """One record for every chunk."""
        return read_records(spec, log)

    def reached(self, spec: RunSpec, rows: int) -> int:
        """Rows in environment steps."""
        return rows * spec.action_repeat

    def keep(self, spec: RunSpec, folder: Path) -> None:
        """Nothing is wanted but the records."""


PAPER = PaperRuns()


def work(spec: AnySpec, out: Path, *, save_every: float = 900.0, kind: Kind = PAPER) -> bool:
    """Trains a run to its end, or to where a signal stops it.

    Args:
        spec: The run.
        out: The folder of all runs.
        save_every: Seconds between checkpoints.
        kind: Of the run.

    Returns:
        Whether there was anything to do: a finished run is left alone.

    Raises:
        PaperError: The folder holds a run of another specification, somebody else works on it,
            or the training failed.
        InterruptedRunError: A signal asked it to stop; the same call goes on.
    """
    folder = out / spec.name
    kind.require(spec)
    folder.mkdir(parents=True, exist_ok=True)
    with _sole_user(folder):
        check_folder(spec, folder, kind)
        if (folder / FINISHED).exists():
            shutil.rmtree(folder / training.CHECKPOINTS, ignore_errors=True)
            if (folder / training.LOG).exists():
                write_lines(folder / CURVE, kind.records(spec, folder / training.LOG))
            return False
        write_run_file(folder, spec, kind.resolved(spec))
        session = _begin(folder)
        monitor = Monitor(spec, folder, session, kind)
        try:
            digest = kind.train(spec, folder, monitor.moved, save_every=save_every)
        except PaperError:
            # What it did is kept; what went wrong matters more than a log that is damaged, too.
            with contextlib.suppress(PaperError):
                monitor.ended()
            raise
        monitor.ended()
        _finish(spec, folder, digest, kind)
    return True


def check_folder(spec: AnySpec, folder: Path, kind: Kind = PAPER) -> None:
    """Refuses a folder that holds another run.

    Raises:
        PaperError: It does, and how they differ.
    """
    if not (folder / RUN).exists():
        return
    found = run_file(folder, kind.specification)
    differ = different(msgspec.to_builtins(found.specification), msgspec.to_builtins(spec))
    differ += different(found.agent, kind.resolved(spec), "agent.")
    if differ:
        raise PaperError(
            f"{folder} holds a run of another specification ({'; '.join(differ[:4])}); choose "
            "another folder with --out, or remove it"
        )


class Monitor:
    """Keeps `curve.jsonl` and `progress.json` up to date while a run goes on."""

    def __init__(self, spec: AnySpec, folder: Path, session: Session, kind: Kind = PAPER):
        self._spec, self._folder, self._session, self._kind = spec, folder, session, kind
        self._seen = -1
        self._beat = 0.0
        self._moves: collections.deque[tuple[float, int]] = collections.deque()
        self._note(session.begin)

    def moved(self, rows: int) -> None:
        """Called when the run has come further."""
        now = time.monotonic()
        self._moves.append((now, rows))
        while now - self._moves[0][0] > _PACE and len(self._moves) > 2:
            self._moves.popleft()
        if now - self._beat >= _BEAT:
            self._beat = now
            self._note(rows)
            self.take_over()

    def ended(self) -> None:
        """Called when the process has stopped working on the run, whatever the reason."""
        if self._moves:
            self._note(self._moves[-1][1])
        self.take_over()

    def take_over(self) -> None:
        """Makes `curve.jsonl` from the log, if that has grown.

        Raises:
            PaperError: The log is damaged, or lacks a record that no later part of the run makes.
        """
        log = self._folder / training.LOG
        size = log.stat().st_size if log.exists() else 0
        if size != self._seen:
            records = self._kind.records(self._spec, log)
            write_lines(self._folder / CURVE, records)
            self._seen = size
            self._refuse_a_gap(records)

    def _refuse_a_gap(self, records: Sequence[Any]) -> None:
        found = {getattr(record, self._kind.unit) for record in records}
        reached = max(found, default=0)
        absent = [at for at in self._spec.records if at < reached and at not in found]
        if absent:
            at = f"{absent[0]:,} {self._kind.unit.replace('_', ' ')}"
            raise PaperError(
                f"{self._folder / training.LOG} has lost what it had of the record at {at}, which "
                f"is not made again; restore it, or remove {self._folder} to begin that run anew"
            )

    def _note(self, rows: int) -> None:
        unit, reached = self._kind.unit, self._kind.reached(self._spec, rows)
        pace = None
        if len(self._moves) > 1:
            (then, before), (now, _) = self._moves[0], self._moves[-1]
            pace = (reached - self._kind.reached(self._spec, before)) / max(now - then, 1e-6)
        content = {
            unit: reached,
            f"{unit}_per_second": pace,
            "at": time.time(),
            "host": platform.node(),
            "pid": os.getpid(),
            "job": self._session.job,
        }
        write_atomically(self._folder / PROGRESS, json.dumps(content).encode())


def _begin(folder: Path) -> Session:
    session = this_session(training.newest_checkpoint(folder))
    write_lines(folder / SESSIONS, [*read_lines(folder / SESSIONS, Session), session])
    return session


def _finish(spec: AnySpec, folder: Path, digest: str, kind: Kind) -> None:
    records = kind.records(spec, folder / training.LOG)
    if [getattr(record, kind.unit) for record in records] != list(spec.records):
        raise PaperError(
            f"{spec.name} has ended with {len(records)} of {len(spec.records)} records in "
            f"{folder / training.LOG}; remove {folder} to run it again"
        )
    kind.keep(spec, folder)
    content = {
        kind.unit: getattr(records[-1], kind.unit),
        "updates": records[-1].updates,
        "seconds": round(sum(record.seconds for record in records), 1),
        "learned": digest,
    }
    write_atomically(folder / FINISHED, (json.dumps(content, indent=1) + "\n").encode())
    # It takes gigabytes, and nothing goes on from it.
    shutil.rmtree(folder / training.CHECKPOINTS, ignore_errors=True)


@contextlib.contextmanager
def _sole_user(folder: Path) -> Iterator[None]:
    lock = filelock.FileLock(folder / ".session")
    try:
        lock.acquire(timeout=0)
    except filelock.Timeout:
        raise PaperError(
            f"another process works on {folder}; wait for it, stop it, or choose another folder "
            "with --out"
        ) from None
    try:
        yield
    finally:
        lock.release()
