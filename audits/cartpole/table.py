"""The configuration table: 67 settings as data, and what both sides must have resolved."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec
from ruamel.yaml import YAML

from audits.cartpole.protocol import WIDTHS, Plan

_FILE = Path(__file__).with_name("config_table.yaml")

SIDES = ("ours", "reference")


class Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One setting; the meaning of each field is in the head of `config_table.yaml`."""

    row: int
    setting: str
    units: str
    status: Literal["EQUAL", "OVERRIDE", "UNMATCHABLE"]
    ours: dict[str, Any]
    ours_source: str
    reference: dict[str, Any]
    reference_source: str
    default: dict[str, Any] = {}
    probes: list[str] = []
    note: str = ""

    def expected(self, side: str, values: Mapping[str, Any]) -> dict[str, Any]:
        """Keys and values of a side, with the run's own values put in.

        Args:
            side: "ours" or "reference".
            values: From `values_of`.
        """
        table = self.ours if side == "ours" else self.reference
        return {
            key: values[value[1:]] if isinstance(value, str) and value.startswith("$") else value
            for key, value in table.items()
        }


@functools.cache
def rows() -> tuple[Row, ...]:
    """The table."""
    data = YAML(typ="safe", pure=True).load(_FILE.read_text("utf-8"))
    return tuple(msgspec.convert(data, list[Row]))


def values_of(plan: Plan, seed: int, logdir: object = None) -> dict[str, Any]:
    """What the placeholders of the table stand for.

    Args:
        plan: Of the runs.
        seed: Of the run.
        logdir: The reference's folder; None where any will do.
    """
    return {
        **WIDTHS[plan.size],
        "size": plan.size,
        "seed": seed,
        "steps": plan.steps,
        "record_every": plan.record_every,
        "eval_episodes": plan.eval_episodes,
        "ring_rows": plan.last_row,
        "updates": plan.settings(seed).updates_at(plan.steps),
        "logdir": ANY if logdir is None else str(logdir),
    }


class _Any:
    """Equal to every value."""

    def __repr__(self) -> str:
        return "any"


ANY = _Any()


def departures(
    row: Row, side: str, resolved: Mapping[str, Any], values: Mapping[str, Any]
) -> list[str]:
    """What a side has resolved otherwise than the row says, one phrase for each key."""
    found = []
    for key, wanted in row.expected(side, values).items():
        if key not in resolved:
            found.append(f"{key} is missing, expected {wanted!r}")
        elif not same(resolved[key], wanted):
            found.append(f"{key} is {resolved[key]!r}, expected {wanted!r}")
    return found


def same(found: Any, wanted: Any) -> bool:
    """Whether two values of a configuration mean the same; 1 and 1.0 do, 1 and True do not."""
    if wanted is ANY:
        return True
    if isinstance(found, bool) or isinstance(wanted, bool):
        return found is wanted
    if isinstance(found, int | float) and isinstance(wanted, int | float):
        return math.isclose(found, wanted, rel_tol=1e-12)
    return found == wanted


def named_keys() -> set[str]:
    """The reference's keys that a row names."""
    return {key for row in rows() for key in row.reference}
