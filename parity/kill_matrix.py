"""The kill matrix that a folder of results holds: seeded faults against claims."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from parity.faults import Fault
from parity.provenance import PROJECT, now, version
from parity.registry import Registry
from parity.sensitivity import FaultResult, names_tried
from reports import kills
from reports.kill_matrix import ClaimText, FaultText, kill_matrix_document
from reports.records import write_atomically


class KillMatrix:
    """One folder's matrix; a fault that is seeded again replaces what was known of it.

    Attributes:
        records: What is known of every fault, as JSON.
        document: The same in Markdown, with every claim that kills nothing and why.
    """

    def __init__(self, folder: Path, registry: Registry, faults: Sequence[Fault]):
        self.records = folder / "kill_matrix.json"
        self.document = folder / "kill_matrix.md"
        self._registry = registry
        self._faults = faults
        self._known = kills.read(self.records)

    @property
    def empty(self) -> bool:
        """Whether nothing is known."""
        return not self._known

    def lacks(self, fault: Fault) -> bool:
        """Whether a fault was not seeded yet, or it or the claims that it meets are others now.

        That the core or a claim's measure has changed is not noticed: seed it again by name.
        """
        known = self._known.get(fault.id)
        if known is None or known.crashed or known.missed:
            return True
        before = (known.title, known.kind, known.source, known.caught_by, set(known.claims))
        tried = set(names_tried(fault, self._registry))
        return before != (fault.title, fault.kind, fault.source, fault.caught_by, tried)

    def add(self, result: FaultResult) -> None:
        """Writes down what became of a fault."""
        fault = result.fault
        self._known[fault.id] = kills.FaultRecord(
            fault=fault.id,
            title=fault.title,
            kind=fault.kind,
            source=fault.source,
            caught_by=fault.caught_by,
            missed=result.missed,
            crashed=result.crashed,
            claims=dict(result.cells),  # type: ignore[arg-type]
            tool=f"parity {version(PROJECT)}",
            created=now(),
        )
        order = [fault.id for fault in self._faults]
        kills.write(self.records, [self._known[name] for name in order if name in self._known])

    def rendered(self) -> str:
        """The document of what is known now."""
        return kill_matrix_document(
            [
                FaultText(f.id, f.title, f.kind, f.source, f.needs, f.caught_by)
                for f in self._faults
            ],
            [
                ClaimText(f"{entry.id}/{claim.id}", claim.about, claim.unbroken)
                for entry in self._registry
                if entry.id not in self._registry.guests
                for claim in entry.claims
            ],
            self._known,
        )

    def render(self) -> None:
        """Writes the document."""
        write_atomically(self.document, self.rendered().encode())

    @property
    def is_current(self) -> bool:
        """Whether the document is what would be written."""
        return self.document.exists() and self.document.read_text("utf-8") == self.rendered()
