"""What a probe leaves behind: one versioned JSON document per registry entry.

A record says what was claimed, what was measured, and everything that a reader needs to
measure it again. The types below are the schema: reading validates against them, and
`json_schema` writes them out for other languages.
"""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

SCHEMA_VERSION: Final = 1
SCHEMA_PATH = Path(__file__).with_name("records.schema.json")

# JSON has no infinities and no NaN, so those three are written as words.
Number = float | Literal["inf", "-inf", "nan"]

# How `ClaimRecord.why` begins where the claim can be measured, only not on this machine.
NOT_HERE = "not here: "

VerdictName = Literal["HOLDS", "BROKEN", "NOT MEASURED"]
SourceName = Literal["recorded", "live", "none"]


class RecordError(Exception):
    """A record can not be read: it is no JSON, of another version, or not of the schema."""


class StatedFigure(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A figure in the deviation table's words, and whether the measurement agrees."""

    text: str
    agrees: bool | None


class Provenance(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Where and with what an entry was measured."""

    tool: str
    created: str
    subject: str
    python: str
    platform: str
    packages: dict[str, str]


class ClaimRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One claim, measured at one pin.

    Attributes:
        claim: The claim's id within its entry.
        statement: The claim, a sentence.
        about: Whose behaviour it is about.
        pin: The reference's pin; None where the claim needs no reference.
        source: Where the reference's answers came from; "none" where none was asked.
        tolerance: As a reader writes it, with its unit.
        bound: The number that no measured figure may exceed, where the tolerance is one.
        reason: Why that tolerance.
        stated: The table's own figure, if it has one.
        verdict: HOLDS, BROKEN or NOT MEASURED.
        why: Why it was not measured, or what went wrong beside the figure; else "". Begins with
            "not here: " where another machine could measure it.
        measured: The worst figure, or the range; "" where nothing was measured.
        low: The least measured figure.
        high: The greatest.
        unit: The unit of the figures.
        least: The least tolerance that would have passed.
        margin: How much of the tolerance is left.
        compared: How many values were compared.
        worst_input: The input that attains the worst figure, each array shortened to text.
        note: Further figures.
        operations: The operations that were asked.
        seconds: Wall time of the measurement.
        provenance: Where it was measured, if not where its entry's provenance says: the
            claim was kept from an earlier run.

    Raises:
        ValueError: It says more than was measured (HOLDS over nothing compared), NOT
            MEASURED without a reason, or has a figure that JSON can not write.
    """

    claim: str
    statement: str
    about: Literal["reference", "subject", "both"]
    pin: str | None
    source: SourceName
    tolerance: str
    reason: str
    verdict: VerdictName
    bound: Number | None = None
    stated: StatedFigure | None = None
    why: str = ""
    measured: str = ""
    low: Number | None = None
    high: Number | None = None
    unit: str = ""
    least: str = ""
    margin: str = ""
    compared: int = 0
    worst_input: dict[str, str] = {}
    note: str = ""
    operations: tuple[str, ...] = ()
    seconds: float = 0.0
    provenance: Provenance | None = None

    def __post_init__(self) -> None:
        where = f"claim {self.claim} at {self.pin or 'no pin'}"
        if self.verdict == "HOLDS" and self.compared < 1:
            raise ValueError(f"{where} HOLDS although nothing was compared")
        if self.verdict == "NOT MEASURED" and not self.why:
            raise ValueError(f"{where} is NOT MEASURED without a reason: give `why`")
        # An infinity would be written as null, which reads as "nothing was measured".
        for name in ("bound", "low", "high"):
            value = getattr(self, name)
            if isinstance(value, float) and not math.isfinite(value):
                raise ValueError(f"{where}: {name} is {value}, which JSON lacks: use `number`")

    @property
    def key(self) -> tuple[str, str, str]:
        """What makes a record the successor of another."""
        return (self.claim, self.pin or "", self.source)

    def outlived_by(self, measured: ClaimRecord | None) -> bool:
        """Whether an older measurement stands, because this one could not be made here."""
        said = ("statement", "about", "tolerance", "bound", "reason", "operations")
        return (
            measured is not None
            and self.why.startswith(NOT_HERE)
            and all(getattr(self, name) == getattr(measured, name) for name in said)
        )


class EntryRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """All measurements of one registry entry for one subject."""

    schema_version: Literal[1]
    entry: str
    provenance: Provenance
    claims: tuple[ClaimRecord, ...]

    def merged_into(
        self, older: EntryRecord | None, registered: Sequence[str] | None = None
    ) -> EntryRecord:
        """This record, with those claims of an older one that it does not replace.

        A claim replaces an older one of the same pin and source, and one that was not
        measured at that pin. Only what this machine lacks the means to measure leaves an older
        measurement of the same claim standing. What is kept keeps the provenance under which
        it was measured.

        Args:
            older: The record to add to; one of another subject adds nothing.
            registered: The ids of the claims that the entry has today, in their order;
                older claims with other ids are dropped. Without it, all are kept, by id.
        """
        if older is None or older.provenance.subject != self.provenance.subject:
            return self
        measured = {claim.key: claim for claim in older.claims if claim.verdict != "NOT MEASURED"}
        new = [claim for claim in self.claims if not claim.outlived_by(measured.get(claim.key))]
        fresh = {claim.key for claim in new}
        answered = {claim.key[:2] for claim in self.claims}
        kept = [
            msgspec.structs.replace(claim, provenance=claim.provenance or older.provenance)
            for claim in older.claims
            if claim.key not in fresh
            and not (claim.verdict == "NOT MEASURED" and claim.key[:2] in answered)
            and (registered is None or claim.claim in registered)
        ]
        rank = {claim_id: place for place, claim_id in enumerate(registered or ())}
        pins = list(dict.fromkeys(claim.pin for claim in (*new, *kept)))
        claims = sorted(
            (*new, *kept),
            key=lambda claim: (
                rank.get(claim.claim, len(rank)),
                claim.claim,
                pins.index(claim.pin),
                claim.source,
            ),
        )
        return msgspec.structs.replace(self, claims=tuple(claims))


class _Head(msgspec.Struct):
    """What every version of the schema has."""

    schema_version: Any = None


def number(value: float) -> Number:
    """A float as the schema writes it; `float` reads it back."""
    text = repr(float(value))
    return text if text in ("inf", "-inf", "nan") else float(value)  # type: ignore[return-value]


def read_entry(path: Path) -> EntryRecord:
    """Reads and validates one record.

    Raises:
        RecordError: Names the file, what is wrong with it, and the way out.
    """
    try:
        data = path.read_bytes()
        # The version comes first: an unknown field of another version is no damage.
        version = msgspec.json.decode(data, type=_Head).schema_version
        if version != SCHEMA_VERSION:
            raise RecordError(
                f"{path} has schema version {version!r}, this program reads {SCHEMA_VERSION}; "
                f"delete it and run the probe again"
            )
        return msgspec.json.decode(data, type=EntryRecord)
    except OSError as error:
        raise RecordError(f"{path} can not be read: {error.strerror or error}") from error
    except (msgspec.MsgspecError, RecursionError) as error:
        raise RecordError(
            f"{path} is not a record: {error}; delete it and run the probe again"
        ) from error


def read_folder(folder: Path) -> dict[str, EntryRecord]:
    """Every record in a folder, by entry id; an absent folder holds none.

    Raises:
        RecordError: A file is no record, or two are of the same entry.
    """
    paths: dict[str, Path] = {}
    records: dict[str, EntryRecord] = {}
    for path in sorted(folder.glob("*.json")):
        record = read_entry(path)
        if record.entry in records:
            raise RecordError(
                f"{paths[record.entry]} and {path} are both records of {record.entry}; "
                f"delete the one that is out of date"
            )
        paths[record.entry], records[record.entry] = path, record
    return records


def write_entry(folder: Path, record: EntryRecord) -> Path:
    """Writes one record in place of an older one, whole or not at all."""
    path = folder / f"{record.entry}.json"
    data = msgspec.json.format(msgspec.json.encode(record), indent=2)
    write_atomically(path, data + b"\n")
    return path


def write_atomically(path: Path, data: bytes) -> None:
    """Writes a file through a temporary beside it, so that no reader sees half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:  # which names a file that nobody asked for
        raise OSError(error.errno, error.strerror, str(path)) from None
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def json_schema() -> dict[str, Any]:
    """The JSON schema of an `EntryRecord`, of plain JSON types."""
    return msgspec.json.decode(msgspec.json.encode(msgspec.json.schema(EntryRecord)))


def validate_schema(path: Path = SCHEMA_PATH) -> None:
    """Checks that the committed JSON schema is that of the types above.

    Raises:
        RecordError: It is stale, damaged or absent; names the command that writes it.
    """
    try:
        committed = msgspec.json.decode(path.read_bytes())
    except (OSError, msgspec.MsgspecError) as error:
        committed, state = None, f"can not be read ({error})"
    else:
        state = "is out of date"
    if committed != json_schema():
        raise RecordError(f"{path} {state}; run: parity schema > reports/records.schema.json")
