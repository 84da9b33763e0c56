"""Records on a terminal: a table of claims, and how many hold.

On a wide terminal every figure has a column of its own; on a narrow one a claim takes a
few short lines in three columns. Colour only repeats what a word says.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from reports.lines import (
    NO_CLAIM,
    Line,
    contradicted_figures,
    lines_of,
    short_pin,
    tally,
    visible,
)
from reports.records import EntryRecord

STYLES = {"HOLDS": "green", "BROKEN": "bold red", "NOT MEASURED": "yellow"}
WIDE = 132  # columns from which the wide layout is the shorter one
_WIDE_FIGURES = 123  # columns that the wide layout needs beside the claim

Piece = tuple[str, str]  # text and its style
Links = Mapping[str, Sequence[tuple[str, str]]]


def print_summary(
    console: Console, records: Iterable[EntryRecord], links: Links | None = None
) -> None:
    """Prints the table of claims, the counts, and the stated figures that are contradicted.

    Args:
        console: Where to.
        records: What was measured.
        links: Where the reference does what an entry is about, by the entry's id: short names
            of pins, and addresses. Shown for what is broken.
    """
    records = tuple(records)
    if not records:
        console.print("No claim was asked for.")
        return
    console.print(claims_table(records, console.width))
    console.print()
    without = [record.entry for record in records if not record.claims]
    if without:
        named = f"NOT MEASURED, {NO_CLAIM}: {', '.join(without)}"
        console.print(_stack([(named, STYLES["NOT MEASURED"])]))
    print_counts(console, records)
    _print_links(console, records, links or {})
    contradicted = contradicted_figures(records)
    if contradicted:
        console.print(_stack([(f"Contradicted by the measurement: {'; '.join(contradicted)}", "")]))


def print_counts(console: Console, records: Iterable[EntryRecord]) -> None:
    """Prints how many claims have which verdict, and which are broken."""
    records = tuple(records)
    counts = _counts(records)
    claims = sum(len({claim.claim for claim in record.claims}) for record in records)
    if claims < sum(len(record.claims) for record in records):
        counts += Text(f"; {claims} claims, each counted at every pin and source")
    console.print(counts)
    broken = dict.fromkeys(
        visible(f"{record.entry}/{claim.claim}")
        for record in records
        for claim in record.claims
        if claim.verdict == "BROKEN"
    )
    if broken:
        console.print(_stack([(f"BROKEN: {', '.join(broken)}", STYLES["BROKEN"])]))


def _print_links(console: Console, records: Iterable[EntryRecord], links: Links) -> None:
    """Prints where the reference does what is broken, at the pins at which it is."""
    for record in records:
        broken = [claim.pin for claim in record.claims if claim.verdict == "BROKEN"]
        pins = {short_pin(pin) for pin in broken if pin}
        shown = [link for pin, link in links.get(record.entry, ()) if not pins or pin in pins]
        if broken and shown:
            console.print(Text(f"The reference, for {visible(record.entry)}:"))
            for link in shown:  # in one piece, however narrow the terminal
                console.print(Text(f"  {visible(link)}"), soft_wrap=True)


def claims_table(records: Iterable[EntryRecord], width: int) -> Table:
    """A table of all claims, grouped by entry; equal outcomes at several pins share a line.

    Entries without claims have no line. No id is ever broken in two.

    Args:
        records: What was measured.
        width: Of the terminal, in columns.
    """
    records = tuple(records)
    names = (f"{record.entry}/{claim.claim}" for record in records for claim in record.claims)
    longest = max(map(len, map(visible, names)), default=0)
    wide = width >= max(WIDE, longest + _WIDE_FIGURES)
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    if wide:
        table.add_column("claim", overflow="fold", ratio=1, min_width=longest)
        for name, width in (("tolerance", 28), ("measured", 20), ("margin", 9), ("least", 20)):
            table.add_column(name, overflow="fold", max_width=width)
        table.add_column("verdict", max_width=12)
        table.add_column("reference", max_width=16)
        table.expand = True
    else:
        verdict, claim, figures = _narrow(width, longest)
        table.add_column("verdict\npin, source", min_width=12, max_width=verdict)
        table.add_column("claim", overflow="fold", min_width=longest, max_width=claim)
        table.add_column(
            "measured, tolerance\nmargin, least to pass",
            overflow="fold",
            min_width=min(24, figures),
            max_width=figures,
        )
    for record in records:
        statement = ""
        for line in lines_of(record):
            # The sentence once, where a claim has several outcomes.
            claim = _claim(line, with_statement=line.claim.statement != statement)
            statement = line.claim.statement
            cells = _wide(line, claim) if wide else (_verdict(line), claim, _figures(line))
            table.add_row(*map(_stack, cells))
        table.add_section()
    return table


def _narrow(width: int, longest: int) -> tuple[int, int, int]:
    """The most columns that verdict, claim and figures may have, so that every id has its own."""
    gaps = 6
    if longest <= width - gaps - 16 - 32:
        return 16, 90, 32
    figures = width - gaps - 16 - longest
    if figures >= 24:
        return 16, longest, figures
    return 12, longest, max(14, figures + 4)


def _wide(line: Line, claim: Iterable[Piece]) -> tuple[Iterable[Piece], ...]:
    return (
        claim,
        [(line.claim.tolerance, "")],
        [(line.measured, "bold")],
        [(line.margin, "")],
        [(line.claim.least, "")],
        [(line.claim.verdict, STYLES[line.claim.verdict])],
        [(line.where, "")],
    )


def _verdict(line: Line) -> Iterator[Piece]:
    yield line.claim.verdict, STYLES[line.claim.verdict]
    yield line.where, ""


def _claim(line: Line, *, with_statement: bool) -> Iterator[Piece]:
    claim = line.claim
    style = STYLES[claim.verdict]
    yield f"{line.entry}/{claim.claim}", "bold"
    if with_statement:
        yield claim.statement, ""
    if claim.why:
        yield f"why: {claim.why}", style
    if claim.verdict == "BROKEN" and claim.worst_input:
        yield "worst input:", style
        for name, value in claim.worst_input.items():
            yield f"  {name} = {value}", ""
    if claim.verdict == "BROKEN" and claim.note:
        yield claim.note, style
    if claim.stated and claim.stated.agrees is not None:
        verdict = "contradicted" if line.contradicted else "agrees"
        yield f"stated {claim.stated.text}: {verdict}", "magenta" if line.contradicted else "dim"


def _figures(line: Line) -> Iterator[Piece]:
    yield line.measured, "bold"
    yield line.claim.tolerance, ""
    least = f"least {line.claim.least}" if line.claim.least else ""
    yield ", ".join(filter(None, (line.margin, least))), ""


def _stack(pieces: Iterable[Piece]) -> Text:
    """The pieces on lines of their own. They are never read as console markup."""
    return Text("\n").join(Text(visible(text), style) for text, style in pieces if text)


def _counts(records: Iterable[EntryRecord]) -> Text:
    counts = ((verdict, count) for verdict, count in tally(records).items() if count)
    return Text(", ").join(Text(f"{count} {verdict}", STYLES[verdict]) for verdict, count in counts)
