"""What a trace needs of an agent: the problem put to both sides, and whoever answers it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, Protocol

from parity.trace.compare import Comparator
from parity.trace.quantity import Arrays, Quantity

Start = Literal["initial", "spread"]
STARTS: tuple[Start, ...] = ("initial", "spread")


class NameMapError(Exception):
    """The parameters of the two sides do not stand for each other; names which do not."""


class PaddingError(Exception):
    """Numbers that the name map drops take part in the reference's computation."""


class Names(Protocol):
    """The bijection between the parameters of the two sides."""

    @property
    def names(self) -> Mapping[str, str]:
        """The reference's name of each of the core's leaves."""
        ...

    @property
    def dropped(self) -> int:
        """How many of the reference's numbers have no counterpart."""
        ...


@dataclasses.dataclass(frozen=True)
class StepAnswer:
    """The reference's side of one step.

    Attributes:
        reference: Every compared array.
        exact: Likewise, of the float64 run.
        noise: The draws that it used, for the subject to use.
    """

    reference: Arrays
    exact: Arrays
    noise: Arrays


class Answers(Protocol):
    """What a trace asks of the reference."""

    def check(self, starts: Iterable[Start], steps: int) -> None:
        """Raises `CannotMeasureError` where it is known beforehand that there is no answer."""
        ...

    def initial(self) -> Any:
        """The state of a fresh agent, which has `parameters`."""
        ...

    def steps(self, start: Start, state: Any, names: Any, count: int) -> Iterator[StepAnswer]:
        """The reference's side of so many steps from a state."""
        ...


class Subject(Protocol):
    """Whoever takes the steps that are held against the reference's.

    Attributes:
        name: What reports call it.
        partial: Whether it may leave quantities out.
    """

    name: str
    partial: bool

    def names(self, reference: Any) -> Names:
        """Which of the core's parameters is which; raises `NameMapError` where one is not."""
        ...

    def leaves(self, names: Any) -> Mapping[str, str]:
        """What the subject's arrays call each of the core's parameters."""
        ...

    def carried_over(self, reference: Any, names: Any) -> Any:
        """The reference's state, before its first step, as the subject's."""
        ...

    def step(self, before: Any, batch: Arrays, noise: Arrays, /) -> tuple[Arrays, Any]:
        """One step: its arrays under the names of the quantities, and the state after it."""
        ...


class Problem(Protocol):
    """What is put to both sides."""

    @property
    def title(self) -> str:
        """What is traced, in a few words."""
        ...

    @property
    def notes(self) -> Sequence[str]:
        """What a reader of the trace has to know of it, one sentence each."""
        ...

    def as_json(self) -> dict[str, Any]:
        """The same for a program."""
        ...

    def start_from(self, start: Start, fresh: Any) -> Any:
        """The reference's state at which a trace starts."""
        ...

    def comparator(self, state: Any) -> Comparator:
        """Compares the steps from a state of the reference."""
        ...

    def quantities(self, leaves: Iterable[str], start: Start) -> Sequence[Quantity]:
        """Everything that is compared in a step, in order, for parameters of these names."""
        ...

    def renamed(self, arrays: Mapping[str, Any], leaves: Mapping[str, str]) -> Arrays:
        """Arrays under the names of `quantities`, with other names for the parameters."""
        ...

    def batch_of(self, step: int) -> Arrays:
        """What a step learns from."""
        ...

    def nudged(self, step: int, used: Arrays) -> tuple[int, int]:
        """How many draws got other noise than was made for them, of how many."""
        ...
