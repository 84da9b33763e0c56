"""What `audit paper` prints."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, Protocol

from rich.console import Console
from rich.table import Table

from audits.paper.estimate import Estimate
from audits.paper.judgement import Verdict
from audits.paper.kinds import AnySpec, Kind
from audits.paper.registry import RunSpec
from audits.paper.status import RunStatus
from audits.paper.submission import Resources
from audits.paper.training import newest_checkpoint
from audits.paper.validation import OffProtocol

_WIDE = 10_000  # characters: no line is broken


class Judged(Protocol):
    """What is read of a summary."""

    @property
    def verdict(self) -> Verdict:
        """Over everything."""
        ...

    @property
    def off_protocol(self) -> Sequence[OffProtocol]:
        """Runs that were not judged."""
        ...


def show_runs(specs: Sequence[RunSpec]) -> None:
    """The registered runs, one line each."""
    table = make_table(
        run="left",
        environment="left",
        seeds="right",
        environment_steps="right",
        records="right",
        metric="left",
    )
    for spec in specs:
        table.add_row(
            spec.name,
            spec.environment,
            str(len(spec.seeds)),
            f"{spec.budget:,}",
            str(len(spec.records)),
            spec.metric,
        )
    show(table)


def show_status(found: Sequence[RunStatus]) -> None:
    """How far runs are, one line each, and all of them together."""
    table = make_table(
        run="left",
        state="left",
        environment_steps="right",
        done="right",
        per_second="right",
        left="right",
        score="right",
        where="left",
    )
    for status in found:
        table.add_row(
            status.run,
            status.state,
            f"{status.env_steps:,}",
            f"{status.env_steps / status.budget:.0%}",
            "–" if status.speed is None else f"{status.speed:,.1f}",
            duration(status.left),
            "–" if status.score is None else f"{status.score:,.1f}",
            status.remark or status.where,
        )
    show(table)
    done = sum(status.env_steps for status in found)
    budget = sum(status.budget for status in found)
    finished = sum(status.state == "finished" for status in found)
    running = [status for status in found if status.state == "running"]
    # Of one that has not come far enough nobody knows yet.
    left = [status.left for status in running if status.left is not None]
    known = bool(running) and len(left) == len(running)
    print(
        f"{finished} of {len(found)} finished, {len(running)} running; {done:,} of {budget:,} "
        f"environment steps ({done / max(budget, 1):.0%})"
        + (f"; the slowest running one ends in {duration(max(left))}" if known else "")
    )


def show_jobs(
    specs: Sequence[AnySpec], out: Path, resources: Mapping[str, Resources], kind: Kind
) -> None:
    """The jobs that would be submitted, one line each."""
    table = make_table(
        job="left",
        begins_at="right",
        GPUs="right",
        cores="right",
        memory_GB="right",
        hours="right",
        folder="left",
    )
    for spec in specs:
        asked = resources[spec.name]
        table.add_row(
            spec.name,
            f"{kind.reached(spec, newest_checkpoint(out / spec.name)):,}",
            str(asked.gpus),
            str(asked.cpus),
            str(asked.memory_gb),
            f"{asked.hours:,.1f}",
            str(out / spec.name),
        )
    show(table)


def show_estimates(found: Sequence[Estimate]) -> None:
    """What runs need, one line each: `compiled` is what `working` has really become."""
    table = make_table(
        run="left",
        seeds="right",
        replay_GB="right",
        learner_GB="right",
        working_GB="right",
        compiled_GB="right",
        device_GB="right",
        host_GB="right",
        disk_GB="right",
        time="right",
        measured_on="left",
    )
    for estimate in found:
        memory, calibration = estimate.memory, estimate.calibration
        bytes_ = (
            memory.seeds * memory.replay + memory.constant,
            memory.seeds * (memory.learner + memory.other),
            memory.seeds * memory.working,
            calibration.temporary if calibration else None,
            memory.device,
            memory.host,
            memory.disk,
        )
        table.add_row(
            estimate.run,
            str(memory.seeds),
            *("–" if value is None else f"{value / 1e9:,.3g}" for value in bytes_),
            duration(calibration.seconds if calibration else None),
            calibration.device if calibration else "nothing: --calibrate",
        )
    show(table)
    hours = [estimate.hours for estimate in found if estimate.hours is not None]
    if len(hours) == len(found) > 1:
        print(f"one after another: {duration(3600 * sum(hours))}")


def conclude(
    summary: Judged,
    reason: str,
    written: Sequence[Path],
    remarks: Sequence[str] = (),
    *,
    strict: bool,
    as_json: bool,
) -> int:
    """Prints a verdict and where its report is, and gives the exit status.

    Args:
        summary: What was judged.
        reason: Why it is so, in a few words.
        written: The report's files, the summary second.
        remarks: What else must be known.
        strict: INCOMPLETE fails too.
        as_json: Print the summary instead.
    """
    if as_json:
        print(written[1].read_text("utf-8"), end="")
    else:
        print(f"{summary.verdict.value}: {reason}")
        for remark in remarks:
            print(remark)
        for off in summary.off_protocol:
            print(f"off protocol: {off.run}: {'; '.join(off.why)}")
        for path in written:
            print(path, file=sys.stderr)
    failing = {Verdict.FAIL, Verdict.INCOMPLETE} if strict else {Verdict.FAIL}
    return int(summary.verdict in failing)


def duration(seconds: float | None) -> str:
    """Seconds as days, hours and minutes."""
    if seconds is None:
        return "–"
    minutes = round(seconds / 60)
    days, hours = minutes // 1440, minutes // 60 % 24
    if days:
        return f"{days} d {hours:02} h"
    return f"{hours} h {minutes % 60:02} min" if hours else f"{minutes} min"


def make_table(**columns: Literal["left", "right"]) -> Table:
    """An empty table without lines; names of columns, and where they are set to."""
    table = Table(box=None, pad_edge=False)
    for name, justify in columns.items():
        table.add_column(name.replace("_", " "), justify=justify, no_wrap=True)
    return table


def show(table: Table) -> None:
    """Prints a table: as wide as the terminal, or as it needs to be in a file or a pipe."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=_WIDE)
    console.print(table)
