"""Measures the claims of entries for one subject, and writes down what came of it."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from parity.claims import AtMost, BitIdentical, Verdict
from parity.implementations import Implementation
from parity.outcome import Outcome, RunError, drawn, outcome
from parity.provenance import of as provenance_of
from parity.registry import Claim, Entry
from reports.records import (
    SCHEMA_VERSION,
    ClaimRecord,
    EntryRecord,
    Provenance,
    SourceName,
    StatedFigure,
    number,
)

__all__ = ["Outcome", "Progress", "References", "RunError", "outcome", "record_claim", "run"]

References = Callable[[str], Implementation]
Progress = Callable[[int, int, str], None]
Broken = Callable[[Entry, Claim, str | None, Outcome], None]

_CORE = re.compile(r"\b[Tt]he core\b")


def unheard(entry: Entry, claim: Claim, pin: str | None, found: Outcome) -> None:
    """Is told of what is broken, and does nothing."""


def run(
    entries: Iterable[Entry],
    subject: Implementation,
    references: References,
    *,
    source: SourceName = "recorded",
    pins: Sequence[str] = (),
    provenance: Provenance | None = None,
    progress: Progress = lambda done, total, label: None,
    finished: Callable[[EntryRecord], None] = lambda record: None,
    broken: Broken = unheard,
) -> list[EntryRecord]:
    """Measures every claim of the entries at every pin.

    Args:
        entries: What to measure.
        subject: The implementation under audit.
        references: The reference at a pin.
        source: Where the references' answers come from.
        pins: Measure at these only; none means all pins of each entry. Claims about the
            subject alone are measured once, whatever the pins.
        provenance: What to write down as the place of the measurement; by default this process.
        progress: Is told (claims done, claims in all, the next claim).
        finished: Is given each record as soon as it is complete, and, where the run is cut
            short within an entry, what there is of that entry.
        broken: Is given every claim that is broken, with what came of it.

    Raises:
        RunError: A claim itself failed, or a reference gave no proper answer.
        HarnessError: A reference could not be asked.
    """
    provenance = provenance or provenance_of(subject)
    plan = [(entry, places(entry, pins)) for entry in entries]
    total, done, records = sum(len(measured) for _, measured in plan), 0, []
    for entry, measured in plan:
        if pins and not measured:
            continue  # it holds for other pins
        claims: list[ClaimRecord] = []
        try:
            for claim, pin in measured:
                progress(done, total, f"{entry.id}/{claim.id}" + (f" at {pin}" if pin else ""))
                claims.append(record_claim(entry, claim, pin, subject, references, source, broken))
                done += 1
        except BaseException:
            if claims:
                finished(_entry_record(entry, claims, provenance))
            raise
        records.append(_entry_record(entry, claims, provenance))
        finished(records[-1])
    progress(total, total, "")
    return records


def record_claim(
    entry: Entry,
    claim: Claim,
    pin: str | None,
    subject: Implementation,
    references: References,
    source: SourceName,
    broken: Broken = unheard,
) -> ClaimRecord:
    """Measures one claim at one pin, on the cases that it draws itself.

    Raises:
        RunError: The claim itself failed, or the reference gave no proper answer.
        HarnessError: The reference could not be asked.
    """
    started = time.perf_counter()
    record = ClaimRecord(
        claim=claim.id,
        statement=spoken_of(subject, claim),
        about=claim.about,
        pin=pin,
        source=source if pin else "none",
        tolerance=claim.tolerance.stated(),
        bound=_bound(claim),
        reason=claim.reason,
        stated=StatedFigure(claim.stated.text, None) if claim.stated else None,
        verdict="NOT MEASURED",
        why="not measured yet",
        unit=claim.tolerance.unit,
        operations=claim.operations,
    )
    if claim.about != "subject" and pin is None:
        return _replace(record, why=f"{entry.id} names no pin at which to ask a reference")
    reference = references(pin) if pin else None
    found = outcome(entry, claim, subject, reference, drawn(entry, claim))
    if found.verdict is Verdict.BROKEN:
        broken(entry, claim, pin, found)
    seconds = round(time.perf_counter() - started, 4)
    return _replace(record, **found.fields(claim), seconds=seconds)


def spoken_of(subject: Implementation, claim: Claim) -> str:
    """The claim's sentence about this subject: a port is not called the core."""
    if subject.is_core or claim.core_only:
        return claim.statement
    return _CORE.sub(lambda _: subject.name, claim.statement)


def places(entry: Entry, pins: Sequence[str] = ()) -> list[tuple[Claim, str | None]]:
    """The claims of an entry, each at every pin at which it is measured.

    Args:
        entry: Whose.
        pins: At these only; none means all. Claims about the subject alone have the pin None.
    """
    found: list[tuple[Claim, str | None]] = []
    for claim in entry.claims:
        if claim.about == "subject" or not entry.pins:
            found.append((claim, None))
        else:
            chosen = entry.pins_of(claim)
            found.extend((claim, pin) for pin in chosen if not pins or pin in pins)
    return found


def _entry_record(
    entry: Entry, claims: Sequence[ClaimRecord], provenance: Provenance
) -> EntryRecord:
    return EntryRecord(
        schema_version=SCHEMA_VERSION,
        entry=entry.id,
        provenance=provenance,
        claims=tuple(claims),
    )


def _bound(claim: Claim):
    if isinstance(claim.tolerance, AtMost):
        return number(claim.tolerance.bound)
    return number(0) if isinstance(claim.tolerance, BitIdentical) else None


def _replace(record: ClaimRecord, **fields: Any) -> ClaimRecord:
    return msgspec.structs.replace(record, **fields)
