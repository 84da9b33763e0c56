"""The folder that a run leaves behind: records, and the documents made of them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path

from parity.claims import Measurement, Verdict
from parity.registry import Claim, Entry, Registry
from reports import records as record_files
from reports.records import ClaimRecord, EntryRecord


class Results:
    """One folder of results.

    Attributes:
        outlived: What could not be measured here and has an older measurement, which stays:
            names of claims, with the reasons.
        records: Where the records are, one file per entry.
        junit: The claims of the last run, for continuous-integration services.
        document: All records and the registry's prose, in Markdown.
        figure: How much of every bound was used, over all records.
    """

    def __init__(self, folder: Path, registry: Registry):
        self.records = folder / "records"
        self.junit = folder / "junit.xml"
        self.document = folder / "deviations.md"
        self.figure = folder / "margins.svg"
        self.outlived: dict[str, str] = {}
        self._registry = registry

    def check(self, entries: Iterable[Entry], subject: str) -> None:
        """Raises `RecordError` if this subject's records of these could not be added."""
        for entry in entries:
            older = self._older(entry.id)
            if older and older.provenance.subject != subject:
                raise record_files.RecordError(
                    f"{self.records} holds records of the subject {older.provenance.subject!r}, "
                    f"which those of {subject!r} would replace; name another folder with --results"
                )

    def add(self, record: EntryRecord) -> None:
        """Writes a record, with those claims of the older one that it does not replace.

        Raises:
            RecordError: The older one can not be read.
        """
        claims = [claim.id for claim in self._registry[record.entry].claims]
        merged = record.merged_into(self._older(record.entry), claims)
        record_files.write_entry(self.records, merged)
        for claim in record.claims:
            if claim not in merged.claims:
                self.outlived[f"{record.entry}/{claim.claim}"] = claim.why

    def write_documents(self, run: Iterable[EntryRecord]) -> None:
        """Writes the documents of a run that is over.

        Args:
            run: The records of this run alone.

        Raises:
            RecordError: A record in the folder can not be read.
        """
        from reports import junit

        record_files.write_atomically(self.junit, junit.document(tuple(run)))
        self.render()

    def render(self) -> None:
        """Writes the document and the figure of the records that are in the folder now."""
        from reports.figures import margins_figure

        record_files.write_atomically(self.document, self.rendered().encode())
        found = self._found()
        if self._has_bounds(found):
            margins_figure(found, self.figure)
        else:
            self.figure.unlink(missing_ok=True)

    @property
    def figure_is_current(self) -> bool:
        """Whether the figure was drawn from the records that are in the folder now."""
        from reports import figures

        found = self._found()
        return figures.shows(found, self.figure) or not self._has_bounds(found)

    def rendered(self) -> str:
        """The Markdown document of the records that are in the folder now.

        Raises:
            RecordError: A record in the folder can not be read.
        """
        from reports.markdown import deviations_document

        found = self._read()
        # What somebody else registered belongs into the document of those who measured it.
        shown = [e for e in self._registry if e.id not in self._registry.guests or e.id in found]
        return deviations_document([entry_text(entry) for entry in shown], found)

    def _read(self) -> dict[str, EntryRecord]:
        """The records in the folder, none of which says more than its figures do."""
        found = record_files.read_folder(self.records)
        for entry in self._registry:
            for record in found[entry.id].claims if entry.id in found else ():
                claim = next((one for one in entry.claims if one.id == record.claim), None)
                if claim is not None and _overstated(claim, record):
                    raise record_files.RecordError(
                        f"{self.records / entry.id}.json says that {claim.id} HOLDS, and its "
                        f"figures are not {record.tolerance}; delete it and run the probe again"
                    )
        return found

    def _found(self) -> tuple[EntryRecord, ...]:
        """The records in the folder, in the order of the registry."""
        found = self._read()
        return tuple(found[entry.id] for entry in self._registry if entry.id in found)

    @staticmethod
    def _has_bounds(records: Iterable[EntryRecord]) -> bool:
        return any(
            claim.bound is not None and claim.verdict != "NOT MEASURED"
            for record in records
            for claim in record.claims
        )

    def _older(self, entry_id: str) -> EntryRecord | None:
        path = self.records / f"{entry_id}.json"
        return record_files.read_entry(path) if path.exists() else None


def _overstated(claim: Claim, record: ClaimRecord) -> bool:
    """Whether a record HOLDS with figures that today's tolerance, if it is the same, refuses."""
    if record.verdict != "HOLDS" or record.tolerance != claim.tolerance.stated():
        return False
    low, high = (math.nan if x is None else float(x) for x in (record.low, record.high))
    return claim.tolerance.judge(Measurement(low, high, record.compared)) is not Verdict.HOLDS


def entry_text(entry: Entry):
    """What the registry says of an entry, as a document shows it."""
    from reference_harness.pins import PINS
    from reports.markdown import EntryText

    agents = {"DreamerV3": ("dreamerv3",), "TD-MPC2": ("tdmpc2",), "both": ("dreamerv3", "tdmpc2")}
    # A row without pins has no counterpart in any reference.
    asked = agents.get(entry.agent, ()) if entry.pins else ()
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
        otherwise=tuple(claim.id for claim in entry.claims if claim.otherwise),
        asked=tuple(pin.name for pin in PINS if pin.repository in asked),
        ours=entry.ours,
    )
