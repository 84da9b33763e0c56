"""An entry as a document shows it: the registry's prose, and what was measured."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Literal

from reports.escaping import cell
from reports.holding import AtPin, at_pin
from reports.lines import NO_CLAIM, NOT_RUN, VERDICTS, Line, lines_of, short_pin, tally
from reports.records import EntryRecord, VerdictName


@dataclasses.dataclass(frozen=True)
class EntryText:
    """What the registry says of an entry in words.

    Attributes:
        id: `D22`, or an agreement's name.
        agent: Whose algorithm.
        kind: "deviation" or "agreement".
        title: A few words.
        reference: What the reference does.
        subject: What the core does.
        consequence: What follows.
        sources: `file:lines@commit`, each.
        normative: What the core follows where paper and code part.
        status: How a deviation is to be read.
        pins: The pins at which the claims are measured.
        claims: The ids of the entry's claims in their order, so that one without a record
            is seen to be missing; None where the caller does not know them.
        otherwise: The ids of those that say where the reference does otherwise.
        asked: The pins of the agent's reference, of which the entry is to say whether it
            holds there.
        ours: Whether the deviation table lacks the row.
    """

    id: str
    agent: str
    kind: Literal["deviation", "agreement"]
    title: str
    reference: str
    subject: str
    consequence: str
    sources: tuple[str, ...]
    normative: Literal["paper", "code"]
    status: str
    pins: tuple[str, ...]
    claims: tuple[str, ...] | None = None
    otherwise: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()
    ours: bool = False


@dataclasses.dataclass(frozen=True)
class Section:
    """One entry: its words, and what its record says.

    Attributes:
        text: The registry's prose.
        record: What was measured, if the entry was run.
    """

    text: EntryText
    record: EntryRecord | None

    @property
    def anchor(self) -> str:
        """What a link to the section ends in."""
        return self.text.id.casefold()

    @property
    def lines(self) -> tuple[Line, ...]:
        """The claims, outcome by outcome."""
        return lines_of(self.record) if self.record else ()

    @property
    def claims(self) -> tuple[str, ...]:
        """The ids of all claims, with a record or without."""
        return (*dict.fromkeys(line.claim.claim for line in self.lines), *self.missing)

    @property
    def missing(self) -> tuple[str, ...]:
        """The claims that are registered and have no record."""
        recorded = {line.claim.claim for line in self.lines}
        return tuple(name for name in self.text.claims or () if name not in recorded)

    @property
    def empty(self) -> str:
        """Why the entry has no claim to show; "" if it has."""
        if self.lines or self.missing:
            return ""
        return NO_CLAIM if self.record or self.text.claims == () else NOT_RUN

    @property
    def counts(self) -> dict[VerdictName, int]:
        """How often each verdict occurs; what is missing is NOT MEASURED."""
        record = self.record
        counts = tally([record]) if record and record.claims else dict.fromkeys(VERDICTS, 0)
        counts["NOT MEASURED"] += len(self.missing) + bool(self.empty)
        return counts

    @property
    def places(self) -> dict[str, list[str]]:
        """`file:lines` by the commit at which they stand, each file once."""
        places: dict[str, dict[str, list[str]]] = {}
        for source in self.text.sources:
            place, _, commit = source.rpartition("@") if "@" in source else (source, "", "")
            file, _, lines = place.rpartition(":") if ":" in place else (place, "", "")
            places.setdefault(commit, {}).setdefault(file, []).append(lines)
        return {
            commit: [f"{file}:{', '.join(lines)}".rstrip(":") for file, lines in files.items()]
            for commit, files in places.items()
        }

    @property
    def facts(self) -> tuple[str, ...]:
        """The entry in a line: whose it is, how to read it, which pins it is about."""
        text = self.text
        return (
            "both agents" if text.agent == "both" else text.agent,
            *(["ours: the table lacks it"] if text.ours else []),
            *([text.status] if text.kind == "deviation" else []),
            f"the core follows the {text.normative}",
            *([f"pins {', '.join(map(short_pin, text.pins))}"] if text.pins else []),
        )

    @property
    def holding(self) -> tuple[AtPin, ...]:
        """What the records say of the row at every pin; nothing of an agreement."""
        if self.text.kind != "deviation":
            return ()
        pins = dict.fromkeys((*self.text.asked, *self.text.pins))
        return tuple(at_pin(pin, self.record, self.text.otherwise) for pin in pins)

    @property
    def contradicted(self) -> tuple[Line, ...]:
        """The lines whose measurement contradicts what the table states."""
        return tuple(line for line in self.lines if line.contradicted)

    @property
    def contradicted_by(self) -> str:
        """The first pin whose answers contradict it; "" where none is asked."""
        return next((pin for line in self.contradicted for pin in line.pins), "")

    @property
    def broken(self) -> tuple[Line, ...]:
        """The lines that need an explanation beneath the table."""
        return tuple(line for line in self.lines if line.claim.verdict == "BROKEN")

    @property
    def table(self) -> list[list[str]]:
        """The table of claims in Markdown: its head, then a row for every line."""
        rows = [["verdict", "claim, *and why this tolerance*", "measured", "tolerance"]]
        statement = ""
        for line in self.lines:
            # The sentence once, where a claim has several outcomes.
            rows.append(_row(line, with_statement=line.claim.statement != statement))
            statement = line.claim.statement
        for name in self.missing:
            rows.append(["NOT MEASURED", f"**{cell(name)}**<br>Not measured: {NOT_RUN}", "—", ""])
        return rows


def _row(line: Line, *, with_statement: bool) -> list[str]:
    claim = line.claim
    words = [f"**{cell(claim.claim)}**"]
    if with_statement:
        words += [cell(claim.statement), f"*{cell(claim.reason)}*" if claim.reason.strip() else ""]
    if claim.verdict == "NOT MEASURED":
        words.append(f"Not measured: {cell(claim.why)}")
    verdict = f"**{claim.verdict}**" if claim.verdict == "BROKEN" else claim.verdict
    least = f"least {claim.least}" if claim.least else ""
    return [
        _stack(verdict, cell(", ".join(line.pins)), cell(", ".join(line.sources))),
        _stack(*words),
        _stack(*_figures(line)),
        _stack(cell(claim.tolerance), cell(line.margin), cell(least)),
    ]


def _figures(line: Line) -> Iterator[str]:
    """The measured figure, the stated one beneath it, and what was counted besides."""
    claim = line.claim
    yield f"**{cell(line.measured)}**"
    if claim.stated:
        agrees = {True: ": agrees", False: ": **contradicted**", None: ""}[claim.stated.agrees]
        yield f"stated {cell(claim.stated.text)}{agrees}"
    if claim.note:
        yield cell(claim.note)
    if claim.compared:
        yield f"{claim.compared:,} compared"


def _stack(*parts: str) -> str:
    """Several short lines in one cell."""
    return "<br>".join(filter(None, parts))
