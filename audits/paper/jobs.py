"""Which job of a launcher works on a run: `job.json` in the run's folder."""

from __future__ import annotations

from pathlib import Path

import msgspec

from reports.records import write_atomically

JOB = "job.json"


class JobRecord(msgspec.Struct, frozen=True):
    """The last job that was submitted for a run.

    Attributes:
        launcher: "slurm" or "local".
        job: Its number there: of the job, or of the process.
        submitted: When, in UTC.
        attempts: Jobs that were submitted for the run so far.
        fruitless: How many of the last of them, this one included, began at the same progress.
        begin: Progress of the run when it was submitted.
        gpus: Of this machine that it was given; a queue gives its own.
    """

    launcher: str
    job: str
    submitted: str
    attempts: int
    fruitless: int
    begin: int
    gpus: tuple[int, ...] = ()


def read_job(folder: Path) -> JobRecord | None:
    """The job of a run; None if there was none, or nobody can read what it was."""
    try:
        return msgspec.json.decode((folder / JOB).read_bytes(), type=JobRecord)
    except (OSError, msgspec.DecodeError):
        return None


def write_job(folder: Path, record: JobRecord) -> None:
    """Notes the job of a run."""
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / JOB, msgspec.json.encode(record) + b"\n")
