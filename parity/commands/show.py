"""`parity show`."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Annotated

from cyclopts import Parameter

from parity import registry
from parity.commands import options
from parity.commands.signature import operation_lines, wrapped
from parity.operations import Operation, catalogue
from parity.registry import Claim, Entry


def show(
    *name: str,
    operation: Annotated[options.Ids, Parameter(show_default=False)] = None,
) -> int:
    """Show entries (prose, sources, claims) or operations (inputs, outputs, who asks them).

    Example: parity show D22 dreamerv3.symlog

    Args:
        name: Ids of deviations or agreements, or names of operations.
        operation: Names of operations, with or without the agent before the dot.
    """
    options.not_empty("--operation", operation)
    if not (name or operation):
        raise options.UsageError(
            "name at least one entry or operation, e.g. `parity show D22 dreamerv3.symlog`; "
            "`parity list` has all"
        )
    listed = registry.load_registry()
    width = max(40, min(shutil.get_terminal_size().columns, 100))
    shown = []
    for one in name:
        known = catalogue().get(one.casefold())
        shown.append(operation_lines(known, listed, width) if known else _lines(listed[one], width))
    for one in operation or ():
        shown += [operation_lines(found, listed, width) for found in _operations(one)]
    print("\n\n".join("\n".join(lines) for lines in shown))
    return 0


def _operations(name: str) -> list[Operation]:
    """The operation of that name, or those that both agents have under it."""
    known = {full: [found] for full, found in catalogue().items()}
    for full, found in catalogue().items():
        known.setdefault(full.partition(".")[2], []).append(found)
    return registry.find(name.casefold(), known, "operation", shown=f"{name!r}")


def _lines(entry: Entry, width: int) -> Iterator[str]:
    yield f"{entry.id}  {entry.title}"
    facts = [entry.agent, entry.kind, f"the core follows the {entry.normative}"]
    facts += [entry.status] * (entry.kind == "deviation")
    yield ", ".join(facts + ["ours: the deviation table lacks it"] * entry.ours)
    for name in ("reference", "subject", "consequence"):
        yield from ("", *wrapped(f"{name.capitalize()}: {getattr(entry, name)}", width))
    if entry.sources:
        yield from ("", "Sources:")
        for source in entry.sources:
            yield f"  {source}"
            if source.url:
                yield f"    {source.url}"
    yield from ("", *wrapped(f"Measured at: {', '.join(entry.pins) or 'no pin'}", width))
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
        yield from wrapped(line, width, "  ")
