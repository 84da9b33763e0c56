"""Measures the claims of entries for one subject, and writes down what came of it."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from parity import worst_input
from parity.claims import AtMost, BitIdentical, Measurement, Verdict
from parity.implementations import CannotMeasureError, Implementation
from parity.operations import Inputs
from parity.provenance import of as provenance_of
from parity.registry import Claim, Entry
from parity.sides import (
    ReferenceAnswerError,
    ReferenceSide,
    SubjectAnswerError,
    SubjectSide,
    Unasked,
)
from reference_harness.errors import HarnessError
from reports.records import (
    SCHEMA_VERSION,
    ClaimRecord,
    EntryRecord,
    Provenance,
    SourceName,
    StatedFigure,
    number,
)

References = Callable[[str], Implementation]
Progress = Callable[[int, int, str], None]


class RunError(Exception):
    """The claims could not be measured, through no behaviour of the subject."""


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

    Raises:
        RunError: A claim itself failed, or a reference gave no proper answer.
        HarnessError: A reference could not be asked.
    """
    provenance = provenance or provenance_of(subject)
    plan = [(entry, _places(entry, pins)) for entry in entries]
    total, done, records = sum(len(places) for _, places in plan), 0, []
    for entry, places in plan:
        if pins and not places:
            continue  # it holds for other pins
        claims: list[ClaimRecord] = []
        try:
            for claim, pin in places:
                progress(done, total, f"{entry.id}/{claim.id}" + (f" at {pin}" if pin else ""))
                claims.append(record_claim(entry, claim, pin, subject, references, source))
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
) -> ClaimRecord:
    """Measures one claim at one pin, on the cases that it draws itself.

    Raises:
        RunError: The claim itself failed, or the reference gave no proper answer.
        HarnessError: The reference could not be asked.
    """
    started = time.perf_counter()
    record = ClaimRecord(
        claim=claim.id,
        statement=claim.statement,
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
    fields = outcome(entry, claim, subject, reference, drawn(entry, claim)).fields(claim)
    return _replace(record, **fields, seconds=round(time.perf_counter() - started, 4))


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What came of one measurement.

    Attributes:
        verdict: See `Verdict`.
        measurement: None where there was no figure.
        why: Why there was none.
        asked: Where an answer failed, the inputs that it failed on.
    """

    verdict: Verdict
    measurement: Measurement | None = None
    why: str = ""
    asked: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def fields(self, claim: Claim) -> dict[str, Any]:
        """The fields of a `ClaimRecord` that depend on what was measured."""
        if self.measurement is None:
            asked = worst_input.shortened(self.asked)
            return {"verdict": self.verdict.value, "why": self.why, "worst_input": asked}
        found, stated = self.measurement, claim.stated
        return {
            "verdict": self.verdict.value,
            "why": self.why,
            "stated": StatedFigure(stated.text, stated.agrees(found)) if stated else None,
            "measured": found.text,
            "low": number(found.low),
            "high": number(found.high),
            "least": claim.tolerance.least(found),
            "margin": claim.tolerance.margin(found),
            "compared": found.compared,
            "worst_input": worst_input.shortened(found.worst_input),
            "note": found.note,
        }


def drawn(entry: Entry, claim: Claim) -> Inputs:
    """The inputs of a claim, the same in every run.

    Raises:
        RunError: They could not be drawn.
    """
    try:
        return claim.cases(entry.rng(claim))
    except Exception as error:
        raise _failed(entry, claim, error) from error


def outcome(
    entry: Entry,
    claim: Claim,
    subject: Implementation,
    reference: Implementation | None,
    inputs: Inputs,
) -> Outcome:
    """Measures a claim on these inputs.

    Args:
        entry: The claim's entry.
        claim: The claim.
        subject: The implementation under audit.
        reference: None where there is none: the claim must then be about the subject alone.
        inputs: What `claim.cases` or `claim.search` drew.

    Raises:
        RunError: The claim itself failed, or the reference gave no proper answer.
        HarnessError: The reference could not be asked.
    """
    if claim.core_only and not subject.is_core:
        return Outcome(
            Verdict.NOT_MEASURED,
            why="it is about the core's own choice; a port may follow the reference instead",
        )
    ours = Unasked("subject") if claim.about == "reference" else SubjectSide(subject)
    theirs: Implementation = Unasked("reference")
    if claim.about != "subject" and reference is not None:
        theirs = ReferenceSide(reference)
    try:
        found = claim.measure(ours, theirs, inputs)
        verdict = claim.tolerance.judge(found)
    except CannotMeasureError as error:
        return Outcome(Verdict.NOT_MEASURED, why=str(error) or "no reason was given")
    except SubjectAnswerError as error:
        return Outcome(Verdict.BROKEN, why=str(error), asked=error.inputs)
    except ReferenceAnswerError as error:
        raise RunError(
            f"{entry.id}/{claim.id} could not be measured: {error}; the reference's harness or "
            f"its recording is at fault, not the subject"
        ) from error
    except HarnessError:
        raise
    except Exception as error:
        raise _failed(entry, claim, error) from error
    return Outcome(verdict, found, "" if found.compared else "nothing was compared")


def _places(entry: Entry, pins: Sequence[str]) -> list[tuple[Claim, str | None]]:
    chosen = [pin for pin in entry.pins if not pins or pin in pins]
    places: list[tuple[Claim, str | None]] = []
    for claim in entry.claims:
        if claim.about == "subject" or not entry.pins:
            places.append((claim, None))
        else:
            places.extend((claim, pin) for pin in chosen)
    return places


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


def _failed(entry: Entry, claim: Claim, error: Exception) -> RunError:
    return RunError(f"{entry.id}/{claim.id} failed: {type(error).__name__}: {error}")
