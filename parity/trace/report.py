"""A trace as text and as JSON."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from parity.trace.compare import FACTOR, LOSS_RELATIVE, REFERENCE_FACTOR
from parity.trace.difference import Difference
from parity.trace.run import Trace

_ROWS = {
    "D22": "the form of the two-hot bins and of their expectation",
}


def title(trace: Trace, pin: str) -> str:
    """What was traced, in one line."""
    dropped = f" (and {trace.dropped} of the reference in padding columns)" if trace.dropped else ""
    return (
        f"{pin}, {trace.problem.title}, {trace.parameters:,} parameters{dropped}, "
        f"start: {trace.start}"
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
        if trace.draws
        else f"  {trace.leaves} arrays of parameters are each other's, one to one"
    )
    for note in trace.problem.notes:
        yield f"  {note}"
    for row in trace.neutralised:
        yield f"  neutralised: {row}, {_ROWS[row]} (answered alike on both sides)"
    yield (
        f"  {trace.subject}, reference: largest distance from float64, relative to the largest "
        "exact number; apart: from each other;"
    )
    yield (
        f"  ulp: between the two, where the subject is worst; differ: numbers whose bits "
        f"differ; of allowed: 1 is {FACTOR:g} times the reference's own distance "
        f"({LOSS_RELATIVE:g} relative for a loss, if that is more), or {REFERENCE_FACTOR:g} times "
        f"the subject's for the reference"
    )
    shown = trace.differences if every else _worst_leaves(trace.differences)
    header = ("", "step", "quantity", trace.subject, "reference", "apart", "ulp", "differ")
    yield from _table([(*header, "of allowed"), *map(_cells, shown)])
    if trace.not_offered:
        yield f"  not offered by {trace.subject}: {', '.join(_groups(trace.not_offered))}"
    yield from verdict(trace)


def _groups(names: Sequence[str]) -> Iterator[str]:
    """Quantities, and of every tree how many leaves there are."""
    for group, leaves in itertools.groupby(names, key=lambda name: name.partition("/")[0]):
        count = len(list(leaves))
        yield group if group in names else f"{group} ({count} arrays)"


def verdict(trace: Trace) -> Iterator[str]:
    """Whether the two sides part, and if so where first."""
    first = trace.first
    numbers = sum(found.compared for found in trace.differences)
    if first is None:
        nearer = [d.nearer for d in trace.differences if d.quantity.kind != "count"]
        yield (
            f"no divergence in {numbers:,} numbers of {len(trace.differences)} arrays; nearer to "
            f"float64: {trace.subject} in {nearer.count('subject')}, the reference in "
            f"{nearer.count('reference')}, equal in {nearer.count('equal')}"
        )
        return
    more = sum(found.diverges for found in trace.differences) - 1
    yield f"FIRST DIVERGENCE: step {first.step + 1}, {first.quantity.name} {_index(first)}".rstrip()
    if first.problem:
        yield f"  {first.problem}"
    else:
        subject, reference, exact = first.values
        called = {"subject": trace.subject, "reference": "the reference", "equal": "equal"}
        yield f"  {trace.subject} {subject:.9g}, reference {reference:.9g}, float64 {exact:.12g}"
        yield (
            f"  {first.ulp:g} ulp apart; {called[first.suspect]} is {first.excess:.3g} times "
            f"as far from float64 as is allowed; nearer to it: {called[first.nearer]}"
        )
    row = first.quantity.row
    if row and row not in trace.neutralised:
        yield f"  the registered deviation {row} acts here: {_ROWS[row]} (`parity show {row}`)"
    elif row and trace.subject != "core":
        yield (
            f"  {row} acts here, {_ROWS[row]}: a port has to take the bins that it is given, and "
            f"their expectation as Σ (p_j − p_i)·b_j (`parity show {row}`)"
        )
    if more:
        yield f"  {more} further arrays diverge after it"


def as_json(trace: Trace, pin: str) -> dict[str, Any]:
    """The trace for a program."""
    first = trace.first
    return {
        "pin": pin,
        "start": trace.start,
        **trace.problem.as_json(),
        "neutralised": list(trace.neutralised),
        "parameters": trace.parameters,
        "dropped": trace.dropped,
        "nudged": trace.nudged,
        "draws": trace.draws,
        "subject": trace.subject,
        "not_offered": list(trace.not_offered),
        "first_divergence": first and _record(first),
        "differences": [_record(found) for found in trace.differences],
    }


def _record(found: Difference) -> dict[str, Any]:
    subject, reference, exact = found.values
    return {
        "step": found.step,
        "quantity": found.quantity.name,
        "kind": found.quantity.kind,
        "row": found.quantity.row,
        "compared": found.compared,
        "different": found.different,
        "subject_error": _number(found.subject_error),
        "reference_error": _number(found.reference_error),
        "apart": _number(found.apart),
        "place": list(found.place),
        "subject": _number(subject),
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
    errors = (found.subject_error, found.reference_error, found.apart)
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
