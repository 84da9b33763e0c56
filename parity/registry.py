"""Entries of the registry: deviations and agreements, each with its claims.

The registry knows no row by name. It finds them through the entry-point group
`world_model_parity.entries`, under which any installed distribution may add its own.
"""

from __future__ import annotations

import dataclasses
import difflib
import importlib.metadata
import zlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

import numpy as np

from parity.claims import Measurement, Stated, Tolerance
from parity.implementations import Implementation
from parity.operations import Inputs, catalogue

ENTRY_GROUP = "world_model_parity.entries"
PROJECT = "world-model-parity"

_WAYS_OUT = {
    "entry": "; `parity list` has all",
    "operation": "; `parity list --operations` has all",
    "fault": "; reports/kill_matrix.md has all",
}

About = Literal["reference", "subject", "both"]
Status = Literal["intended", "reference bug", "paper versus code", "subject bug"]


class UnknownIdError(LookupError):
    """No entry or claim has this id; the message suggests the nearest."""


class RegistrationError(Exception):
    """What a distribution registers can not be loaded; the message names it."""


@dataclasses.dataclass(frozen=True)
class Claim:
    """One executable sentence.

    Attributes:
        id: Unique within its entry.
        statement: The sentence.
        tolerance: What the measurement must satisfy.
        reason: Why that tolerance and no other.
        operations: The operations that are asked.
        cases: Draws the inputs. The generator is seeded from the claim's own name, so the
            same claim always asks the same questions, and a recording can answer them.
        measure: From (subject, reference, inputs) to a measurement, in the tolerance's unit.
        about: Whose behaviour the sentence is about. A claim about the subject alone needs
            no reference; one about the reference alone says nothing about the subject.
        core_only: The sentence is about what the core chose where it departs from the
            reference, or about sharing more than a formula with it (bits, random draws).
            Another port may rightly do otherwise, and is not asked.
        stated: The figure that the deviation table states, where it states one.
        search: A Hypothesis strategy for `cases`-like inputs, made on demand, with which
            `parity fuzz` looks for the worst input.
        pins: At which of its entry's pins it is measured; none means all.
        otherwise: It says that at its pins the reference does otherwise than the row's
            sentence: where the claim holds, the row does not.
        unbroken: Why no seeded fault breaks it, where none does.
    """

    id: str
    statement: str
    tolerance: Tolerance
    reason: str
    operations: tuple[str, ...]
    cases: Callable[[np.random.Generator], Inputs]
    measure: Callable[[Implementation, Implementation, Inputs], Measurement]
    about: About = "both"
    core_only: bool = False
    stated: Stated | None = None
    search: Callable[[], Any] | None = None
    pins: tuple[str, ...] = ()
    otherwise: bool = False
    unbroken: str = ""


@dataclasses.dataclass(frozen=True)
class Source:
    """Where a reference does what an entry says: `lines` of `file` at the pin."""

    pin: str
    file: str
    lines: str

    def __str__(self) -> str:
        return f"{self.file}:{self.lines}@{self.pin.rpartition('-')[2]}"

    @property
    def url(self) -> str:
        """The first of these lines where the reference is published; "" for an unknown pin."""
        from reference_harness.errors import HarnessError
        from reference_harness.pins import find_pin

        try:
            pin = find_pin(self.pin)
        except HarnessError:
            return ""
        first, _, last = self.lines.partition(",")[0].strip().partition("-")
        lines = f"#L{first}-L{last}" if last else f"#L{first}"
        return f"{pin.url}/blob/{pin.commit}/{self.file}{lines}"


