"""`audit multitask`: one agent of several tasks, from runs of one task each to the verdict."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import cyclopts
from cyclopts import Parameter

DEFAULT_OUT = Path("audit-results/multitask")

Flag = Annotated[bool, Parameter(negative=())]
Words = Annotated[tuple[str, ...], Parameter(consume_multiple=True, negative=())]

app = cyclopts.App(
    name="multitask",
    help="Validate TD-MPC2's training on several tasks, on data of its own: `sources`, then "
    "`dataset`, `train` and `report`, all with the same --out.",
)


@app.command
def sources(
    *tasks: str,
    out: Path = DEFAULT_OUT,
    list_: Annotated[bool, Parameter(name="--list", negative=())] = False,
    save_every: float = 900.0,
    smoke: Flag = False,
    launcher: Literal["local", "slurm"] | None = None,
    dry_run: Flag = False,
    jobs: int | None = None,
    hours: float | None = None,
    gpus: int = 1,
    cpus: int = 8,
    sbatch: Words = (),
    detach: Flag = False,
    poll: float = 60.0,
) -> int:
    """Make the runs of one task each that the dataset is pooled from, and list them.

    They are runs as those of `audit paper run`, each with all of its episodes kept. Stopped at any
    moment, the same command goes on; finished ones are left alone.

    Example: audit multitask sources walker-stand walker-walk --out runs

    Parameters
    ----------
    tasks
        All of the protocol's by default.
    out
        The folder of the validation.
    list_
        Make none: list them with their state, what they reached, and their digests.
    save_every
        Seconds between checkpoints.
    smoke
        Two tiny tasks that try the plumbing in a minute of a CPU.
    launcher
        local: jobs on this machine. slurm: in the queue. By default this process makes the
        runs, one after another.
    dry_run
        Print the jobs with what they ask for, and submit nothing.
    jobs
        At a time; one with the local launcher, any number in a queue.
    hours
        The longest that a job may take; one whose time is up goes on in another.
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
    from audits.multitask.protocol import SOURCES, protocol
    from audits.multitask.sources import SOURCE_RUNS, state_of
    from audits.multitask.terminal import show_sources

    wanted = protocol(smoke=smoke)
    specs = wanted.find(tasks)
    status = 0
    if not list_ and launcher is None and not dry_run:
        from audits.paper.here import run_here

        status = run_here(specs, out / SOURCES, save_every, SOURCE_RUNS)
    elif not list_:
        from audits.paper.cluster_command import launch, resources_of

        return launch(
            specs,
            out / SOURCES,
            launcher or "local",
            resources_of(specs, out / SOURCES, gpus=gpus, cpus=cpus, hours=hours),
            save_every=save_every,
            together=jobs if jobs is not None else int(launcher != "slurm"),
            options=sbatch,
            poll=poll,
            wait=not detach,
            dry_run=dry_run,
            kind=SOURCE_RUNS,
        )
    show_sources(
        [state_of(spec, wanted, out / SOURCES / spec.name, verify=False) for spec in specs]
    )
    return status


