"""What a comparison writes: `summary.json`, `compare.md`, `config_table.md`, `curves.png`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from audits.cartpole import curves, stated, table, wording
from audits.cartpole.check import Check, Outcome
from audits.cartpole.comparison import Summary
from audits.cartpole.metrics import Window
from audits.cartpole.protocol import Plan
from audits.statistics import ranges
from reports.records import write_atomically
from reports.rendering import render

_PACKAGE = "audits.cartpole"

COMPARE, SUMMARY, CURVES, TABLE = "compare.md", "summary.json", "curves.png", "config_table.md"


def write_all(summary: Summary, plan: Plan, out: Path) -> list[Path]:
    """Writes every document of a comparison; the same summary gives the same bytes.

    Args:
        summary: The comparison.
        plan: Of it.
        out: The folder.

    Returns:
        What was written.
    """
    out.mkdir(parents=True, exist_ok=True)
    text = json.dumps(msgspec.to_builtins(summary), indent=1, ensure_ascii=False) + "\n"
    write_atomically(out / SUMMARY, text.encode())
    write_atomically(out / COMPARE, compare_document(summary).encode())
    write_atomically(out / TABLE, table_document(summary.checks, plan).encode())
    curves.draw(summary, out / CURVES)
    return [out / name for name in (COMPARE, SUMMARY, CURVES, TABLE)]


def compare_document(summary: Summary) -> str:
    """The report for people."""
    n = len(summary.seeds)
    return render(
        _PACKAGE,
        "compare.md.j2",
        _FILTERS,
        summary=summary,
        curves=CURVES,
        table=TABLE,
        reason=wording.reason(summary),
        counts={o.value: sum(c.outcome is o for c in summary.checks) for o in Outcome},
        not_passed=[check for check in summary.checks if check.outcome is not Outcome.PASS],
        seed_rows=wording.seed_rows(summary),
        statistic_rows=wording.statistic_rows(summary),
        curve_rows=wording.curve_rows(summary),
        provenance=wording.provenance_lines(summary),
        chance=ranges.chance_of_overlap(n, n),
        chance_within=ranges.chance_within(n, n),
        metrics=summary.windows.by_metric(),
        stated=stated.figures(summary),
    )


def table_document(checks: list[Check], plan: Plan) -> str:
    """The configuration table, with what each side resolved and how the checks came out.

    Args:
        checks: Those of the configuration, others are not looked at.
        plan: Of the runs.
    """
    outcomes = {check.id: check for check in checks}
    rows = []
    for row in table.rows():
        values = {**table.values_of(plan, plan.seeds[0]), "seed": "s", "logdir": "the run's folder"}
        found = [outcomes.get(f"config/{row.row}/{side}") for side in table.SIDES]
        rows.append(
            {
                "row": row,
                "ours": _settings(row.expected("ours", values)),
                "reference": _settings(row.expected("reference", values)),
                "default": _settings(row.default),
                "outcome": _outcome([check for check in found if check]),
            }
        )
    counts = {
        status: sum(entry["row"].status == status for entry in rows)
        for status in ("EQUAL", "OVERRIDE", "UNMATCHABLE")
    }
    return render(_PACKAGE, "config_table.md.j2", _FILTERS, rows=rows, counts=counts, plan=plan)


def _outcome(found: list[Check]) -> str:
    if not found:
        return "no key"
    bad = [check for check in found if check.outcome is Outcome.FAIL]
    return "; ".join(f"**FAIL**: {check.found}" for check in bad) or "PASS"


def _settings(values: Mapping[str, Any]) -> str:
    """`key = value` pairs; keys with one value share it."""
    by_value: dict[str, list[str]] = {}
    for key, value in values.items():
        by_value.setdefault(_literal(value), []).append(key)
    return "; ".join(f"`{'`, `'.join(keys)}` = {value}" for value, keys in by_value.items())


def _literal(value: Any) -> str:
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e6:
        return f"{value:.1f}"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _marks(windows: list[Window]) -> str:
    """One character a window: whether the ranges overlap."""
    return "".join({True: "=", False: "x", None: "?"}[window.overlap] for window in windows)


_FILTERS = {"number": wording.number, "span": wording.span, "marks": _marks}
