"""Where and with what a set of records was measured, each environment once."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from reports.records import EntryRecord, Provenance


@dataclasses.dataclass
class Setup:
    """One environment, and what was measured in it.

    Attributes:
        environment: Its provenance, that of the first measurement.
        times: When each measurement began, as the records write it.
        entries: The ids of the entries with a measurement in it, in the records' order.
    """

    environment: Provenance
    times: set[str] = dataclasses.field(default_factory=set)
    entries: list[str] = dataclasses.field(default_factory=list)

    @property
    def when(self) -> str:
        """The one time, or the first and the last."""
        first, last = min(self.times), max(self.times)
        return first if first == last else f"{first} to {last}"

    @property
    def software(self) -> tuple[str, ...]:
        """The program, the interpreter and the packages, with their versions."""
        packages = sorted(self.environment.packages.items())
        versions = (f"{name} {version}" for name, version in packages)
        return (self.environment.tool, f"Python {self.environment.python}", *versions)


def setups(records: Iterable[EntryRecord]) -> tuple[Setup, ...]:
    """The environments that the records' claims name, in order of appearance."""
    found: dict[tuple[object, ...], Setup] = {}
    for record in records:
        for claim in record.claims:
            environment = claim.provenance or record.provenance
            packages = tuple(sorted(environment.packages.items()))
            key = (
                environment.subject,
                environment.tool,
                environment.python,
                environment.platform,
                packages,
            )
            setup = found.setdefault(key, Setup(environment))
            setup.times.add(environment.created)
            if record.entry not in setup.entries:
                setup.entries.append(record.entry)
    return tuple(found.values())
