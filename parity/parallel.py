"""Entries measured and faults seeded by several processes at once: what takes time is compiling."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Literal

from core.compiled import usable_cores
from parity import faults, pool, registry, runner, subjects
from parity import sensitivity as sensitivities
from parity.faults import Fault
from parity.implementations import Implementation
from parity.references import References, Stale
from parity.registry import Entry
from parity.runner import Progress, places
from parity.saved_inputs import SavedInputs
from parity.sensitivity import FaultResult
from reports.records import ClaimRecord, EntryRecord

# Another process takes two seconds to come to life, and measures sound claims of its own.
MEASUREMENTS_WORTH_ONE, FAULTS_WORTH_ONE = 50, 20


@dataclasses.dataclass
class Beside:
    """What is found beside records.

    Attributes:
        stale: Recorded answers that are not the references' any more.
        written: Files of saved inputs.
    """

    stale: list[Stale] = dataclasses.field(default_factory=list)
    written: list[Path] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class Measuring:
    """What a process needs to know to measure entries.

    Attributes:
        subject: What is audited, as on the command line.
        subject_python: The interpreter that it needs, if another.
        source: Where the references' answers come from.
        recordings: The folder of those that were recorded.
        save_inputs: Where the inputs of broken claims go, if anywhere.
        pins: Measured at these alone; none means all.
    """

    subject: str
    subject_python: Path | None
    source: Literal["recorded", "live"]
    recordings: Path
    save_inputs: Path | None
    pins: tuple[str, ...]

    @contextlib.contextmanager
    def __call__(self) -> Iterator[pool.Work]:
        """Opens subject and references, for as long as the process lives."""
        listed = registry.load_registry()
        with (
            subjects.opened(self.subject, self.subject_python) as subject,
            References(self.source, self.recordings) as references,
        ):

            def measure(name: str, tell: pool.Tell) -> None:
                def progress(done: int, total: int, label: str) -> None:
                    tell((done, label))

                entries = (listed[name],)
                beside = self.measure(entries, subject, references, progress, finished=tell)
                tell(beside)

            yield measure

    def measure(
        self,
        entries: Sequence[Entry],
        subject: Implementation,
        references: References,
        progress: Progress,
        finished: Callable[[EntryRecord], None],
    ) -> Beside:
        """Measures entries in this process.

        Args:
            entries: Which.
            subject: What is audited.
            references: The reference at a pin.
            progress: See `runner.run`.
            finished: Likewise.

        Raises:
            RunError, HarnessError: See `runner.run`.
        """
        saved = SavedInputs(self.save_inputs) if self.save_inputs else None
        before = references.stale
        runner.run(
            entries,
            subject,
            references,
            source=self.source,
            pins=self.pins,
            progress=progress,
            finished=finished,
            broken=saved or runner.unheard,
        )
        stale = [found for found in references.stale if found not in before]
        return Beside(stale, saved.written if saved else [])


@dataclasses.dataclass(frozen=True)
class Seeding:
    """What a process needs to know to seed faults; its tasks are their ids.

    Attributes:
        source: Where the references' answers come from.
        recordings: The folder of those that were recorded.
    """

    source: Literal["recorded", "live"]
    recordings: Path

    @contextlib.contextmanager
    def __call__(self) -> Iterator[pool.Work]:
        """Opens the core and the references, for as long as the process lives."""
        from parity.core_subject.running import forget_programs

        listed = registry.load_registry()
        known = {fault.id: fault for fault in faults.load_faults()}
        with subjects.opened() as core, References(self.source, self.recordings) as references:
            sound: dict[str, ClaimRecord] = {}
            seeded = itertools.count(1)

            def seed(name: str, tell: pool.Tell) -> None:
                before = references.stale
                (found,) = sensitivities.sensitivity(
                    (known[name],),
                    listed,
                    core,
                    references,
                    source=self.source,
                    sound=sound,
                    progress=lambda done, total, label: tell(label),
                )
                tell((dict(found.cells), found.missed, found.crashed))
                tell([stale for stale in references.stale if stale not in before])
                if next(seeded) % sensitivities.FAULTS_OF_PROGRAMS == 0:
                    forget_programs()

            yield seed


def suggested(work: int, least: int, source: str) -> int:
    """How many processes to share work out to: a core each, if there is enough to do.

    Each would start references of its own, so where these are asked live there is one.

    Args:
        work: How many measurements or faults there are.
        least: How many of them are worth a process.
        source: Where the references' answers come from.
    """
    return 1 if source == "live" else max(1, min(usable_cores(), work // least))


def run(
    measuring: Measuring,
    entries: Sequence[Entry],
    processes: int,
    progress: Progress,
    finished: Callable[[EntryRecord], None],
) -> Beside:
    """Measures every claim of the entries at every pin, as `runner.run` does.

    Args:
        measuring: What of.
        entries: What to measure; the longest are begun first.
        processes: How many.
        progress: Is told (claims done, claims in all, a claim that was begun).
        finished: Is given each record as soon as it is complete; they come in any order.

    Raises:
        RunError, HarnessError: As `runner.run`.
    """
    sizes = {entry.id: len(places(entry, measuring.pins)) for entry in entries}
    order = sorted(sizes, key=lambda name: -sizes[name])
    done, label, found = dict.fromkeys(sizes, 0), "", Beside()
    with contextlib.closing(pool.spread(measuring, order, processes)) as told:
        for name, what in told:
            if isinstance(what, EntryRecord):
                finished(what)
            elif isinstance(what, Beside):
                found.stale += what.stale
                found.written += what.written
            else:
                done[name], next_one = what
                label = next_one or label
                progress(sum(done.values()), sum(sizes.values()), label)
    return found


def seed(
    seeding: Seeding,
    chosen: Sequence[Fault],
    processes: int,
    progress: Progress,
    finished: Callable[[FaultResult], None],
) -> tuple[list[FaultResult], list[Stale]]:
    """Seeds every fault into the core, as `sensitivity.sensitivity` does.

    Args:
        seeding: With which references.
        chosen: What to seed.
        processes: How many.
        progress: Is told (faults done, faults in all, a fault and a claim).
        finished: Is given each result as soon as it is known; they come in any order.

    Returns:
        The results, in the order of the faults, and recorded answers that are not the
        references' any more.

    Raises:
        RunError, HarnessError, UnknownIdError: As `sensitivity.sensitivity`.
    """
    known = {fault.id: fault for fault in chosen}
    results: dict[str, FaultResult] = {}
    stale: list[Stale] = []
    with contextlib.closing(pool.spread(seeding, list(known), processes)) as told:
        for name, what in told:
            if isinstance(what, str):
                progress(len(results), len(known), what)
            elif isinstance(what, list):
                stale += what
            else:
                results[name] = FaultResult(known[name], *what)
                finished(results[name])
    return [results[name] for name in known], stale
