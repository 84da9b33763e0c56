"""The reference's side of a trace: asks its worker, and reads the answer in our terms."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from parity.trace.answers import split
from parity.trace.quantity import Arrays
from parity.trace.tdmpc2.names import NameMap
from parity.trace.tdmpc2.problem import Problem
from parity.workers import Asked, ask, start_reference

OPERATIONS = "reference_harness.tdmpc2.trace"
_TIME_LIMIT = 1800.0


@dataclasses.dataclass(frozen=True)
class ReferenceState:
    """Everything that the reference's updates change.

    Attributes:
        state: By the harness's names: parameter/..., first_moment/..., second_moment/...,
            left_over/... (gradients that nothing has cleared), scale, updates.
    """

    state: Mapping[str, np.ndarray]

    @property
    def parameters(self) -> Arrays:
        """The optimised parameters."""
        found = split(dict(self.state), ("parameter",))["parameter"]
        return {name: value for name, value in found.items() if not name.startswith("target_")}

    @property
    def target_q(self) -> Arrays:
        """The target networks, under the names of the Q networks."""
        found = split(dict(self.state), ("parameter",))["parameter"]
        return {
            f"q_{name.removeprefix('target_')}": value
            for name, value in found.items()
            if name.startswith("target_")
        }

    @property
    def left_over(self) -> Arrays:
        """Gradients of earlier updates that the next one meets."""
        return split(dict(self.state), ("left_over",))["left_over"]


def start(pin: str) -> Asked:
    """The worker that answers traces at a pin.

    Raises:
        CannotMeasureError: The pin is not installed here.
        HarnessError: Its installation is damaged.
    """
    return start_reference(pin, operations=OPERATIONS, time_limit=_TIME_LIMIT)


class TracedReference:
    """The reference's update and plan for one problem, in one precision.

    Args:
        worker: From `start`.
        problem: What is asked.
        dtype: float32 or float64.
    """

    def __init__(self, worker: Asked, problem: Problem, dtype: str):
        self._worker = worker
        self._settings = problem.reference_settings(dtype)

    def initial(self) -> ReferenceState:
        """The state of a fresh agent."""
        return ReferenceState(ask(self._worker, "tdmpc2.trace_initial", self._of()))

    def update(
        self, before: ReferenceState, batch: Arrays, noise: Arrays
    ) -> tuple[Arrays, ReferenceState]:
        """One update: what was read, and the state after it."""
        inputs = self._of(state=dict(before.state), batch=batch, noise=noise)
        answer = ask(self._worker, "tdmpc2.trace_update", inputs)
        found = split(answer, ("trace", "state"))
        return found["trace"], ReferenceState(found["state"])

    def plan(self, before: ReferenceState, inputs: Mapping[str, Any], noise: Arrays) -> Arrays:
        """One plan in training: what was read."""
        asked = self._of(state=dict(before.state), noise=noise, t0=False, eval_mode=False, **inputs)
        answer = ask(self._worker, "tdmpc2.trace_plan", asked)
        return {f"plan_{k}": v for k, v in split(answer, ("trace",))["trace"].items()}

    def _of(self, **inputs: Any) -> dict[str, Any]:
        return {"settings": self._settings, **inputs}


def intermediates(plan: Arrays, read: Arrays, after: ReferenceState, names: NameMap) -> Arrays:
    """What was read in one step, under the names of `quantities`."""
    found = {name: value for name, value in read.items() if "/" not in name} | plan
    found |= {f"gradient/{k}": v for k, v in names.to_core(read, "gradient/").items()}
    for tree in ("second_moment", "first_moment", "parameter"):
        found |= {f"{tree}/{k}": v for k, v in names.to_core(after.state, f"{tree}/").items()}
    found |= {f"target_q/{k}": v for k, v in names.to_core(after.target_q).items()}
    return found | {"scale": after.state["scale"], "updates": after.state["updates"]}
