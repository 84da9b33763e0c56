"""Jobs through submitit: on this machine, or in a Slurm queue."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import msgspec

from audits.paper import queues
from audits.paper.errors import PaperError
from audits.paper.job import RunJob
from audits.paper.jobs import JobRecord

LAUNCHERS = ("local", "slurm")
_NOTICE = 300  # seconds before the end of its time in which a job saves


class Resources(msgspec.Struct, frozen=True):
    """What a job asks for.

    Attributes:
        gpus: Of the job.
        cpus: Cores.
        memory: Bytes of the machine.
        hours: Of wall time; a job whose time is up is queued again.
    """

    gpus: int
    cpus: int
    memory: int
    hours: float

    @property
    def memory_gb(self) -> int:
        """In GB, as queues count."""
        return max(1, -(-self.memory // 2**30))


class Launcher(Protocol):
    """What can start jobs."""

    name: str

    def submit(self, job: RunJob, resources: Resources, gpus: Sequence[int]) -> str:
        """Starts a job, and returns its number."""
        ...

    def alive(self, record: JobRecord) -> bool:
        """Whether a job waits or runs."""
        ...


class SubmititLauncher:
    """Jobs through submitit.

    Attributes:
        name: "slurm" or "local".
        logs: Where the jobs' output goes.
    """

    def __init__(self, name: str, logs: Path, options: Mapping[str, str] | None = None):
        """Opens the queue.

        Args:
            name: "slurm" or "local".
            logs: Where the jobs' output goes.
            options: Of sbatch, such as partition and account.

        Raises:
            PaperError: submitit is not installed, or there is no Slurm.
        """
        try:
            import submitit
        except ImportError as error:
            raise PaperError(
                f"--launcher {name} needs submitit: pip install -e '.[cluster]' in the clone"
            ) from error
        self.name, self.logs = name, logs.absolute()
        self._options = dict(options or {})
        try:
            self._executor: Any = submitit.AutoExecutor(folder=self.logs / "%j", cluster=name)
        except RuntimeError as error:
            raise PaperError(
                f"--launcher {name}: {error}; run it where sbatch is on PATH"
            ) from error

    def submit(self, job: RunJob, resources: Resources, gpus: Sequence[int]) -> str:
        """Starts a job, and returns its number.

        Args:
            job: What it does.
            resources: What it asks for.
            gpus: Of this machine that it is to use; a queue gives its own.

        Raises:
            PaperError: The queue refuses it; says why.
        """
        self._executor.update_parameters(**self.parameters(job, resources, gpus))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ResourceWarning)  # of submitit's log files
                return str(self._executor.submit(job).job_id)
        except Exception as error:  # submitit's own, or whatever sbatch said
            raise PaperError(f"{job.spec.name} could not be submitted: {error}") from error

    def parameters(
        self, job: RunJob, resources: Resources, gpus: Sequence[int] = ()
    ) -> dict[str, Any]:
        """What submitit is told."""
        told: dict[str, Any] = {
            "name": job.spec.name,
            "timeout_min": max(1, round(resources.hours * 60)),
            "gpus_per_node": resources.gpus,
            "cpus_per_task": resources.cpus,
            "mem_gb": resources.memory_gb,
        }
        if self.name == "slurm":
            told["slurm_signal_delay_s"] = _NOTICE
            told["slurm_additional_parameters"] = {"requeue": True, **self._options}
            if not resources.gpus:
                del told["gpus_per_node"]
        elif gpus:
            told["local_visible_gpus"] = list(gpus)
        return told

    def alive(self, record: JobRecord) -> bool:
        """Whether a job waits or runs.

        Raises:
            PaperError: Slurm does not answer.
        """
        return queues.alive(record)
