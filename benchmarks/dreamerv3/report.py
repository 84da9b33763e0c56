"""A run of the benchmark as tables: on the terminal, in Markdown, and as JSON."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterator

from rich.console import Console
from rich.table import Table

from benchmarks.dreamerv3.measure import Report
from benchmarks.dreamerv3.problems import CASES

Row = tuple[str, ...]


def as_json(report: Report) -> str:
    """Every number, unrounded."""
    return json.dumps(dataclasses.asdict(report), indent=2) + "\n"


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
    console.print(circumstances(report), highlight=False)


def markdown(report: Report) -> str:
    """The tables as Markdown, with the circumstances below."""
    parts = []
    for title, (header, *rows) in tables(report):
        lines = [_line(header), _line(("---", *["---:"] * (len(header) - 1))), *map(_line, rows)]
        parts += [f"**{title}**", "\n".join(lines)]
    return "\n\n".join([*parts, circumstances(report)]) + "\n"


def circumstances(report: Report) -> str:
    """One paragraph: machine, load, versions."""
    before, after = report.before, report.after or report.before
    versions = ", ".join(f"{name} {version}" for name, version in before["packages"].items())
    theirs = next((s.their_packages for s in report.steps.values() if s.their_packages), {})
    beside = "; " + ", ".join(f"{k} {v}" for k, v in theirs.items()) + " under the reference"
    return (
        f"{before['time']}, {before['cores']} cores of {before['processor']}, load average "
        f"{before['load'][0]} before and {after['load'][0]} after. The core in {report.dtype} "
        f"with {versions}{beside if theirs else ''} ({report.reference}). Medians of rounds "
        f"in which both sides take turns."
    )


def _line(cells: Row) -> str:
    return f"| {' | '.join(cells)} |"


def _side_by_side(report: Report) -> Iterator[Row]:
    yield "", "core", "cores busy", "reference", "cores busy", "times as fast", "in CPU time"
    for steps in report.steps.values():
        for what, compared in (("update", steps.update), ("acting, 16 rows", steps.act)):
            ours, theirs = compared.ours, compared.theirs
            yield (
                f"{CASES[steps.case].name}, {what}",
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
    for steps in report.steps.values():
        sides = (("core", steps.update.ours), ("reference", steps.update.theirs))
        for side, seconds in sides:
            if seconds:
                speed = steps.gflop / seconds.wall
                shares = (f"{100 * speed / report.peaks[n]:.0f} %" for n in cores)
                name = f"{CASES[steps.case].name}, {side}"
                yield name, f"{steps.gflop:.1f}", f"{speed:.0f}", *shares


def _programs(report: Report) -> Iterator[Row]:
    yield "", "compile", "from start", "replay row", "rows/s", "updates/s", "cores busy"
    for name, answers in report.programs.items():
        for what, answer in answers.items():
            yield (
                f"{CASES[name].name}, {what}",
                f"{answer.compile_seconds:.1f} s",
                f"{answer.start_seconds:.1f} s",
                f"{answer.row_bytes:,.0f} B",
                _number(answer.rows_per_second),
                _number(answer.updates_per_second),
                _number(answer.cores),
            )
    for steps in report.steps.values():
        theirs = "–" if steps.compile_theirs is None else f"{steps.compile_theirs:.1f} s"
        ours = f"{steps.compile_ours:.1f} s"
        blank = ("", "", "", "", "")
        yield f"{CASES[steps.case].name}, the update alone, core, cold", ours, *blank
        yield f"{CASES[steps.case].name}, the update alone, reference, cached", theirs, *blank


def _time(seconds: float) -> str:
    return f"{seconds:.3f} s" if seconds >= 0.1 else f"{1e3 * seconds:.2f} ms"


def _number(value: float | None) -> str:
    return "–" if value is None or math.isnan(value) else f"{value:.2f}"
