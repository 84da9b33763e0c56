"""What a job of a launcher does: one run, from where it is, and again if its time is up."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from audits.paper.kinds import AnySpec, Kind
from audits.paper.session import PAPER, work


class RunJob:
    """A run as a job; submitit carries it to where it is made.

    Slurm announces the end of a job's time by a signal. The run is saved then, and the job asks
    to be queued again: it goes on with nobody there to submit it.
    """

    def __init__(self, spec: AnySpec, out: Path, save_every: float, kind: Kind = PAPER):
        self.spec, self.out, self.save_every, self.kind = spec, out, save_every, kind
        self.time_is_up = False

    def __call__(self) -> str:
        """Makes the run.

        Returns:
            Its name.

        Raises:
            PaperError: As `session.work`.
        """
        from audits.paper.here import prepare
        from audits.paper.training import InterruptedRunError

        prepare()
        if hasattr(signal, "SIGUSR2"):
            signal.signal(signal.SIGUSR2, self._stop)
        try:
            work(self.spec, self.out, save_every=self.save_every, kind=self.kind)
        except InterruptedRunError as error:
            print(f"audit: {error}", file=sys.stderr)
            if self.time_is_up:
                requeue()
            raise
        return self.spec.name

    def _stop(self, number: int, frame: object) -> None:
        del number, frame
        self.time_is_up = True
        os.kill(os.getpid(), signal.SIGTERM)  # which the training heeds: it saves and ends


def requeue() -> None:
    """Asks Slurm to queue this job again; elsewhere, nothing."""
    job = os.environ.get("SLURM_JOB_ID")
    if job and shutil.which("scontrol"):
        subprocess.run(["scontrol", "requeue", job], check=False, timeout=120)
