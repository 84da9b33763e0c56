"""Options that several subcommands have, and what they select."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, TextIO

from cyclopts import Parameter

from parity.registry import Entry, Registry, find

Ids = Annotated[tuple[str, ...] | None, Parameter(consume_multiple=True, negative="")]
Flag = Annotated[bool, Parameter(negative="")]

RESULTS = Path("parity-results")


class UsageError(Exception):
    """The command line asks for what can not be done; says what to write instead."""


def entries(
    registry: Registry, deviation: Ids, agreement: Ids, ids: Sequence[str] = ()
) -> tuple[Entry, ...]:
    """The chosen entries; all, if none is chosen.

    Raises:
        UnknownIdError: There is no such entry; suggests the nearest.
        UsageError: An option has no value, or nothing is registered.
    """
    not_empty("--deviation", deviation)
    not_empty("--agreement", agreement)
    chosen = (
        *(registry.select(deviation, "deviation") if deviation else ()),
        *(registry.select(agreement, "agreement") if agreement else ()),
    )
    if ids:
        chosen = (*registry.select(ids), *chosen)
    elif deviation is None and agreement is None:
        chosen = tuple(registry)
    chosen = tuple({entry.id: entry for entry in chosen}.values())
    if not chosen:
        raise UsageError("no entry is registered; reinstall world-model-parity")
    return chosen


def pins(registry: Registry, names: Ids) -> tuple[str, ...]:
    """The chosen pins; a hash alone will do. None means all.

    Raises:
        UnknownIdError: No entry is measured at such a pin; suggests the nearest.
        UsageError: The option has no value.
    """
    not_empty("--pin", names)
    known = {pin: pin for entry in registry for pin in entry.pins}
    by_hash = {pin.rpartition("-")[2]: pin for pin in known}
    return tuple(by_hash.get(name) or find(name, known, "pin", shown=name) for name in names or ())


def not_empty(option: str, values: Sequence[str] | None) -> None:
    """Raises `UsageError` for an option that is written without a value."""
    if values is not None and not values:
        raise UsageError(f"{option} needs at least one value; leave it out to select all")


def print_stale(stale: Sequence[object], stream: TextIO) -> None:
    """Prints which recorded answers are stale, and the way out."""
    for found in stale:
        print(f"STALE: {found}", file=stream)
    if stale:
        print("Record again what is stale with `parity record`.", file=stream)


def recordings_folder(folder: Path | None) -> Path:
    """The folder of the recordings: the embedded one, unless another is named.

    Raises:
        UsageError: The named folder does not exist.
    """
    from reference_harness.recordings import FOLDER

    if folder is not None and not folder.is_dir():
        raise UsageError(f"--recordings {folder} is no folder")
    return folder or FOLDER
