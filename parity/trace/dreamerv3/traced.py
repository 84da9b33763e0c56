"""DreamerV3's side of what a trace needs of an agent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from core.dreamerv3.types import Discrete
from parity.trace.compare import Comparator
from parity.trace.dreamerv3.conditions import LaPropConditions
from parity.trace.dreamerv3.problem import Problem, make_noise, make_rows
from parity.trace.dreamerv3.quantities import quantities, renamed
from parity.trace.dreamerv3.reference import ReferenceState
from parity.trace.dreamerv3.starts import start_from
from parity.trace.quantity import Arrays, Quantity
from parity.trace.sides import Start

# What a pin is known to do otherwise, in the quantity in which a trace meets it first.
KNOWN: Mapping[str, str] = {
    "dreamerv3-2411f7d": "at this pin, row D36: the context's action (the first of "
    "previous_actions, and all that follows from it) is not the stored one (`parity show D36`)",
}


class TracedProblem:
    """A training step of DreamerV3; see `parity.trace.sides.Problem`.

    Args:
        problem: What is traced.
        pin: The reference's.
    """

    def __init__(self, problem: Problem, pin: str = "dreamerv3-29eb964"):
        self._problem = problem
        self._pin = pin

    @property
    def title(self) -> str:
        """What is traced, in a few words."""
        p = self._problem
        return f"{p.kind} actions, {p.dtype}, B = {p.batch}, T = {p.length}"

    @property
    def notes(self) -> Sequence[str]:
        """What the pin is known to do otherwise."""
        return [KNOWN[self._pin]] if self._pin in KNOWN else []

    def as_json(self) -> dict[str, Any]:
        """The same for a program."""
        p = self._problem
        return {
            "config": p.config.to_dict(),
            "observation_size": p.observation_size,
            "actions": repr(p.actions),
            "batch": p.batch,
            "length": p.length,
            "seed": p.seed,
        }

    def start_from(self, start: Start, fresh: ReferenceState) -> ReferenceState:
        """The reference's state at which a trace starts."""
        return start_from(start, fresh, self._problem.seed)

    def comparator(self, state: ReferenceState) -> Comparator:
        """Compares the steps from a state of the reference."""
        updates = int(state.state["agent/opt/step/value"])
        conditions = LaPropConditions(self._problem.config, updates)
        return Comparator(conditions, self._problem.dtype)

    def quantities(self, leaves: Iterable[str], start: Start) -> Sequence[Quantity]:
        """Everything that is compared in a step, in order."""
        del start
        return quantities(leaves)

    def renamed(self, arrays: Mapping[str, Any], leaves: Mapping[str, str]) -> Arrays:
        """Arrays under the names of `quantities`, with other names for the parameters."""
        return renamed(arrays, leaves)

    def batch_of(self, step: int) -> Arrays:
        """What a step learns from."""
        return make_rows(self._problem, step)

    def nudged(self, step: int, used: Arrays) -> tuple[int, int]:
        """How many categorical draws got other noise than was made for them, of how many."""
        made = make_noise(self._problem, step)
        discrete = isinstance(self._problem.actions, Discrete)
        categorical = ("posterior", "prior", *(("action",) if discrete else ()))
        changed = [(made[name] != used[name]).any(-1) for name in categorical]
        return sum(int(x.sum()) for x in changed), sum(int(np.size(x)) for x in changed)
