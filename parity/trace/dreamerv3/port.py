"""Somebody's port as the subject of a trace: one function that takes a whole training step."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

import numpy as np

from core.dreamerv3 import twohot
from core.dreamerv3.types import Discrete
from parity.implementations import AnswerError, Implementation
from parity.subjects import TRAINING_STEP
from parity.trace.dreamerv3.meanings import MEANINGS
from parity.trace.dreamerv3.names import NameMap
from parity.trace.dreamerv3.problem import Problem, make_rows
from parity.trace.dreamerv3.quantities import quantities, renamed
from parity.trace.dreamerv3.reference import ReferenceState, slow_critic
from parity.trace.dreamerv3.subject import TracedCore
from parity.trace.quantity import Arrays
from parity.trace.sides import Answers


class TracedPort:
    """A port's first training step for one problem.

    Parameters have the reference's names, without `agent/` before them and without the column
    that pads the two-hot logits: `enc/mlp0/kernel`.

    Attributes:
        name: What reports call it.
        partial: It need not answer with every quantity.
    """

    partial = True

    def __init__(self, problem: Problem, port: Implementation):
        self.name = port.name
        self._problem = problem
        self._port = port
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
        """See `Subject`; there is no state after it, so it is the only one.

        Raises:
            CannotMeasureError: The port takes no training step.
            AnswerError: It failed, or answered with what is no quantity of a step.
        """
        answer = self._port.answer(TRAINING_STEP, _copied(self._inputs(before, rows, noise)))
        leaves = before["parameters"]
        known = [quantity.name for quantity in quantities(sorted(leaves))]
        for name, value in answer.items():
            if name not in known:
                near = difflib.get_close_matches(str(name), known, n=1)
                hint = f"; did you mean {near[0]}?" if near else ""
                raise AnswerError(
                    f"{self.name} answers {TRAINING_STEP} with {name!r}, which is no quantity of "
                    f"a step{hint} (`--quantities` lists them)"
                )
            if not isinstance(value, np.ndarray) or value.dtype.kind not in "biuf":
                what = value.dtype if isinstance(value, np.ndarray) else type(value).__name__
                raise AnswerError(
                    f"{self.name} answers {TRAINING_STEP} with {name!r} as {what}; give a numpy "
                    f"array of numbers"
                )
        if not answer:
            raise AnswerError(f"{self.name} answers {TRAINING_STEP} with nothing at all")
        return answer, None

    def signature(self, answers: Answers) -> list[str]:
        """What the function is given, and what it may answer with, by name and shape.

        Raises:
            CannotMeasureError, AnswerError, HarnessError: The reference gives no answer.
        """
        problem, state = self._problem, answers.initial()
        names = self.names(state)
        (theirs,) = answers.steps("initial", state, names, 1)
        before = self.carried_over(state, names)
        inputs = self._inputs(before, make_rows(problem, 0), theirs.noise)
        lines = [f"{TRAINING_STEP}, B = {problem.batch}, T = {problem.length}; it is given"]
        for keyword, value in inputs.items():
            if isinstance(value, Mapping):
                lines.append(f"  {keyword}: a dictionary of")
                lines += [f"    {name}: {_kind(item)}" for name, item in value.items()]
            else:
                lines.append(f"  {keyword}: {_kind(value)}")
        lines.append("and answers with any of these, in the order of computation")
        offered = renamed(theirs.reference, self.leaves(names))
        told = set()
        for quantity in quantities(sorted(before["parameters"])):
            # What a tree holds is said at its first leaf.
            meaning = "" if quantity.group in told else f"; {MEANINGS[quantity.group]}"
            told.add(quantity.group)
            lines.append(f"  {quantity.name}: {_kind(offered[quantity.name])}{meaning}")
        return lines

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


def _copied(value: Any) -> Any:
    """The value with arrays of its own, which a port may change as it likes."""
    if isinstance(value, Mapping):
        return {name: _copied(item) for name, item in value.items()}
    return value.copy() if isinstance(value, np.ndarray) else value


def _kind(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {list(value.shape)}"
    return repr(value)
