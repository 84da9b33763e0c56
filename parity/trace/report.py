"""A trace as text and as JSON."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from core.dreamerv3.types import Discrete
from parity.trace.compare import FACTOR, LOSS_RELATIVE, REFERENCE_FACTOR, Difference
from parity.trace.run import Trace

_ROWS = {
    "D22": "the form of the two-hot bins and of their expectation",
}

_HEADER = ("", "step", "quantity", "core", "reference", "apart", "ulp", "differ", "of allowed")


def title(trace: Trace, pin: str) -> str:
    """What was traced, in one line."""
    problem = trace.problem
    kind = "discrete" if isinstance(problem.actions, Discrete) else "continuous"
    return (
        f"{pin}, {kind} actions, {problem.dtype}, {trace.parameters:,} parameters "
        f"(and {trace.dropped} of the reference in padding columns), "
        f"B = {problem.batch}, T = {problem.length}, start: {trace.start}"
    )


def lines(trace: Trace, pin: str, *, every: bool = False) -> Iterator[str]:
    """The trace for a reader.

    Args:
        trace: To show.
        pin: The reference's.
        every: Show each leaf of the trees, not only the worst of each tree.
    """
    yield title(trace, pin)
    yield (
        f"  {trace.leaves} arrays of parameters are each other's, one to one; "
        f"{trace.nudged} of {trace.draws} categorical draws were close enough to a tie to be "
        f"moved away from it"
    )
    for row in trace.neutralised:
        yield f"  neutralised: {row}, {_ROWS[row]} (answered alike on both sides)"
    shown = trace.differences if every else _worst_leaves(trace.differences)
    yield from _table([_HEADER, *map(_cells, shown)])
    yield (
        "  core, reference: largest distance from float64, relative to the largest exact number; "
        "apart: from each other;"
    )
    yield (
        "  ulp: between the two, where the core is worst; differ: numbers whose bits differ; of "
        f"allowed: 1 is {FACTOR:g} times the reference's own distance ({LOSS_RELATIVE:g} relative "
        f"for a loss, if that is more), or {REFERENCE_FACTOR:g} times the core's for the reference"
    )
    yield from verdict(trace)


def verdict(trace: Trace) -> Iterator[str]:
    """Whether the two sides part, and if so where first."""
    first = trace.first
    numbers = sum(found.compared for found in trace.differences)
    if first is None:
        nearer = [d.nearer for d in trace.differences if d.quantity.kind != "count"]
        yield (
            f"no divergence in {numbers:,} numbers of {len(trace.differences)} arrays; nearer to "
            f"float64: the core in {nearer.count('core')}, the reference in "
            f"{nearer.count('reference')}, equal in {nearer.count('equal')}"
        )
        return
    more = sum(found.diverges for found in trace.differences) - 1
    yield f"FIRST DIVERGENCE: step {first.step + 1}, {first.quantity.name} {_index(first)}".rstrip()
    if first.problem:
        yield f"  {first.problem}"
    else:
        core, reference, exact = first.values
        yield f"  core {core:.9g}, reference {reference:.9g}, float64 {exact:.12g}"
        yield (
            f"  {first.ulp:g} ulp apart; the {first.suspect} is {first.excess:.3g} times as far "
            f"from float64 as is allowed; nearer to it: {first.nearer}"
        )
    if first.quantity.row and first.quantity.row not in trace.neutralised:
        row = first.quantity.row
        yield f"  the registered deviation {row} acts here: {_ROWS[row]} (`parity show {row}`)"
    if more:
        yield f"  {more} further arrays diverge after it"


def as_json(trace: Trace, pin: str) -> dict[str, Any]:
    """The trace for a program."""
    first = trace.first
    return {
        "pin": pin,
        "start": trace.start,
        "config": trace.problem.config.to_dict(),
        "observation_size": trace.problem.observation_size,
        "actions": repr(trace.problem.actions),
        "batch": trace.problem.batch,
        "length": trace.problem.length,
        "seed": trace.problem.seed,
        "neutralised": list(trace.neutralised),
        "parameters": trace.parameters,
        "dropped": trace.dropped,
        "nudged": trace.nudged,
        "draws": trace.draws,
        "first_divergence": first and _record(first),
        "differences": [_record(found) for found in trace.differences],
    }


def _record(found: Difference) -> dict[str, Any]:
    core, reference, exact = found.values
    return {
        "step": found.step,
        "quantity": found.quantity.name,
        "kind": found.quantity.kind,
        "row": found.quantity.row,
        "compared": found.compared,
        "different": found.different,
        "core_error": _number(found.core_error),
        "reference_error": _number(found.reference_error),
        "apart": _number(found.apart),
        "place": list(found.place),
        "core": _number(core),
        "reference": _number(reference),
        "float64": _number(exact),
        "ulp": _number(found.ulp),
        "of_allowed": _number(found.excess),
        "nearer": found.nearer,
        "suspect": found.suspect if found.diverges else None,
        "diverges": found.diverges,
        "problem": found.problem,
    }


def _number(value: float) -> float | str:
    """JSON has no infinities."""
    return value if abs(value) < float("inf") else repr(value)


def _worst_leaves(differences: Sequence[Difference]) -> list[Difference]:
    """Of every tree, the leaf that is furthest beyond or nearest to what is allowed."""
    groups = itertools.groupby(differences, key=lambda found: (found.step, found.quantity.group))
    return [max(group, key=lambda found: (found.diverges, found.excess)) for _, group in groups]


def _cells(found: Difference) -> tuple[str, ...]:
    errors = (found.core_error, found.reference_error, found.apart)
    return (
        "!" if found.diverges else "",
        str(found.step + 1),
        found.quantity.name,
        *("0" if error == 0 else f"{error:.1e}" for error in errors),
        f"{found.ulp:g}",
        f"{found.different} of {found.compared}",
        f"{found.excess:.2g}",
    )


def _index(found: Difference) -> str:
    return str(list(found.place)) if found.place else ""


def _table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [
            cell.ljust(width) if place == 2 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield ("  " + "  ".join(cells)).rstrip()
