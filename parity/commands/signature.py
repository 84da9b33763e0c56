"""An operation as `parity show` prints it: what goes in, what comes out, and who asks for it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator

from parity.operations import Array, Operation, Setting
from parity.registry import Entry
from reference_harness.recordings import FOLDER, Recording


def operation_lines(operation: Operation, entries: Iterable[Entry], width: int) -> Iterator[str]:
    """The lines about one operation.

    Args:
        operation: To show.
        entries: Among whose claims those that ask for it are found.
        width: Of a line, in columns; names are never broken.
    """
    yield operation.name
    yield from wrapped(operation.summary, width)
    yield from ("", "Inputs:")
    for field in operation.inputs:
        yield from _field(field, width)
    yield from ("", "Outputs:")
    for field in operation.outputs:
        yield from _field(field, width)
    function = operation.name.partition(".")[2]
    given = ", ".join(field.name for field in operation.inputs)
    returned = ", ".join(f'"{field.name}": …' for field in operation.outputs)
    yield from ("", "In an adapter:")
    yield from wrapped(f"def {function}({given}): return {{{returned}}}", width, "  ")
    yield from wrapped(f'OPERATIONS = {{"{operation.name}": {function}}}', width, "  ")
    asking = [
        (entry, claim)
        for entry in entries
        for claim in entry.claims
        if operation.name in claim.operations
    ]
    pins = dict.fromkeys(
        pin for entry, claim in asking if claim.about != "subject" for pin in entry.pins_of(claim)
    )
    recorded = [pin for pin in pins if operation.name in Recording(pin, FOLDER).operations]
    live = [pin for pin in pins if pin not in recorded]
    yield ""
    yield from wrapped(f"Recorded answers of: {', '.join(recorded) or 'no pin'}", width)
    if live:
        yield from wrapped(f"Asked live only: {', '.join(live)}", width)
    names = ", ".join(f"{entry.id}/{claim.id}" for entry, claim in asking)
    yield from wrapped(f"Claims that ask for it: {names or 'none'}", width)


def wrapped(text: str, width: int, indent: str = "") -> list[str]:
    """The text in lines of at most `width` columns; no word is broken in two."""
    return textwrap.wrap(
        text,
        width,
        initial_indent=indent,
        subsequent_indent=indent + "  ",
        break_on_hyphens=False,
        break_long_words=False,
    )


def _field(field: Array | Setting, width: int) -> list[str]:
    if isinstance(field, Array):
        kind = f"{field.dtype} [{', '.join(field.shape.split())}]" if field.shape else field.dtype
    else:
        kind = " or ".join(map(repr, field.choices)) or field.type.__name__
        if field.axis:
            kind += f", the length of axis {field.axis}"
    return wrapped(f"{field.name}: {kind}; {field.doc}", width, "  ")
