"""What every rendering shows alike: one line per claim and outcome, and how many of each."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable
from typing import Any

import msgspec

from reports.records import ClaimRecord, EntryRecord, VerdictName

VERDICTS: tuple[VerdictName, ...] = ("HOLDS", "BROKEN", "NOT MEASURED")
NO_CLAIM = "no claim is registered yet"
NOT_RUN = "not run yet"

# Two records that differ in nothing but these say the same to a reader.
_APART: dict[str, Any] = {
    "pin": None,
    "source": "none",
    "seconds": 0.0,
    "operations": (),
    "provenance": None,
}


@dataclasses.dataclass(frozen=True)
class Line:
    """One claim with one outcome, at every pin and from every source that shares it.

    Attributes:
        entry: The entry's id.
        claim: One of the records that share the line.
        pins: Short names of the pins; empty for a claim that needs no reference.
        sources: "recorded", "live", both, or neither: what was not measured has none.
    """

    entry: str
    claim: ClaimRecord
    pins: tuple[str, ...]
    sources: tuple[str, ...]

    @property
    def contradicted(self) -> bool:
        """Whether the measurement contradicts the stated figure."""
        return self.claim.stated is not None and self.claim.stated.agrees is False

    @property
    def measured(self) -> str:
        """The measured figure; "—" where nothing was measured.

        With its unit, unless the tolerance beside it already says so.
        """
        claim = self.claim
        if not claim.measured:
            return "—"
        unit = "" if claim.tolerance.endswith(claim.unit) else f" {claim.unit}"
        return claim.measured + unit

    @property
    def margin(self) -> str:
        """How much of the tolerance is left or exceeded; "" where that means nothing."""
        margin = self.claim.margin.lstrip("-")
        if margin in ("", "—"):
            return ""
        return f"{margin} {'left' if margin == self.claim.margin else 'over'}"

    @property
    def where(self) -> str:
        """The pins and the sources: `29eb964, 2411f7d recorded`."""
        return f"{', '.join(self.pins)} {', '.join(self.sources)}".strip()


def lines_of(record: EntryRecord) -> tuple[Line, ...]:
    """The lines of one entry: claims in the record's order, equal outcomes on one line."""
    by_claim: dict[str, list[ClaimRecord]] = {}
    for claim in record.claims:
        by_claim.setdefault(claim.claim, []).append(claim)
    return tuple(
        line for claims in by_claim.values() for line in _lines_of_claim(record.entry, claims)
    )


def tally(records: Iterable[EntryRecord]) -> dict[VerdictName, int]:
    """How often each verdict occurs: a claim counts once for every pin and source.

    An entry without claims counts as NOT MEASURED.
    """
    counts = dict.fromkeys(VERDICTS, 0)
    for record in records:
        for claim in record.claims:
            counts[claim.verdict] += 1
        if not record.claims:
            counts["NOT MEASURED"] += 1
    return counts


def contradicted_figures(records: Iterable[EntryRecord]) -> tuple[str, ...]:
    """Each stated figure that the measurement contradicts, beside what was measured."""
    return tuple(
        f"{line.entry}/{line.claim.claim} states {line.claim.stated.text}, "
        f"measured {line.claim.measured} {line.claim.unit}".rstrip()
        for record in records
        for line in lines_of(record)
        if line.contradicted and line.claim.stated
    )


def short_pin(pin: str) -> str:
    """`29eb964` of `dreamerv3-29eb964`; packages, which have a version, in full."""
    tail = pin.rpartition("-")[2]
    return pin if "." in tail else tail


def visible(text: str) -> str:
    """The text with control characters spelled out.

    A terminal would obey them, and XML can not hold them.
    """
    return _CONTROL.sub(lambda found: _escape(found[0]), text)


_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def _escape(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def _lines_of_claim(entry: str, claims: list[ClaimRecord]) -> Iterable[Line]:
    """Shares first over pins, then over sources that have the same pins."""
    by_outcome: dict[tuple[str, str], list[str]] = {}
    first: dict[str, ClaimRecord] = {}
    for claim in claims:
        outcome = _outcome(claim)
        first.setdefault(outcome, claim)
        pins = by_outcome.setdefault((outcome, claim.source), [])
        if claim.pin is not None:
            pins.append(short_pin(claim.pin))
    shared: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (outcome, source), pins in by_outcome.items():
        sources = shared.setdefault((outcome, tuple(pins)), [])
        if source != "none" and first[outcome].verdict != "NOT MEASURED":
            sources.append(source)
    for (outcome, pins), sources in shared.items():
        yield Line(entry, first[outcome], pins, tuple(sources))


def _outcome(claim: ClaimRecord) -> str:
    # Figures are equal where a reader sees the same digits; the worst input of a claim
    # that holds is nobody's concern.
    shown: dict[str, Any] = {"bound": None, "low": None, "high": None}
    if claim.verdict != "BROKEN":
        shown["worst_input"] = {}
    return repr(msgspec.structs.replace(claim, **_APART, **shown))
