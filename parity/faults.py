"""Seeded faults: the core with an operation answered wrongly, which a claim must notice.

Faults are found as entries are, through an entry-point group under which any installed
distribution may add its own.
"""

from __future__ import annotations

import dataclasses
import importlib.metadata
import importlib.util
from collections.abc import Callable, Iterable, Sequence

from parity.implementations import OperationTable
from parity.registry import find

FAULT_GROUP = "world_model_parity.faults"


@dataclasses.dataclass(frozen=True)
class Fault:
    """A mistake that a re-implementation had, or could have.

    Attributes:
        id: `F01`.
        title: The mistake, in a few words.
        kind: What sort of mistake it is, such as "heads and targets" or "optimiser".
        overrides: Makes the table of the operations that are answered wrongly; called only
            when the fault is seeded, so that listing faults imports nothing heavy.
        caught_by: The claims that must notice it, as `D22/bins`.
        source: Where it was seen, if it was.
        needs: The module without which it can not be seeded, and its claims not be measured.
    """

    id: str
    title: str
    kind: str
    overrides: Callable[[], OperationTable]
    caught_by: tuple[str, ...]
    source: str = ""
    needs: str = ""

    @property
    def seedable(self) -> bool:
        """Whether what it needs is installed here."""
        return not self.needs or importlib.util.find_spec(self.needs) is not None


def load_faults() -> tuple[Fault, ...]:
    """Every fault that an installed distribution registers."""
    points = importlib.metadata.entry_points(group=FAULT_GROUP)
    faults = [
        fault for point in sorted(points, key=lambda point: point.name) for fault in point.load()
    ]
    by_id: dict[str, Fault] = {}
    for fault in faults:
        if fault.id.casefold() in by_id:
            raise ValueError(f"two faults are called {fault.id}")
        by_id[fault.id.casefold()] = fault
    return tuple(faults)


def select(faults: Iterable[Fault], ids: Sequence[str]) -> tuple[Fault, ...]:
    """The faults with these ids; all, if none is given.

    Raises:
        UnknownIdError: No fault has one of the ids; the message suggests the nearest.
    """
    table = {fault.id.casefold(): fault for fault in faults}
    chosen = [find(i.casefold(), table, "fault", shown=i) for i in ids] or table.values()
    return tuple({fault.id: fault for fault in chosen}.values())
