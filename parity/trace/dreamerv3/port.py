"""Somebody's port of DreamerV3 as the subject of a trace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.dreamerv3 import twohot
from core.dreamerv3.types import Discrete
from parity.implementations import Implementation
from parity.trace.dreamerv3.meanings import MEANINGS
from parity.trace.dreamerv3.names import NameMap
from parity.trace.dreamerv3.problem import Problem, make_rows
from parity.trace.dreamerv3.quantities import quantities, renamed
from parity.trace.dreamerv3.reference import ReferenceState, slow_critic
from parity.trace.dreamerv3.subject import TracedCore
from parity.trace.port import Port
from parity.trace.quantity import Arrays
from parity.trace.sides import Answers

TRAINING_STEP = "dreamerv3.training_step"


class TracedPort(Port):
    """A port's first training step for one problem.

    Parameters have the reference's names, without `agent/` before them and without the column
    that pads the two-hot logits: `enc/mlp0/kernel`.
    """

    def __init__(self, problem: Problem, port: Implementation):
        super().__init__(TRAINING_STEP, port)
        self._problem = problem
        self._core = TracedCore(problem)  # of which only the names are used

    def names(self, reference: ReferenceState) -> NameMap:
        """See `Subject`."""
        return self._core.names(reference)

    def leaves(self, names: NameMap) -> Mapping[str, str]:
        """See `Subject`."""
        return {ours: theirs.removeprefix("agent/") for ours, theirs in names.names.items()}

    def carried_over(self, reference: ReferenceState, names: NameMap) -> dict[str, Any]:
        """See `Subject`: what the port is told of the state."""
        leaves = self.leaves(names)
        slow = slow_critic(reference, names)
        ends = ("low", "high")
        return {
            "parameters": {leaves[k]: v for k, v in names.to_core(reference.parameters).items()},
            "slow_critic": {leaves[k].partition("/")[2]: v for k, v in slow.items()},
            "normaliser": {end: reference.state[f"agent/retnorm/{end}/value"] for end in ends},
            "updates": int(reference.state["agent/opt/step/value"]),
        }

    def step(self, before: dict[str, Any], rows: Arrays, noise: Arrays) -> tuple[Arrays, None]:
        """See `Subject` and `Port.ask`; there is no state after it, so it is the only one."""
        inputs = self._inputs(before, rows, noise)
        return self.ask(inputs, quantities(sorted(before["parameters"]))), None

    def signature(self, answers: Answers) -> list[str]:
        """See `Port.describe`.

        Raises:
            CannotMeasureError, AnswerError, HarnessError: The reference gives no answer.
        """
        problem, state = self._problem, answers.initial()
        names = self.names(state)
        (theirs,) = answers.steps("initial", state, names, 1)
        before = self.carried_over(state, names)
        return self.describe(
            f"B = {problem.batch}, T = {problem.length}",
            self._inputs(before, make_rows(problem, 0), theirs.noise),
            quantities(sorted(before["parameters"])),
            renamed(theirs.reference, self.leaves(names)),
            MEANINGS,
        )

    def _inputs(self, before: dict[str, Any], rows: Arrays, noise: Arrays) -> dict[str, Any]:
        actions = self._problem.actions
        return {
            **before,
            "batch": rows,
            "noise": noise,
            "bins": twohot.make_bins(self._problem.config.bins),
            "settings": {
                **self._problem.config.to_dict(),
                "observation_size": self._problem.observation_size,
                "discrete": isinstance(actions, Discrete),
                "actions": actions.n if isinstance(actions, Discrete) else actions.size,
            },
        }
