"""TD-MPC2's side of what a trace needs of an agent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from core.tdmpc2.config import ERAS, Config
from parity.trace.compare import Comparator
from parity.trace.quantity import Arrays, Quantity
from parity.trace.sides import Start
from parity.trace.tdmpc2.answers import batch_of
from parity.trace.tdmpc2.conditions import AdamConditions
from parity.trace.tdmpc2.problem import Problem
from parity.trace.tdmpc2.quantities import PLAN, quantities, renamed
from parity.trace.tdmpc2.reference import ReferenceState
from parity.trace.tdmpc2.starts import start_from

# The registered deviations that keys of the configuration make, where the eras part.
ROWS: Mapping[str, str] = {
    "q_dropout": "T30",
    "policy_entropy": "T31",
    "q_init": "T32",
    "clip_with_policy": "T33",
    "policy_trains_tasks": "T35",
}


class TracedProblem:
    """A plan and an update of TD-MPC2; see `parity.trace.sides.Problem`."""

    def __init__(self, problem: Problem):
        self._problem = problem

    @property
    def title(self) -> str:
        """What is traced, in a few words."""
        p, c = self._problem, self._problem.config
        tasks = f"{len(p.tasks)} tasks" if p.tasks else "one task"
        tasks += ", episodic mode" * c.episodic
        return f"{tasks}, float32, B = {c.batch_size}, H = {c.horizon}, {c.num_samples} samples"

    @property
    def notes(self) -> Sequence[str]:
        """What the pin's era does otherwise than the paper's, which the core does as well."""
        config, paper = self._problem.config.to_dict(), Config().to_dict()
        return [
            f"of this era, row {ROWS[key]}: {key} = {config[key]}, in the paper's {paper[key]}"
            for key in self._of_the_era
        ]

    @property
    def _of_the_era(self) -> list[str]:
        """The keys of the configuration that are not those of the paper's era."""
        config, paper = self._problem.config.to_dict(), Config().to_dict()
        keys = sorted({key for era in ERAS.values() for key in era})
        return [key for key in keys if config[key] != paper[key]]

    def as_json(self) -> dict[str, Any]:
        """The same for a program."""
        p = self._problem
        return {
            "config": p.config.to_dict(),
            "observation_size": p.observation_size,
            "actions": p.action_size,
            "tasks": list(p.tasks.names) if p.tasks else [],
            "seed": p.seed,
            "rows_of_the_era": [ROWS[key] for key in self._of_the_era],
        }

    def start_from(self, start: Start, fresh: ReferenceState) -> ReferenceState:
        """The reference's state at which a trace starts."""
        return start_from(start, fresh, self._problem)

    def comparator(self, state: ReferenceState) -> Comparator:
        """Compares the steps from a state of the reference."""
        del state
        return Comparator(AdamConditions(self._problem.config), "float32")

    def quantities(self, leaves: Iterable[str], start: Start) -> Sequence[Quantity]:
        """Everything that is compared in a step, in order.

        A fresh agent predicts 0 of every trajectory. Which of them are its elites is decided by
        rounding, and nothing that follows from them can be compared.
        """
        found = quantities(leaves)
        if start == "initial":
            return [quantity for quantity in found if quantity not in PLAN[1:]]
        return found

    def renamed(self, arrays: Mapping[str, Any], leaves: Mapping[str, str]) -> Arrays:
        """Arrays under the names of `quantities`, with other names for the parameters."""
        return renamed(arrays, leaves)

    def batch_of(self, step: int) -> Arrays:
        """What a step learns from, and what it plans from."""
        return batch_of(self._problem, step)

    def nudged(self, step: int, used: Arrays) -> tuple[int, int]:
        """No draw is changed."""
        del step, used
        return 0, 0
