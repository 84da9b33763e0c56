"""A comparison on the terminal: the figures that decide, and where the rest is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from audits.cartpole import wording
from audits.cartpole.check import Outcome
from audits.cartpole.comparison import Summary

_STYLES = {"PASS": "green", "FAIL": "bold red", "INCONCLUSIVE": "yellow"}


def show(summary: Summary, written: Sequence[Path], console: Console | None = None) -> None:
    """Prints a comparison.

    Args:
        summary: The comparison.
        written: The documents that hold all of it.
        console: Where; standard output by default.
    """
    console = console or Console(highlight=False)
    table = Table(box=None, pad_edge=False)
    for title in ("", "S1 ours", "S1 reference", "S2 ours", "S2 reference"):
        table.add_column(title, justify="right" if title else "left")
    for row in wording.seed_rows(summary):
        table.add_row(*row)
    console.print(table)
    conclusions = Table(box=None, pad_edge=False)
    for title in ("", "S1", "S2"):
        conclusions.add_column(title, justify="right" if title else "left")
    for row in wording.statistic_rows(summary):
        conclusions.add_row(*(cell.replace("**", "") for cell in row))
    console.print()
    console.print(conclusions)
    w = summary.windows
    console.print(
        f"\ntraining metrics: {w.overlapping:,} of {w.compared:,} windows overlap, "
        f"{w.expected:,.0f} of two identical programs would (p = {wording.number(w.p_value, 2)})"
    )
    counts = {o: sum(check.outcome is o for check in summary.checks) for o in Outcome}
    console.print("checks: " + ", ".join(f"{n} {outcome.value}" for outcome, n in counts.items()))
    for check in summary.checks:
        if check.outcome is not Outcome.PASS:
            text = f"  {check.outcome.value} {check.id}: {check.found}"
            console.print(text, markup=False, soft_wrap=True)
    verdict = summary.verdict.value
    console.print(f"\n[{_STYLES[verdict]}]{verdict}[/]: {wording.reason(summary)}", soft_wrap=True)
    console.print("written: " + ", ".join(map(str, written)), markup=False, soft_wrap=True)
