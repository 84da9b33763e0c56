"""How far all runs are: what `audit paper status` shows, from the files of the runs alone."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import psutil

from audits.paper.errors import PaperError
from audits.paper.files import CURVE, FINISHED, PROGRESS, RUN, Record, read_lines, read_run_file
from audits.paper.jobs import JobRecord, read_job
from audits.paper.registry import RunSpec

# A process that works notes it every few seconds; but not while it compiles or evaluates.
_SILENT = 900.0

_ORDER = ("running", "queued", "stopped", "damaged", "finished", "not started")


class RunStatus(msgspec.Struct, frozen=True):
    """How far one run is.

    Attributes:
        run: Its name.
        state: finished, running, queued, stopped, damaged, or not started. A run counts as
            running while its process has noted something in the last 15 minutes, unless that
            was on this machine, and the process is there no more.
        env_steps: Environment steps so far of each seed.
        budget: Of the run.
        seeds: How many.
        speed: Environment steps of each seed per second, lately; None before it is known.
        left: Seconds to the end at that speed; likewise.
        score: Mean over the seeds of the last record.
        where: Job, or machine and process.
        remark: What a person should know.
    """

    run: str
    state: str
    env_steps: int
    budget: int
    seeds: int
    speed: float | None = None
    left: float | None = None
    score: float | None = None
    where: str = ""
    remark: str = ""


def status_of(
    spec: RunSpec, out: Path, alive: Callable[[JobRecord], bool] | None = None
) -> RunStatus:
    """How far a run is; a damaged one is told, and does not keep the others from being shown.

    Args:
        spec: The run.
        out: The folder of all runs.
        alive: Whether a job waits or runs; by default no queue is asked.
    """
    folder = out / spec.name
    job = read_job(folder)
    queued, remark = False, ""
    if not (folder / FINISHED).exists():
        queued, remark = _queued(job, alive)
    if not (folder / RUN).exists():
        state = "queued" if queued else "not started"
        where = job.job if job else ""
        return RunStatus(
            spec.name, state, 0, spec.budget, len(spec.seeds), where=where, remark=remark
        )
    try:
        spec = read_run_file(folder).specification
        records = read_lines(folder / CURVE, Record)
    except PaperError as error:
        return RunStatus(spec.name, "damaged", 0, spec.budget, len(spec.seeds), remark=str(error))
    beat = _beat(folder)
    last = records[-1] if records else None
    env_steps = max(last.env_steps if last else 0, beat.env_steps)
    speed = beat.env_steps_per_second
    if speed is None and last and last.seconds:
        speed = spec.chunk / last.seconds
    if (folder / FINISHED).exists():
        state, env_steps, left = "finished", spec.budget, 0.0
    else:
        state = "running" if _at_work(beat) else "queued" if queued else "stopped"
        left = (spec.budget - env_steps) / speed if speed else None
    values = [value for value in last.values if value is not None] if last else []
    return RunStatus(
        spec.name,
        state,
        env_steps,
        spec.budget,
        len(spec.seeds),
        speed,
        left,
        sum(values) / len(values) if values else None,
        _where(beat, job),
        remark,
    )


def in_order(found: Sequence[RunStatus]) -> list[RunStatus]:
    """What runs first, then what waits, what has stopped, what is done, what is not begun."""
    return sorted(found, key=lambda status: (_ORDER.index(status.state), status.run))


class _Beat(msgspec.Struct, frozen=True):
    """What is read of progress.json."""

    env_steps: int = 0
    env_steps_per_second: float | None = None
    at: float = 0.0
    host: str = ""
    pid: int = 0
    job: str = ""


def _beat(folder: Path) -> _Beat:
    try:
        return msgspec.json.decode((folder / PROGRESS).read_bytes(), type=_Beat)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return _Beat()


def _at_work(beat: _Beat) -> bool:
    if beat.host == platform.node() and not psutil.pid_exists(beat.pid):
        return False
    # Clocks of two machines differ, and one that is set may have been ahead by days.
    return abs(time.time() - beat.at) < _SILENT


def _queued(job: JobRecord | None, alive: Callable[[JobRecord], bool] | None) -> tuple[bool, str]:
    """Whether a job waits or runs, and why that is not known."""
    if job is None or alive is None:
        return False, ""
    try:
        return alive(job), ""
    except PaperError as error:
        return False, str(error)


def _where(beat: _Beat, job: JobRecord | None) -> str:
    if beat.job or job:
        return f"job {beat.job or (job.job if job else '')}"
    return f"{beat.host}, process {beat.pid}" if beat.host else ""