@app.command
def dataset(*, out: Path = DEFAULT_OUT, smoke: Flag = False) -> int:
    """Pool the episodes of all sources into one dataset.

    Every source has to be finished and exactly the registered run. The dataset appears whole or
    not at all. One that is there is compared with its sources, all bytes of them, and refused if
    one has changed.

    Parameters
    ----------
    out
        The folder of the validation.
    smoke
        Of the trial of the plumbing.
    """
    from audits.multitask.pooling import build
    from audits.multitask.protocol import protocol

    def tell(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    about, made = build(protocol(smoke=smoke), out, tell)
    print(
        f"{'made' if made else 'made before, and still that of its sources'}: {about.digest[:12]}, "
        f"{about.rows:,} rows of {len(about.tasks)} tasks, {about.bytes:,} bytes"
    )
    return 0


@app.command
def train(
    *,
    out: Path = DEFAULT_OUT,
    save_every: float = 900.0,
    smoke: Flag = False,
    launcher: Literal["local", "slurm"] | None = None,
    dry_run: Flag = False,
    hours: float | None = None,
    gpus: int = 1,
    cpus: int = 8,
    sbatch: Words = (),
    detach: Flag = False,
    poll: float = 60.0,
) -> int:
    """Train one agent of all tasks on the dataset, and evaluate it in every task as it learns.

    Stopped at any moment, the same command goes on. A dataset whose sources have changed is
    refused, and so is a run of another specification.

    Parameters
    ----------
    out
        The folder of the validation.
    save_every
        Seconds between checkpoints.
    smoke
        Of the trial of the plumbing.
    launcher
        local or slurm: as a job, submitted again until the run is finished.
    dry_run
        Print the job with what it asks for, and submit nothing.
    hours
        The longest that a job may take; one whose time is up goes on in another.
    gpus
        Of the job.
    cpus
        Of the job.
    sbatch
        Options of sbatch, such as partition=gpu account=me.
    detach
        Submit, and do not stay to submit again what ends early; the same command does later.
    poll
        Seconds between two looks at the queue.
    """
    from audits.multitask.offline import OFFLINE_RUNS, spec_of

    spec = spec_of(out, smoke=smoke)
    if launcher is None and not dry_run:
        from audits.paper.here import run_here

        return run_here([spec], out, save_every, OFFLINE_RUNS)
    from audits.multitask.estimate import estimated
    from audits.paper.cluster_command import launch, resources_of

    return launch(
        [spec],
        out,
        launcher or "local",
        resources_of([spec], out, gpus=gpus, cpus=cpus, hours=hours, estimate_of=estimated),
        save_every=save_every,
        together=1,
        options=sbatch,
        poll=poll,
        wait=not detach,
        dry_run=dry_run,
        kind=OFFLINE_RUNS,
    )


@app.command
def status(*, out: Path = DEFAULT_OUT, smoke: Flag = False) -> int:
    """Show how far the sources, the dataset and the run on it are.

    Parameters
    ----------
    out
        The folder of the validation.
    smoke
        Of the trial of the plumbing.
    """
    from audits.multitask.protocol import SOURCES, protocol
    from audits.multitask.terminal import show_stages
    from audits.paper.queues import alive
    from audits.paper.status import in_order, status_of
    from audits.paper.terminal import show_status

    wanted = protocol(smoke=smoke)
    show_status(in_order([status_of(spec, out / SOURCES, alive) for spec in wanted.find(())]))
    show_stages(out)
    return 0


@app.command
def estimate(
    *names: str,
    out: Path = DEFAULT_OUT,
    calibrate: Flag = False,
    seconds: float = 30.0,
    smoke: Flag = False,
) -> int:
    """Compute what sources and training need: memory from shapes, time from a trial.

    Parameters
    ----------
    names
        Tasks of sources, or "offline" for the run on the dataset; by default all.
    out
        The folder of the validation, where calibrations are kept.
    calibrate
        Compile each run's program on the device that is here, and measure it.
    seconds
        How long to measure each.
    smoke
        Of the trial of the plumbing.
    """
    from audits.multitask import estimate as offline
    from audits.multitask.protocol import OFFLINE, SOURCES, protocol
    from audits.multitask.terminal import show_dataset_size
    from audits.paper.calibration import calibrate as measure
    from audits.paper.calibration import keep_calibration
    from audits.paper.estimate import estimated
    from audits.paper.here import prepare
    from audits.paper.terminal import show_estimates

    wanted = protocol(smoke=smoke)
    tasks = [name for name in names if name != OFFLINE]
    specs = wanted.find(tasks) if tasks or not names else []
    prepare()
    found = []
    for spec in specs:
        if calibrate:
            keep_calibration(measure(spec, seconds=seconds), out / SOURCES)
        found.append(estimated(spec, out / SOURCES))
    if OFFLINE in names or not names:
        spec = offline.assumed(wanted)
        if calibrate:
            keep_calibration(offline.calibrate(spec, out, wanted, seconds=seconds), out)
        found.append(offline.estimated(spec, out, wanted))
    show_estimates(found)
    if OFFLINE in names or not names:
        show_dataset_size(found[-1].memory)
    return 0


@app.command
def report(
    *,
    out: Path = DEFAULT_OUT,
    strict: Flag = False,
    json: Flag = False,
    smoke: Flag = False,
) -> int:
    """Judge the run on the dataset against its sources, and write the report.

    The exit status is 1 if the verdict is FAIL.

    Parameters
    ----------
    out
        The folder of the validation, where report.md, summary.json and tasks.png are written.
    strict
        INCOMPLETE fails too.
    json
        Print the summary as JSON instead of the verdict.
    smoke
        Of the trial of the plumbing.
    """
    from audits.multitask.documents import reason, write_all
    from audits.multitask.validation import validate
    from audits.paper.terminal import conclude

    summary = validate(out, smoke=smoke)
    written = write_all(summary, out)
    remarks = [f"changed since the dataset was made: {told}" for told in summary.changed]
    return conclude(summary, reason(summary), written, remarks, strict=strict, as_json=json)
