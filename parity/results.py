"""The folder that a run leaves behind: records, and the documents made of them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from parity.registry import Entry, Registry
from reports import records as record_files
from reports.records import EntryRecord


class Results:
    """One folder of results.

    Attributes:
        records: Where the records are, one file per entry.
        junit: The claims of the last run, for continuous-integration services.
        document: All records and the registry's prose, in Markdown.
    """

    def __init__(self, folder: Path, registry: Registry):
        self.records = folder / "records"
        self.junit = folder / "junit.xml"
        self.document = folder / "deviations.md"
        self._registry = registry

    def check(self, entries: Iterable[Entry]) -> None:
        """Raises `RecordError` if an older record of these could not be added to."""
        for entry in entries:
            self._older(entry.id)

    def add(self, record: EntryRecord) -> None:
        """Writes a record, with those claims of the older one that it does not replace.

        Raises:
            RecordError: The older one can not be read.
        """
        claims = [claim.id for claim in self._registry[record.entry].claims]
        merged = record.merged_into(self._older(record.entry), claims)
        record_files.write_entry(self.records, merged)

    def write_documents(self, run: Iterable[EntryRecord]) -> None:
        """Writes the documents of a run that is over.

        Args:
            run: The records of this run alone.

        Raises:
            RecordError: A record in the folder can not be read.
        """
        from reports import junit

        record_files.write_atomically(self.junit, junit.document(tuple(run)))
        record_files.write_atomically(self.document, self.rendered().encode())

    def rendered(self) -> str:
        """The Markdown document of the records that are in the folder now.

        Raises:
            RecordError: A record in the folder can not be read.
        """
        from reports.markdown import deviations_document

        found = record_files.read_folder(self.records)
        return deviations_document([_text(entry) for entry in self._registry], found)

    def _older(self, entry_id: str) -> EntryRecord | None:
        path = self.records / f"{entry_id}.json"
        return record_files.read_entry(path) if path.exists() else None


def _text(entry: Entry):
    from reports.markdown import EntryText

    return EntryText(
        id=entry.id,
        agent=entry.agent,
        kind=entry.kind,
        title=entry.title,
        reference=entry.reference,
        subject=entry.subject,
        consequence=entry.consequence,
        sources=tuple(map(str, entry.sources)),
        normative=entry.normative,
        status=entry.status,
        pins=entry.pins,
        claims=tuple(claim.id for claim in entry.claims),
    )
