"""Whether a row of the deviation table holds at a pin, as far as records say.

Nobody types it: it follows from what came of the claims that ask the reference there. A claim
that holds speaks for the row, unless it says that the reference does otherwise at its pins, or
the figure that the table states is contradicted: then it speaks against it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from reports.lines import short_pin
from reports.records import ClaimRecord, EntryRecord


@dataclasses.dataclass(frozen=True)
class AtPin:
    """A row at one pin.

    Attributes:
        pin: Its short name.
        outcome: "holds", "in part", "does not hold", "BROKEN" or "not measured".
        against: The claims that speak against it, or are broken.
    """

    pin: str
    outcome: str
    against: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The outcome, and the claims that speak against it."""
        but = "but for " if self.outcome == "in part" else ""
        return f"{self.outcome} ({but}{', '.join(self.against)})" if self.against else self.outcome


def at_pin(pin: str, record: EntryRecord | None, otherwise: Sequence[str] = ()) -> AtPin:
    """What the records of an entry say of it at a pin.

    Args:
        pin: Its name.
        record: Of the entry, if there is one.
        otherwise: The ids of the claims that say where the reference does otherwise.
    """
    claims = [
        claim
        for claim in (record.claims if record else ())
        if claim.pin == pin and claim.about != "subject" and claim.verdict != "NOT MEASURED"
    ]
    broken = [claim.claim for claim in claims if claim.verdict == "BROKEN"]
    against = [claim.claim for claim in claims if _against(claim, otherwise)]
    if broken:
        outcome = "BROKEN"
    elif not claims:
        outcome = "not measured"
    elif not against:
        outcome = "holds"
    else:
        outcome = "in part" if len(against) < len(claims) else "does not hold"
    return AtPin(short_pin(pin), outcome, tuple(dict.fromkeys(broken or against)))


def _against(claim: ClaimRecord, otherwise: Sequence[str]) -> bool:
    contradicted = claim.stated is not None and claim.stated.agrees is False
    return claim.claim in otherwise or contradicted


def in_short(places: Sequence[AtPin]) -> str:
    """All pins by outcome: `29eb964, 2411f7d; in part e3f0224`."""
    order = ("holds", "in part", "does not hold", "BROKEN", "not measured")
    words = {"holds": "", "does not hold": "not ", "BROKEN": "BROKEN ", "not measured": "? "}
    parts = []
    for outcome in order:
        pins = ", ".join(place.pin for place in places if place.outcome == outcome)
        if pins:
            parts.append(f"{words.get(outcome, f'{outcome} ')}{pins}")
    return "; ".join(parts) or "—"
