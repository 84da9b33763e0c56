"""`parity show`."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterator

from parity import registry
from parity.registry import Claim, Entry


def show(*entry: str) -> int:
    """Show an entry: its prose, its sources, and its claims with their tolerances.

    Example: parity show D22

    Args:
        entry: Ids of deviations or agreements.
    """
    from parity.commands.options import UsageError

    if not entry:
        raise UsageError("name at least one entry, e.g. `parity show D22`; `parity list` has all")
    chosen = registry.load_registry().select(entry)
    width = max(40, min(shutil.get_terminal_size().columns, 100))
    print("\n\n".join("\n".join(_lines(entry, width)) for entry in chosen))
    return 0


def _lines(entry: Entry, width: int) -> Iterator[str]:
    yield f"{entry.id}  {entry.title}"
    facts = [entry.agent, entry.kind, f"the core follows the {entry.normative}"]
    yield ", ".join(facts + [entry.status] * (entry.kind == "deviation"))
    for name in ("reference", "subject", "consequence"):
        yield from ("", *_wrapped(f"{name.capitalize()}: {getattr(entry, name)}", width))
    if entry.sources:
        yield from ("", "Sources:", *(f"  {source}" for source in entry.sources))
    yield from ("", *_wrapped(f"Measured at: {', '.join(entry.pins) or 'no pin'}", width))
    if not entry.claims:
        yield from ("", "No claim is registered yet: NOT MEASURED.")
    for claim in entry.claims:
        yield from ("", *_claim(entry, claim, width))


def _claim(entry: Entry, claim: Claim, width: int) -> Iterator[str]:
    about = {"both": "both sides", "reference": "the reference", "subject": "the subject"}
    yield f"{entry.id}/{claim.id}"
    lines = [
        claim.statement,
        f"Tolerance: {claim.tolerance.stated()}",
        f"Reason: {claim.reason}",
        *([f"Stated in the table: {claim.stated.text}"] if claim.stated else []),
        f"About: {about[claim.about]}",
        f"Operations: {', '.join(claim.operations)}",
        *(["`parity fuzz` can search for its worst input."] if claim.search else []),
    ]
    for line in lines:
        yield from _wrapped(line, width, "  ")


def _wrapped(text: str, width: int, indent: str = "") -> list[str]:
    return textwrap.wrap(
        text,
        width,
        initial_indent=indent,
        subsequent_indent=indent + "  ",
        break_on_hyphens=False,
        break_long_words=False,
    )
