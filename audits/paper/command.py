"""`audit paper`: runs of the papers' protocols, and the verdict over them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import cyclopts
from cyclopts import Parameter

if TYPE_CHECKING:
    from audits.paper.registry import Kind

DEFAULT_OUT = Path("audit-results/paper")

Flag = Annotated[bool, Parameter(negative=())]

app = cyclopts.App(
    name="paper", help="Validate the core against the published curves of both papers."
)


@app.command(name="list")
def list_runs(*names: str) -> int:
    """Print the registered runs.

    Parameters
    ----------
    names
        Of runs or agents; all by default.
    """
    from audits.paper.registry import find
    from audits.paper.terminal import show_runs

    show_runs(find(names))
    return 0


@app.command
def run(
    *names: str,
    out: Path = DEFAULT_OUT,
    seeds: Annotated[tuple[int, ...], Parameter(consume_multiple=True, negative=())] = (),
    save_every: float = 900.0,
    trial: Flag = False,
    smoke: Flag = False,
    launcher: Literal["local", "slurm"] | None = None,
    dry_run: Flag = False,
    jobs: int | None = None,
    hours: float | None = None,
    gpus: int = 1,
    cpus: int = 8,
    sbatch: Annotated[tuple[str, ...], Parameter(consume_multiple=True, negative=())] = (),
    detach: Flag = False,
    poll: float = 60.0,
) -> int:
    """Make runs of the protocol, or go on with them.

    Stopped at any moment, the same command goes on: finished runs are left alone, others
    continue from their last checkpoint, and come to the same numbers as if nothing had happened.

    Example: audit paper run dreamerv3-walker_walk --out runs

    With --launcher, every run is a job, submitted again until it is finished.

    Example: audit paper run dreamerv3 --out runs --launcher slurm --sbatch partition=gpu

    Parameters
    ----------
    names
        Of runs or agents; by default all that the core can train.
    out
        The folder of the runs.
    seeds
        In place of the protocol's, such as 0 1 2 where memory is short. A verdict needs the
        first three or more of them.
    save_every
        Seconds between checkpoints.
    trial
        Small runs on an easy task that are off protocol: some 10,000 updates each, which a CPU
        can make before a GPU is asked for.
    smoke
        Tiny runs that try the plumbing: each about a minute of a CPU.
    launcher
        local: jobs on this machine. slurm: in the queue. By default this process makes the
        runs, one after another.
    dry_run
        Print the jobs with what they ask for, and submit nothing.
    jobs
        At a time; one with the local launcher, any number in a queue.
    hours
        The longest that a job may take; one whose time is up goes on in another. By default
        from the calibration (`audit paper estimate --calibrate`), or 24.
    gpus
        Of a job.
    cpus
        Of a job.
    sbatch
        Options of sbatch, such as partition=gpu account=me.
    detach
        Submit, and do not stay to submit again what ends early; the same command does later.
    poll
        Seconds between two looks at the queue.
    """
    from audits.paper.selection import select

    specs = select(names, seeds, _kind(trial=trial, smoke=smoke))
    if launcher is None and not dry_run:
        from audits.paper.here import run_here

        return run_here(specs, out, save_every)
    from audits.paper.cluster_command import launch, resources_of

    return launch(
        specs,
        out,
        launcher or "local",
        resources_of(specs, out, gpus=gpus, cpus=cpus, hours=hours),
        save_every=save_every,
        together=jobs if jobs is not None else int(launcher != "slurm"),
        options=sbatch,
        poll=poll,
        wait=not detach,
        dry_run=dry_run,
    )


@app.command
def estimate(
    *names: str,
    out: Path = DEFAULT_OUT,
    seeds: Annotated[tuple[int, ...], Parameter(consume_multiple=True, negative=())] = (),
    calibrate: Flag = False,
    seconds: float = 30.0,
    trial: Flag = False,
    smoke: Flag = False,
) -> int:
    """Compute what runs need: memory from the shapes of their programs, time from a trial.

    Parameters
    ----------
    names
        Of runs or agents; by default all that the core can train.
    out
        The folder of the runs, where calibrations are kept.
    seeds
        In place of the protocol's.
    calibrate
        Compile each run's program on the device that is here, and measure it.
    seconds
        How long to measure each.
    trial
        The small runs.
    smoke
        The tiny runs.
    """
    from audits.paper.calibration import calibrate as measure
    from audits.paper.calibration import keep_calibration
    from audits.paper.estimate import estimated
    from audits.paper.here import prepare
    from audits.paper.selection import select
    from audits.paper.terminal import show_estimates

    specs = select(names, seeds, _kind(trial=trial, smoke=smoke))
    prepare()
    if calibrate:
        for spec in specs:
            keep_calibration(measure(spec, seconds=seconds), out)
    show_estimates([estimated(spec, out) for spec in specs])
    return 0


@app.command
def status(
    *names: str,
    out: Path = DEFAULT_OUT,
    every: Annotated[bool, Parameter(name="--all", negative=())] = False,
    trial: Flag = False,
    smoke: Flag = False,
    json: Flag = False,
) -> int:
    """Show how far the runs are, how fast, and how long they will take.

    Parameters
    ----------
    names
        Of runs or agents; by default all that have been started or submitted.
    out
        The folder of the runs.
    every
        Those that nobody has started, too.
    trial
        The small runs.
    smoke
        The tiny runs.
    json
        Print JSON lines instead of a table.
    """
    import msgspec

    from audits.paper.queues import alive
    from audits.paper.registry import find
    from audits.paper.status import in_order, status_of
    from audits.paper.terminal import show_status

    found = in_order(
        [status_of(spec, out, alive) for spec in find(names, _kind(trial=trial, smoke=smoke))]
    )
    if not (every or names):
        found = [status for status in found if status.state != "not started"]
    if json:
        for line in found:
            print(msgspec.json.encode(line).decode())
    elif found:
        show_status(found)
    else:
        print(f"no run has been started in {out}")
    return 0


@app.command
def report(
    *,
    runs: Path = DEFAULT_OUT,
    out: Path | None = None,
    agent: Annotated[
        tuple[Literal["dreamerv3", "tdmpc2"], ...], Parameter(consume_multiple=True, negative=())
    ] = ("dreamerv3", "tdmpc2"),
    strict: Flag = False,
    json: Flag = False,
) -> int:
    """Judge the runs so far, and write the report.

    The exit status is 1 if the verdict is FAIL.

    Parameters
    ----------
    runs
        The folder of the runs.
    out
        Where to write report.md, summary.json and the pictures; beside the runs by default.
    agent
        Judge the runs of these agents only.
    strict
        INCOMPLETE fails too.
    json
        Print the summary as JSON instead of the verdict.
    """
    from audits.paper.documents import reason, write_all
    from audits.paper.terminal import conclude
    from audits.paper.validation import validate

    summary = validate(runs, agent)
    written = write_all(summary, out or runs)
    return conclude(summary, reason(summary), written, strict=strict, as_json=json)


def _kind(*, trial: bool, smoke: bool) -> Kind:
    if trial and smoke:
        from audits.paper.errors import PaperError

        raise PaperError("--trial and --smoke name different runs; give one of them")
    return "trial" if trial else "smoke" if smoke else "protocol"
