"""Whether the claims notice faults: each seeded fault against the claims that might.

A claim that holds whatever the subject does proves nothing. A fault is caught where a claim
that holds for the sound subject is broken for the faulty one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from parity.faults import Fault
from parity.implementations import Implementation, OperationTable, Overridden
from parity.registry import Claim, Entry, Registry, UnknownIdError
from parity.runner import Progress, References, record_claim
from reports.records import ClaimRecord, SourceName

HELD, CAUGHT, NOT_MEASURED, BROKEN_ANYWAY = "held", "caught", "not measured", "broken anyway"

FAULTS_OF_PROGRAMS = 25  # after so many, what was compiled for them is to be freed

Place = tuple[Entry, Claim, str | None]


@dataclasses.dataclass(frozen=True)
class FaultResult:
    """What became of one fault.

    Attributes:
        fault: The fault.
        cells: For each claim that was tried, as `D22/bins`: "caught" where it noticed at some
            pin, "held" where it did not, "not measured", or "broken anyway" where it is
            broken for the sound subject already.
        missed: The claims that must notice it and did not.
        crashed: The fault's own code raised this, so what it was to show was not seen.
    """

    fault: Fault
    cells: Mapping[str, str]
    missed: tuple[str, ...]
    crashed: str = ""

    @property
    def caught(self) -> bool:
        """Whether it was noticed, by every claim that must, through a wrong answer."""
        return not self.crashed and not self.missed and CAUGHT in self.cells.values()

    @property
    def as_json(self) -> dict[str, Any]:
        """The result as plain values."""
        return {
            "fault": self.fault.id,
            "title": self.fault.title,
            "kind": self.fault.kind,
            "caught": self.caught,
            "caught_by": list(self.fault.caught_by),
            "missed": list(self.missed),
            "crashed": self.crashed,
            "claims": dict(self.cells),
        }


def sensitivity(
    faults: Sequence[Fault],
    registry: Registry,
    subject: Implementation,
    references: References,
    *,
    source: SourceName = "recorded",
    sound: dict[str, ClaimRecord] | None = None,
    progress: Progress = lambda done, total, label: None,
    finished: Callable[[FaultResult], None] = lambda result: None,
) -> list[FaultResult]:
    """Seeds every fault into the subject, one at a time.

    Args:
        faults: What to seed.
        registry: Whose claims are to notice.
        subject: The sound subject.
        references: The reference at a pin.
        source: Where the references' answers come from.
        sound: What is known of the sound subject, by place; what is found out is added.
        progress: Is told (measurements done, in all at most, the next fault and claim).
        finished: Is given each result as soon as it is known.

    Raises:
        UnknownIdError: A fault names a claim that does not exist.
        RunError: A claim itself failed, or a reference gave no proper answer.
        HarnessError: A reference could not be asked.
    """
    tables = {fault.id: fault.overrides() for fault in faults}
    plans = {fault.id: list(_places(fault, tables[fault.id], registry)) for fault in faults}
    total, done = sum(map(len, plans.values())), 0
    sound = {} if sound is None else sound
    results = []
    for fault in faults:
        crashes: list[str] = []
        table = _watched(tables[fault.id], crashes)
        faulty = Overridden(f"{subject.name} with {fault.id}", subject, table)
        cells: dict[str, str] = {}
        for entry, claim, pin in plans[fault.id]:
            name = f"{entry.id}/{claim.id}"
            progress(done, total, f"{fault.id} against {name}")
            done += 1
            place = f"{name}@{pin}"
            if place not in sound:
                sound[place] = record_claim(entry, claim, pin, subject, references, source)
            cell = _cell(sound[place])
            if cell == HELD:
                cell = _cell_of_faulty(record_claim(entry, claim, pin, faulty, references, source))
            cells[name] = _stronger(cells.get(name), cell)
        wanted = ("/".join(_named(fault, name, registry)) for name in fault.caught_by)
        missed = tuple(name for name in wanted if cells.get(name) != CAUGHT)
        results.append(FaultResult(fault, cells, missed, crashes[0] if crashes else ""))
        finished(results[-1])
    progress(total, total, "")
    return results


def names_tried(fault: Fault, registry: Registry) -> tuple[str, ...]:
    """The claims against which a fault is seeded, as `D22/bins`.

    Raises:
        UnknownIdError: It names a claim that does not exist.
    """
    found = _places(fault, fault.overrides(), registry)
    return tuple(dict.fromkeys(f"{entry.id}/{claim.id}" for entry, claim, _ in found))


def _places(fault: Fault, table: OperationTable, registry: Registry) -> Iterator[Place]:
    """The claims about the subject that ask for what the fault answers, or must notice it."""
    wanted = {_named(fault, name, registry) for name in fault.caught_by}
    for entry in registry:
        for claim in entry.claims:
            touched = claim.about != "reference" and not set(table).isdisjoint(claim.operations)
            if touched or (entry.id, claim.id) in wanted:
                pins = (None,) if claim.about == "subject" else entry.pins_of(claim) or (None,)
                yield from ((entry, claim, pin) for pin in pins)


def _named(fault: Fault, name: str, registry: Registry) -> tuple[str, str]:
    entry_id, _, claim_id = name.partition("/")
    try:
        entry = registry[entry_id]
        return entry.id, entry.claim(claim_id).id
    except UnknownIdError as error:
        raise UnknownIdError(f"{fault.id} is to be caught by {name}, but {error}") from None


def _watched(table: OperationTable, crashes: list[str]) -> OperationTable:
    """The table, which notes when one of its functions raises.

    Code that crashes breaks every claim, so it would pass for a fault that all of them catch.
    """

    def watch(operation: str, function: Callable[..., Mapping]) -> Callable[..., Mapping]:
        def call(**inputs: object) -> Mapping:
            try:
                return function(**inputs)
            except Exception as error:
                crashes.append(f"{operation} raised {type(error).__name__}: {error}")
                raise

        return call

    return {operation: watch(operation, function) for operation, function in table.items()}


def _cell(sound: ClaimRecord) -> str:
    return {"HOLDS": HELD, "BROKEN": BROKEN_ANYWAY}.get(sound.verdict, NOT_MEASURED)


def _cell_of_faulty(record: ClaimRecord) -> str:
    return {"HOLDS": HELD, "BROKEN": CAUGHT}.get(record.verdict, NOT_MEASURED)


def _stronger(before: str | None, now: str) -> str:
    order = (CAUGHT, HELD, BROKEN_ANYWAY, NOT_MEASURED)
    return min((before or now, now), key=order.index)


def problems(results: Iterable[FaultResult]) -> list[str]:
    """One sentence for every fault that was not caught as it must be."""
    sentences = []
    for result in results:
        fault = result.fault
        if result.crashed:
            sentences.append(f"{fault.id} was not seeded: its own code fails: {result.crashed}")
        elif CAUGHT not in result.cells.values():
            tried = ", ".join(result.cells) or "none, as none asks for what it answers"
            sentences.append(f"{fault.id} ({fault.title}) is caught by nothing; tried: {tried}")
        else:
            sentences.extend(
                f"{fault.id} ({fault.title}) must be caught by {name}, which says: "
                f"{result.cells.get(name, NOT_MEASURED)}"
                for name in result.missed
            )
    return sentences
