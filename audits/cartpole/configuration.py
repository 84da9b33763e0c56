"""The checks of the configuration table, alone or as a part of the comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from audits.cartpole import table
from audits.cartpole.check import Check, Finding, made, not_measured
from audits.cartpole.protocol import Plan
from audits.cartpole.reference import Configuration

Resolved = tuple[str, int, Mapping[str, Any]]  # what messages begin with, seed, configuration


def configuration_checks(plan: Plan, side: str, resolved: Sequence[Resolved]) -> list[Check]:
    """One check for every row of the table that names keys of a side.

    Args:
        plan: Of the comparison.
        side: "ours" or "reference".
        resolved: What it resolved, for every seed that is looked at.
    """
    found = []
    for row in table.rows():
        if row.ours if side == "ours" else row.reference:
            says = f"{row.setting}: as row {row.row} of the configuration table says"
            found.append(made(f"config/{row.row}/{side}", says, _row(plan, side, row, resolved)))
    return found


def default_checks(
    configuration: Configuration | None, recorded: Sequence[tuple[str, str | None]] = ()
) -> list[Check]:
    """What the keys that the table names do not show.

    Args:
        configuration: Of the installed reference; None if it is not installed.
        recorded: For every recorded run, what messages begin with, and which other keys
            departed from their defaults when it was recorded ("" for none, None if nobody
            looked).
    """
    rest = "no other key of the reference's configuration departs from its default"
    defaults = "the reference's defaults are what the configuration table says"
    why = "the reference is not installed"
    looked = [(label, found) for label, found in recorded if found is not None]
    if configuration is not None:
        looked.append(("", configuration.strangers()))
    if looked:
        problems = [label + found for label, found in looked if found]
        first = made("config/rest/reference", rest, problems)
    else:
        first = not_measured("config/rest/reference", rest, why)
    if configuration is None:
        return [first, not_measured("config/defaults/reference", defaults, why)]
    wrong = [text for row in table.rows() for text in configuration.wrong_defaults(row)]
    return [first, made("config/defaults/reference", defaults, wrong)]


def _row(plan: Plan, side: str, row: table.Row, resolved: Sequence[Resolved]) -> Finding:
    for label, seed, config in resolved:
        for problem in table.departures(row, side, config, table.values_of(plan, seed)):
            yield label + problem
