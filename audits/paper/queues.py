"""Whether a job still waits or runs, asked of the queue that it is in."""

from __future__ import annotations

import datetime
import shutil
import subprocess

import psutil

from audits.paper.errors import PaperError
from audits.paper.jobs import JobRecord

_TIMEOUT = 60.0  # seconds that a queue may take to answer
_CLOCKS = 60.0  # seconds by which the clock may have been set since a process began


def alive(record: JobRecord) -> bool:
    """Whether a job waits, runs, or is about to end.

    Args:
        record: The job.

    Raises:
        PaperError: Slurm does not answer.
    """
    if record.launcher == "local":
        return _process_lives(record)
    return bool(slurm_state(record.job))


def slurm_state(job: str) -> str:
    """What Slurm calls the state of a job, such as PENDING; "" of one that is over.

    `squeue` is asked and not `sacct`, which needs an accounting database that not every cluster
    has.

    Raises:
        PaperError: Slurm is not installed, or does not answer.
    """
    if shutil.which("squeue") is None:
        raise PaperError(
            f"job {job} is in a Slurm queue and there is no squeue on PATH; ask where Slurm is"
        )
    command = ["squeue", "--noheader", "--jobs", job, "--format", "%T"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_TIMEOUT, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise PaperError(f"squeue has not answered in {_TIMEOUT:.0f} s; try again later") from error
    if done.returncode and "Invalid job id" not in done.stderr:
        raise PaperError(f"squeue failed: {done.stderr.strip()}; try again later")
    states = done.stdout.split()
    return states[0] if states and states[0] not in _OVER else ""


# A job that is over stays in the queue for some minutes.
_OVER = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY", "BOOT_FAIL")


def _process_lives(record: JobRecord) -> bool:
    """Whether the process of a job is there, and not another one that has its number by now."""
    try:
        submitted = datetime.datetime.fromisoformat(record.submitted).timestamp()
        process = psutil.Process(int(record.job))
        if process.create_time() > submitted + _CLOCKS:
            return False
        return process.status() != psutil.STATUS_ZOMBIE
    except (psutil.NoSuchProcess, ValueError):
        return False  # it is over, or was never the number of a process
