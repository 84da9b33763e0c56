"""Records on a terminal: a table of claims, and how many hold.

On a wide terminal every figure has a column of its own; on a narrow one a claim takes a
few short lines in three columns. Colour only repeats what a word says.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from reports.lines import NO_CLAIM, Line, contradicted_figures, lines_of, tally, visible
from reports.records import EntryRecord

STYLES = {"HOLDS": "green", "BROKEN": "bold red", "NOT MEASURED": "yellow"}
WIDE = 132  # columns from which the wide layout is the shorter one

Piece = tuple[str, str]  # text and its style


def print_summary(console: Console, records: Iterable[EntryRecord]) -> None:
    """Prints the table of claims, the counts, and the stated figures that are contradicted."""
    records = tuple(records)
    if not records:
        console.print("No claim was asked for.")
        return
    console.print(claims_table(records, wide=console.width >= WIDE))
    console.print()
    without = [record.entry for record in records if not record.claims]
    if without:
        named = f"NOT MEASURED, {NO_CLAIM}: {', '.join(without)}"
        console.print(_stack([(named, STYLES["NOT MEASURED"])]))
    print_counts(console, records)
    contradicted = contradicted_figures(records)
    if contradicted:
        console.print(_stack([(f"Contradicted by the measurement: {'; '.join(contradicted)}", "")]))


def print_counts(console: Console, records: Iterable[EntryRecord]) -> None:
    """Prints how many claims have which verdict, and which are broken."""
    records = tuple(records)
    console.print(_counts(records))
    broken = dict.fromkeys(
        visible(f"{record.entry}/{claim.claim}")
        for record in records
        for claim in record.claims
        if claim.verdict == "BROKEN"
    )
    if broken:
        console.print(_stack([(f"BROKEN: {', '.join(broken)}", STYLES["BROKEN"])]))


def claims_table(records: Iterable[EntryRecord], *, wide: bool = False) -> Table:
    """A table of all claims, grouped by entry; equal outcomes at several pins share a line.

    Entries without claims have no line.
    """
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    if wide:
        table.add_column("claim", overflow="fold", ratio=1)
        for name, width in (("tolerance", 28), ("measured", 20), ("margin", 9), ("least", 20)):
            table.add_column(name, overflow="fold", max_width=width)
        table.add_column("verdict", max_width=12)
        table.add_column("reference", max_width=16)
        table.expand = True
    else:
        table.add_column("verdict\npin, source", min_width=12, max_width=16)
        table.add_column("claim", overflow="fold", max_width=90)
        table.add_column("measured, tolerance\nmargin, least to pass", min_width=24, max_width=32)
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
