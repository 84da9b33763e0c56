"""Somebody's port of TD-MPC2 as the subject of a trace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from parity.implementations import Implementation
from parity.trace.port import Port
from parity.trace.quantity import Arrays
from parity.trace.sides import Answers
from parity.trace.tdmpc2.answers import batch_of
from parity.trace.tdmpc2.meanings import MEANINGS
from parity.trace.tdmpc2.names import NameMap
from parity.trace.tdmpc2.problem import Problem
from parity.trace.tdmpc2.quantities import quantities, renamed
from parity.trace.tdmpc2.reference import ReferenceState
from parity.trace.tdmpc2.subject import TracedCore, parted

TRAINING_STEP = "tdmpc2.training_step"


class TracedPort(Port):
    """A port's first plan and update for one problem.

    Parameters have plain names, `encoder/hidden0/kernel`; kernels are [inputs, outputs], those
    of the Q networks [networks, inputs, outputs], and scale and offset are a layer norm's.
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
        return {name: name.replace("/affine/", "/") for name in names.names}

    def carried_over(self, reference: ReferenceState, names: NameMap) -> dict[str, Any]:
        """See `Subject`: what the port is told of the state."""
        leaves = self.leaves(names)

        def named(arrays: Arrays) -> Arrays:
            return {leaves[name]: value for name, value in names.to_core(arrays).items()}

        return {
            "parameters": named(reference.parameters),
            "target_q": named(reference.target_q),
            "left_over": named(reference.left_over),
            "scale": reference.state["scale"],
            "updates": int(reference.state["updates"]),
        }

    def step(self, before: dict[str, Any], batch: Arrays, noise: Arrays) -> tuple[Arrays, None]:
        """See `Subject` and `Port.ask`; there is no state after it, so it is the only one."""
        inputs = self._inputs(before, batch, noise)
        return self.ask(inputs, quantities(sorted(before["parameters"]))), None

    def signature(self, answers: Answers) -> list[str]:
        """See `Port.describe`.

        Raises:
            CannotMeasureError, AnswerError, HarnessError: The reference gives no answer.
        """
        problem, state = self._problem, answers.initial()
        names, c = self.names(state), problem.config
        (theirs,) = answers.steps("initial", state, names, 1)
        before = self.carried_over(state, names)
        sampled = c.num_samples - c.num_pi_trajs
        return self.describe(
            f"B = {c.batch_size}, H = {c.horizon}, {sampled} + {c.num_pi_trajs} trajectories",
            self._inputs(before, batch_of(problem, 0), theirs.noise),
            quantities(sorted(before["parameters"])),
            renamed(theirs.reference, self.leaves(names)),
            MEANINGS,
        )

    def _inputs(self, before: dict[str, Any], batch: Arrays, noise: Arrays) -> dict[str, Any]:
        problem = self._problem
        (plan, batch), (plan_noise, noise) = parted(batch), parted(noise)
        lengths, masks = (problem.episode_length,), None
        if problem.tasks is not None:
            lengths, masks = problem.tasks.episode_lengths, problem.tasks.masks
        return {
            **before,
            "batch": batch,
            "noise": noise,
            "plan": plan,
            "plan_noise": plan_noise,
            "masks": masks,
            "settings": {
                **problem.config.to_dict(),
                "observation_size": problem.observation_size,
                "action_size": problem.action_size,
                "discounts": [problem.config.discount(length) for length in lengths],
            },
        }
