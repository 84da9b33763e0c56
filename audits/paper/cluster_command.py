"""`audit paper run --launcher`: what each job asks for, and the jobs."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from audits.paper.errors import PaperError
from audits.paper.estimate import Estimate, estimated
from audits.paper.files import FINISHED
from audits.paper.kinds import AnySpec, Kind
from audits.paper.session import PAPER
from audits.paper.submission import Resources, SubmititLauncher
from audits.paper.supervision import Supervisor
from audits.paper.terminal import show_jobs

_HOURS = 24.0  # of a job if nobody says and nothing was calibrated
_SHORTEST = 1.0  # hours: of a run that takes minutes, most is the start
_MARGIN = 1.25  # of the estimated time and of the machine's memory


def resources_of(
    specs: Sequence[Any],
    out: Path,
    *,
    gpus: int,
    cpus: int,
    hours: float | None,
    estimate_of: Callable[[Any, Path], Estimate] | None = None,
) -> dict[str, Resources]:
    """What the job of each unfinished run asks for, from its estimate.

    Args:
        specs: The runs.
        out: Their folder, where calibrations are kept.
        gpus: Of a job.
        cpus: Of a job.
        hours: The longest that a job may take.
        estimate_of: What a run needs, from it and the folder; by default `estimated`.

    Raises:
        PaperError: No job can ask for so many, or so long.
    """
    _require("--gpus", gpus, gpus >= 0, "a whole number from 0")
    _require("--cpus", cpus, cpus >= 1, "a whole number from 1")
    if hours is not None:
        _require("--hours", hours, 0 < hours < math.inf, "a finite number above 0")
    found = {}
    for spec in specs:
        if (out / spec.name / FINISHED).exists():
            continue  # it needs no job
        estimate = (estimate_of or estimated)(spec, out)
        if estimate.hours is None:
            limit = _HOURS if hours is None else hours
        else:
            limit = max(_SHORTEST, _MARGIN * estimate.hours)
            limit = limit if hours is None else min(limit, hours)
        # Without a device of its own, a run has state and work in the machine's memory, too.
        memory = estimate.memory.host + (0 if gpus else estimate.memory.device)
        found[spec.name] = Resources(gpus, cpus, round(_MARGIN * memory), limit)
    return found


def launch(
    specs: Sequence[AnySpec],
    out: Path,
    name: str,
    resources: Mapping[str, Resources],
    *,
    save_every: float,
    together: int,
    options: Sequence[str],
    poll: float,
    wait: bool,
    dry_run: bool,
    kind: Kind = PAPER,
) -> int:
    """Submits a job for every run that is not finished, until all are.

    Args:
        specs: The runs.
        out: Their folder.
        name: Of the launcher.
        resources: Of each run's jobs.
        save_every: Seconds between checkpoints.
        together: Jobs at a time; 0 for no limit.
        options: Of sbatch, "key=value".
        poll: Seconds between two looks at the queue.
        wait: Stay, and submit again.
        dry_run: Print the jobs, and submit nothing.
        kind: Of the runs.

    Returns:
        The exit status: 0, 2 if a run was given up.

    Raises:
        PaperError: See `Supervisor.supervise`; or a number is none that can be meant.
    """
    _require("--jobs", together, together >= 0, "a whole number from 0, which is no limit")
    for option, seconds in (("--poll", poll), ("--save-every", save_every)):
        _require(option, seconds, 0 <= seconds < math.inf, "a finite number of seconds from 0")
    told = dict(_pair(option) for option in options)
    if dry_run:
        left = [spec for spec in specs if not (out / spec.name / FINISHED).exists()]
        show_jobs(left, out, resources, kind)
        return 0
    launcher = SubmititLauncher(name, out / "jobs", told)

    def report(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    supervisor = Supervisor(out, launcher, resources, save_every, together, report, kind)
    try:
        given_up = supervisor.supervise(specs, poll=poll, wait=wait)
    except KeyboardInterrupt:
        report("the jobs go on; the same command looks after them again")
        raise
    if given_up:
        report(f"audit: given up: {', '.join(given_up)}")
    return 2 if given_up else 0


def _require(option: str, value: float, good: bool, expected: str) -> None:
    if not good:
        raise PaperError(f"{option}: expected {expected}, not {value:g}")


def _pair(option: str) -> tuple[str, str]:
    key, equals, value = option.partition("=")
    if not (key and equals and value):
        raise PaperError(f"--sbatch {option}: expected key=value, such as partition=gpu")
    return key.lstrip("-").replace("_", "-"), value
