"""What `audit paper` prints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from rich.console import Console
from rich.table import Table

from audits.paper.registry import RunSpec

_WIDE = 160


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
