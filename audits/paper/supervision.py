"""One job per run, submitted again until the run is finished."""

from __future__ import annotations

import dataclasses
import datetime
import itertools
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from audits.paper.errors import PaperError
from audits.paper.files import FINISHED
from audits.paper.job import RunJob
from audits.paper.jobs import JobRecord, read_job, write_job
from audits.paper.kinds import AnySpec, Kind
from audits.paper.session import PAPER, check_folder
from audits.paper.submission import Launcher, Resources
from audits.paper.training import newest_checkpoint

Report = Callable[[str], object]

FRUITLESS = 3  # jobs in a row that leave a run where it was, after which it is given up


@dataclasses.dataclass(frozen=True)
class Supervisor:
    """Keeps a job at work on every run.

    Attributes:
        out: The folder of the runs.
        launcher: That starts the jobs.
        resources: What each run's jobs ask for, by name.
        save_every: Seconds between checkpoints.
        together: Jobs at a time; 0 for no limit.
        report: Told what happens, one line each.
        kind: Of the runs.
    """

    out: Path
    launcher: Launcher
    resources: Mapping[str, Resources]
    save_every: float
    together: int
    report: Report
    kind: Kind = PAPER

    def supervise(self, specs: Sequence[AnySpec], *, poll: float, wait: bool = True) -> list[str]:
        """Submits jobs, and again those that end before their run does.

        A job counts as fruitless if it leaves no checkpoint that was not there before; three of
        them in a row, and the run is given up. Started anew, the count is, too.

        Args:
            specs: The runs.
            poll: Seconds between two looks at the queue.
            wait: Until all are finished or given up; else one look is all.

        Returns:
            The runs that were given up.

        Raises:
            PaperError: A folder holds another run, or the first job of a run can not be
                submitted. Later, a queue that refuses or does not answer is asked again.
        """
        for spec in specs:
            check_folder(spec, self.out / spec.name, self.kind)
        waiting, given_up, first = list(specs), [], True
        while waiting:
            working = self._working(waiting, told=first)
            # Asked for after the queue: a job may have ended with its run between the two.
            for spec in [s for s in waiting if (self.out / s.name / FINISHED).exists()]:
                if spec.name not in working:
                    self.report(f"{spec.name}: finished")
                    waiting.remove(spec)
            for spec in [s for s in waiting if s.name not in working]:
                record = None if first else read_job(self.out / spec.name)
                if record is not None and self._is_hopeless(record, spec):
                    self.report(
                        f"{spec.name}: {FRUITLESS} jobs came no further, and it is given up; see "
                        f"{self.out / 'jobs' / record.job}"
                    )
                    waiting.remove(spec)
                    given_up.append(spec.name)
                elif not self.together or len(working) < self.together:
                    try:
                        working[spec.name] = self._submit(spec, record, working.values())
                    except PaperError as error:
                        if first:
                            raise
                        self.report(f"{error}; it is tried again")
            if not wait:
                break
            first = False
            if waiting:
                time.sleep(poll)
        return given_up

    def _working(self, specs: Sequence[AnySpec], *, told: bool) -> dict[str, JobRecord]:
        """The jobs that wait or work, by run."""
        found = {}
        for spec in specs:
            record = read_job(self.out / spec.name)
            if record is None or record.launcher != self.launcher.name:
                continue
            try:
                alive = self.launcher.alive(record)
            except PaperError as error:
                # A queue that does not answer is no sign that a job has ended.
                self.report(f"{spec.name}: {error}")
                alive = True
            if alive:
                found[spec.name] = record
                if told:
                    self.report(f"{spec.name}: job {record.job} is at work on it")
        return found

    def _is_hopeless(self, record: JobRecord, spec: AnySpec) -> bool:
        came_to = newest_checkpoint(self.out / spec.name)
        return record.fruitless >= FRUITLESS and came_to <= record.begin

    def _submit(
        self, spec: AnySpec, before: JobRecord | None, others: Iterable[JobRecord]
    ) -> JobRecord:
        folder = self.out / spec.name
        begin = newest_checkpoint(folder)
        again = before is not None and begin <= before.begin
        job = RunJob(spec, self.out.absolute(), self.save_every, self.kind)
        gpus = self._free_gpus(self.resources[spec.name].gpus, others)
        number = self.launcher.submit(job, self.resources[spec.name], gpus)
        record = JobRecord(
            launcher=self.launcher.name,
            job=number,
            submitted=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            attempts=(before.attempts if before else 0) + 1,
            fruitless=(before.fruitless if before and again else 0) + 1,
            begin=begin,
            gpus=gpus,
        )
        write_job(folder, record)
        where = f"from {begin:,} rows" if begin else "from the beginning"
        self.report(f"{spec.name}: job {number}, {where}")
        return record

    def _free_gpus(self, count: int, others: Iterable[JobRecord]) -> tuple[int, ...]:
        """The first GPUs of this machine that no other job was given; none for a queue."""
        if self.launcher.name != "local":
            return ()
        taken = {gpu for record in others for gpu in record.gpus}
        return tuple(itertools.islice((n for n in itertools.count() if n not in taken), count))
