"""A run of a benchmark as tables: on the terminal, in Markdown, and as JSON."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.program import Answer
from benchmarks.sides import Steps
from benchmarks.timing import circumstances

Row = tuple[str, ...]


@dataclasses.dataclass
class Report:
    """Everything that one run of a benchmark has measured.

    Attributes:
        agent: What is timed; names the files.
        reference: The pin that the reference is.
        dtype: What the core computed in.
        before: Circumstances at the start.
        after: Circumstances at the end.
        peaks: GFLOP/s by number of cores, the better of the measurements before and after.
        steps: By case.
        programs: By case, then by what was asked.
    """

    agent: str
    reference: str
    dtype: str = "float32"
    before: Any = dataclasses.field(default_factory=circumstances)
    after: Any = None
    peaks: dict[int, float] = dataclasses.field(default_factory=dict)
    steps: list[Steps] = dataclasses.field(default_factory=list)
    programs: dict[str, dict[str, Answer]] = dataclasses.field(default_factory=dict)

    def add_peaks(self, measured: dict[int, float]) -> None:
        """Keeps the better one of each number of cores."""
        self.peaks = {n: max(value, self.peaks.get(n, 0)) for n, value in measured.items()}


def write(report: Report, folder: Path) -> None:
    """Writes the report's .json and .md."""
    folder.mkdir(parents=True, exist_ok=True)
    numbers = json.dumps(dataclasses.asdict(report), indent=2) + "\n"
    (folder / f"{report.agent}.json").write_text(numbers, encoding="utf-8")
    (folder / f"{report.agent}.md").write_text(markdown(report), encoding="utf-8")


def tables(report: Report) -> Iterator[tuple[str, list[Row]]]:
    """The title and the rows of each table, the header first."""
    if report.steps:
        yield "Side by side", list(_side_by_side(report))
    if report.peaks:
        yield "Share of the sgemm peak", list(_shares(report))
    if report.programs:
        yield "The training program", list(_programs(report))


def show(report: Report, console: Console) -> None:
    """Prints the tables."""
    for title, (header, *rows) in tables(report):
        table = Table(*header, title=title, title_justify="left")
        for row in rows:
            table.add_row(*row)
        console.print(table)
    console.print(_circumstances(report), highlight=False)


def markdown(report: Report) -> str:
    """The tables as Markdown, with the circumstances below."""
    parts = []
    for title, (header, *rows) in tables(report):
        lines = [_line(header), _line(("---", *["---:"] * (len(header) - 1))), *map(_line, rows)]
        parts += [f"**{title}**", "\n".join(lines)]
    return "\n\n".join([*parts, _circumstances(report)]) + "\n"


def _circumstances(report: Report) -> str:
    """One paragraph: machine, load, versions."""
    before, after = report.before, report.after or report.before
    versions = ", ".join(f"{name} {version}" for name, version in before["packages"].items())
    theirs = next((s.their_packages for s in report.steps if s.their_packages), {})
    beside = "; " + ", ".join(f"{k} {v}" for k, v in theirs.items()) + " under the reference"
    notes = "".join(f" {note}" for note in dict.fromkeys(s.note for s in report.steps) if note)
    return (
        f"{before['time']}, {before['cores']} cores of {before['processor']}, load average "
        f"{before['load'][0]} before and {after['load'][0]} after. The core in {report.dtype} "
        f"with {versions}{beside if theirs else ''} ({report.reference}). Medians of rounds "
        f"in which both sides take turns.{notes}"
    )


def _line(cells: Row) -> str:
    return f"| {' | '.join(cells)} |"


def _side_by_side(report: Report) -> Iterator[Row]:
    yield "", "core", "cores busy", "reference", "cores busy", "times as fast", "in CPU time"
    for steps in report.steps:
        for compared in steps.compared:
            ours, theirs = compared.ours, compared.theirs
            yield (
                f"{steps.case}, {compared.name}",
                _time(ours.wall),
                f"{ours.cores:.2f}",
                _time(theirs.wall) if theirs else "–",
                f"{theirs.cores:.2f}" if theirs else "–",
                _number(compared.speedup),
                _number(compared.cpu_speedup),
            )


def _shares(report: Report) -> Iterator[Row]:
    cores = sorted(report.peaks)
    yield "", "GFLOP", "GFLOP/s", *(f"of {n} core{'s' * (n > 1)}" for n in cores)
    for n in cores:
        yield f"peak, {n} core{'s' * (n > 1)}", "", f"{report.peaks[n]:.0f}", *[""] * len(cores)
    for steps in report.steps:
        for compared in steps.compared:
            for side, seconds in (("core", compared.ours), ("reference", compared.theirs)):
                if seconds and compared.gflop:
                    speed = compared.gflop / seconds.wall
                    shares = (f"{100 * speed / report.peaks[n]:.0f} %" for n in cores)
                    name = f"{steps.case}, {compared.name}, {side}"
                    yield name, f"{compared.gflop:.1f}", f"{speed:.0f}", *shares


def _programs(report: Report) -> Iterator[Row]:
    yield "", "compile", "from start", "replay row", "rows/s", "updates/s", "cores busy"
    for name, answers in report.programs.items():
        for what, answer in answers.items():
            yield (
                f"{name}, {what}",
                f"{answer.compile_seconds:.1f} s",
                f"{answer.start_seconds:.1f} s",
                f"{answer.row_bytes:,.0f} B",
                _number(answer.rows_per_second),
                _number(answer.updates_per_second),
                _number(answer.cores),
            )
    blank = ("", "", "", "", "")
    for steps in report.steps:
        ours = f"{steps.compile_ours:.1f} s"
        yield f"{steps.case}, the update alone, core, cold", ours, *blank
        if steps.compile_theirs is not None:
            theirs = f"{steps.compile_theirs:.1f} s"
            yield f"{steps.case}, the update alone, reference, cached", theirs, *blank


def _time(seconds: float) -> str:
    return f"{seconds:.3f} s" if seconds >= 0.1 else f"{1e3 * seconds:.2f} ms"


def _number(value: float | None) -> str:
    return "–" if value is None or math.isnan(value) else f"{value:.2f}"
