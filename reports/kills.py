"""Which claims noticed which seeded faults: a record for every fault, in one file.

The record says of every claim that was tried what it said: "caught", where it is broken for the
core with the fault, "held", "not measured", or "broken anyway", where it is without it.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final, Literal

import msgspec

from reports.records import RecordError, write_atomically

SCHEMA_VERSION: Final = 1

Cell = Literal["caught", "held", "not measured", "broken anyway"]


class FaultRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One fault, seeded into the core.

    Attributes:
        fault: Its id.
        title: The mistake, in a few words.
        kind: What sort of mistake it is.
        source: Where it was seen; "" if nowhere: it is ours.
        caught_by: The claims that must notice it.
        missed: Those of them that did not.
        crashed: What its own code raised, so that nothing was seen of it; else "".
        claims: What every claim that was tried said.
        tool: The program that measured, with its version.
        created: When.
    """

    fault: str
    title: str
    kind: str
    source: str
    caught_by: tuple[str, ...]
    missed: tuple[str, ...]
    crashed: str
    claims: dict[str, Cell]
    tool: str
    created: str

    @property
    def killers(self) -> tuple[str, ...]:
        """The claims that noticed it; none, where its own code failed."""
        if self.crashed:
            return ()
        return tuple(name for name, cell in self.claims.items() if cell == "caught")

    @property
    def killed(self) -> bool:
        """Whether it was noticed, by every claim that must, through a wrong answer."""
        return bool(self.killers) and not self.missed

    @property
    def consistent(self) -> bool:
        """Whether it misses those claims of the ones that must notice it that did not."""
        caught = {name.casefold() for name, cell in self.claims.items() if cell == "caught"}
        wanted, missed = ({*map(str.casefold, names)} for names in (self.caught_by, self.missed))
        return missed == wanted - caught


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    schema_version: Literal[1]
    faults: tuple[FaultRecord, ...]


def read(path: Path) -> dict[str, FaultRecord]:
    """The records of a file by fault; none, if there is no such file.

    Raises:
        RecordError: The file is damaged, of another version, or contradicts itself.
    """
    if not path.exists():
        return {}
    try:
        found = msgspec.json.decode(path.read_bytes(), type=_File)
    except msgspec.MsgspecError as error:
        raise RecordError(
            f"{path} is no kill matrix of version {SCHEMA_VERSION} ({error}); delete it and run "
            f"`parity sensitivity --results {path.parent}`"
        ) from None
    records = {record.fault: record for record in found.faults}
    wrong = [f"what {one.fault} misses" for one in found.faults if not one.consistent]
    if len(records) != len(found.faults):
        wrong.append("a fault that is there twice")
    if wrong:
        raise RecordError(
            f"{path} contradicts itself: {wrong[0]}; delete it and run `parity sensitivity "
            f"--results {path.parent}`"
        )
    return records


def write(path: Path, records: Iterable[FaultRecord]) -> None:
    """Writes all records of a file, in their order, one fault to a line."""
    lines = ",\n".join(msgspec.json.encode(record).decode() for record in records)
    text = f'{{"schema_version": {SCHEMA_VERSION}, "faults": [\n{lines}\n]}}\n'
    write_atomically(path, text.encode())