@dataclasses.dataclass(frozen=True)
class Entry:
    """A known difference (deviation) or a computation that must be equal (agreement).

    Attributes:
        id: `D22`, or the agreement's name.
        agent: "DreamerV3", "TD-MPC2" or "both".
        kind: "deviation" or "agreement".
        title: A few words.
        reference: What the reference does.
        subject: What the core does.
        consequence: What follows from the difference, or from the equality.
        sources: Where the reference does it, for every pin that it holds for.
        pins: The pins at which the claims are measured.
        normative: Which of the two the core follows where paper and code part.
        status: How a deviation is to be read.
        claims: May be empty: the entry is then NOT MEASURED.
        ours: A deviation that the deviation table lacks; it was found by running.
    """

    id: str
    agent: Literal["DreamerV3", "TD-MPC2", "both"]
    kind: Literal["deviation", "agreement"]
    title: str
    reference: str
    subject: str
    consequence: str
    sources: tuple[Source, ...] = ()
    pins: tuple[str, ...] = ()
    normative: Literal["paper", "code"] = "code"
    status: Status = "intended"
    claims: tuple[Claim, ...] = ()
    ours: bool = False

    def claim(self, claim_id: str) -> Claim:
        """The claim of that id; `UnknownIdError` suggests the nearest."""
        return find(claim_id, {claim.id: claim for claim in self.claims}, f"claim of {self.id}")

    def pins_of(self, claim: Claim) -> tuple[str, ...]:
        """The pins at which a claim is measured, in the entry's order."""
        return tuple(pin for pin in self.pins if not claim.pins or pin in claim.pins)

    def rng(self, claim: Claim) -> np.random.Generator:
        """The generator of a claim's cases: the same on every machine and every day."""
        return np.random.default_rng(zlib.crc32(f"{self.id}/{claim.id}".encode()))


class Registry:
    """Entries by id, in the order in which they were registered.

    Args:
        entries: All of them.
        guests: The ids of those that another distribution registered.
    """

    def __init__(self, entries: Iterable[Entry], guests: Iterable[str] = ()):
        self._entries: dict[str, Entry] = {}
        self.guests = frozenset(guests)
        for entry in entries:
            if entry.id.casefold() in self._entries:
                raise ValueError(f"two entries are called {entry.id}")
            if len({claim.id for claim in entry.claims}) != len(entry.claims):
                raise ValueError(f"two claims of {entry.id} have the same id")
            for claim in entry.claims:
                if foreign := set(claim.pins) - set(entry.pins):
                    raise ValueError(
                        f"{entry.id}/{claim.id} is measured at {', '.join(sorted(foreign))}, "
                        f"which {entry.id} does not name"
                    )
                if unknown := set(claim.operations) - set(catalogue()):
                    raise ValueError(
                        f"{entry.id}/{claim.id} names {', '.join(sorted(unknown))}, "
                        f"which no operation is called"
                    )
            self._entries[entry.id.casefold()] = entry

    def __iter__(self):
        return iter(self._entries.values())

    def __len__(self) -> int:
        return len(self._entries)

    def __getitem__(self, entry_id: str) -> Entry:
        return find(entry_id.casefold(), self._entries, "entry", shown=entry_id)

    def select(self, ids: Sequence[str] = (), kind: str | None = None) -> tuple[Entry, ...]:
        """The entries with these ids (all, if none is given), of this kind.

        Raises:
            UnknownIdError: No entry has one of the ids, or it is of another kind.
        """
        chosen = [self[i] for i in ids] if ids else list(self)
        for entry in chosen:
            if ids and kind and entry.kind != kind:
                raise UnknownIdError(f"{entry.id} is of the kind {entry.kind}, not {kind}")
        once = {entry.id: entry for entry in chosen}
        return tuple(entry for entry in once.values() if kind in (None, entry.kind))


def find(key: str, table: dict[str, Any], what: str, shown: str | None = None) -> Any:
    """`table[key]`; `UnknownIdError` says that no `what` is called that, and what is near."""
    if key in table:
        return table[key]
    near = difflib.get_close_matches(key, table, n=3, cutoff=0.6)
    names = [getattr(table[name], "id", name) for name in near]
    hint = f"; did you mean {' or '.join(names)}?" if names else _WAYS_OUT.get(what, "")
    raise UnknownIdError(f"no {what} is called {shown or key!r}{hint}")


def load_registry() -> Registry:
    """Every entry that an installed distribution registers."""
    points = importlib.metadata.entry_points(group=ENTRY_GROUP)
    # The deviations come before the agreements, whatever order the metadata has.
    ordered = sorted(points, key=lambda point: (point.name != "deviations", point.name))
    entries, guests = [], []
    for point in ordered:
        try:
            found = list(point.load())
            entries += found
            if point.dist and point.dist.name != PROJECT:
                guests += [entry.id for entry in found]
        except Exception as error:
            owner = point.dist.name if point.dist else "an unknown distribution"
            raise RegistrationError(
                f"the entries {point.value} of {owner} can not be loaded "
                f"({type(error).__name__}: {error}); mend or uninstall it"
            ) from error
    return Registry(entries, guests)
