"""The kill matrix in Markdown: which claims catch a fault, and which faults a claim catches."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

from reports.escaping import cell
from reports.kills import FaultRecord
from reports.rendering import render

REFERENCE_ALONE = "about the reference alone: no fault of the core can break it"


@dataclasses.dataclass(frozen=True)
class ClaimText:
    """A claim as the registry has it.

    Attributes:
        name: `D22/bins`.
        about: "reference", "subject" or "both".
        unbroken: Why no fault breaks it, where the registry says so.
    """

    name: str
    about: str
    unbroken: str = ""


@dataclasses.dataclass(frozen=True)
class FaultText:
    """A fault as the registry has it.

    Attributes:
        id: Its id.
        title: The mistake, in a few words.
        kind: What sort of mistake it is.
        source: Where it was seen; "" if nowhere.
        needs: What must be installed to seed it.
        caught_by: The claims that must notice it.
    """

    id: str
    title: str
    kind: str
    source: str
    needs: str = ""
    caught_by: tuple[str, ...] = ()


def kill_matrix_document(
    faults: Sequence[FaultText], claims: Sequence[ClaimText], records: Mapping[str, FaultRecord]
) -> str:
    """The document of all faults and claims.

    Args:
        faults: In the order in which they are to stand; one without a record was not seeded.
        claims: Likewise.
        records: What was measured, by fault.
    """
    # In the order of the faults, whatever order they were seeded in.
    seeded = {fault.id: records[fault.id] for fault in faults if fault.id in records}
    kills = _kills(seeded.values())
    breakable = [claim for claim in claims if claim.about != "reference"]
    return render(
        "reports",
        "kill_matrix.md.j2",
        {},
        rows=[_fault_row(fault, seeded.get(fault.id)) for fault in faults],
        reported=sum(bool(fault.source) for fault in faults),
        faults=len(faults),
        kinds=len({fault.kind for fault in faults if not fault.source}),
        seeded=len(seeded),
        killed=sum(record.killed for record in seeded.values()),
        breakable=len(breakable),
        killing=sum(claim.name in kills for claim in breakable),
        alone=len(claims) - len(breakable),
        alone_why=REFERENCE_ALONE,
        killers=[
            _claim_row(claim.name, kills[claim.name]) for claim in breakable if claim.name in kills
        ],
        idle=[
            [cell(claim.name), cell(claim.unbroken or _why_idle(claim, faults, seeded))]
            for claim in breakable
            if claim.name not in kills
        ],
        references=_by_entry(claim.name for claim in claims if claim.about == "reference"),
        tools=sorted({record.tool for record in seeded.values()}),
        first=min((record.created for record in seeded.values()), default=""),
        last=max((record.created for record in seeded.values()), default=""),
    )


def _kills(records: Iterable[FaultRecord]) -> dict[str, list[str]]:
    """The faults that each claim catches."""
    kills: dict[str, list[str]] = {}
    for record in records:
        for name in record.killers:
            kills.setdefault(name, []).append(record.fault)
    return kills


def _fault_row(fault: FaultText, record: FaultRecord | None) -> list[str]:
    if record is None:
        caught, outcome = "", "NOT MEASURED"
        outcome += f": it needs {cell(fault.needs)}" if fault.needs else ""
    else:
        must = {name.casefold() for name in record.caught_by}
        caught = _by_entry(record.killers, must)
        outcome = "killed" if record.killed else f"**{_problem(record)}**"
    return [
        cell(fault.id),
        cell(fault.title),
        cell(fault.kind),
        cell(fault.source or "ours"),
        outcome,
        caught,
    ]


def _problem(record: FaultRecord) -> str:
    if record.crashed:
        return f"not seeded: {cell(record.crashed)}"
    return f"not caught by {cell(', '.join(record.missed))}" if record.killers else "NOT CAUGHT"


def _claim_row(name: str, faults: Sequence[str]) -> list[str]:
    return [cell(name), str(len(faults)), cell(", ".join(faults))]


def _why_idle(
    claim: ClaimText, faults: Sequence[FaultText], seeded: Mapping[str, FaultRecord]
) -> str:
    """What is known of a claim that catches nothing, from what it was tried on."""
    name = claim.name.casefold()
    waiting = [
        fault.id
        for fault in faults
        if fault.id not in seeded and name in (wanted.casefold() for wanted in fault.caught_by)
    ]
    if waiting:
        return f"not seeded yet is what it must kill: {', '.join(waiting)}"
    cells = [one.claims[claim.name] for one in seeded.values() if claim.name in one.claims]
    if not cells and any(fault.id not in seeded and not fault.needs for fault in faults):
        return "none of the faults that were seeded so far answers what it asks"
    if not cells:
        return "no seeded fault answers what it asks"
    if set(cells) == {"not measured"}:
        return "not measured where the faults were seeded"
    return f"held for each of the {len(cells)} faults that it was tried on"


def _by_entry(names: Iterable[str], must: Iterable[str] = ()) -> str:
    """`D22: bins, decode; D23: kernel`, those in bold that must notice."""
    wanted, grouped = set(must), dict[str, list[str]]()
    for name in names:
        entry, _, claim = name.partition("/")
        text = cell(claim)
        grouped.setdefault(entry, []).append(f"**{text}**" if name.casefold() in wanted else text)
    return "; ".join(f"{cell(entry)}: {', '.join(found)}" for entry, found in grouped.items())
