"""The core's side: its updates and its policy, each as one jitted program.

Updates run in a loop within their program, as they do in training: the memory that a program
needs is then fetched from the system once and not for every update.
"""

from __future__ import annotations

import time
from typing import Any

import jax
import numpy as np

from benchmarks.dreamerv3.problems import ENVIRONMENTS, Case, columns, core_batch, observations
from benchmarks.timing import Seconds, timed


class Ours:
    """The core's agent on one case.

    Attributes:
        compile_seconds: How long the update took to trace and compile, without a cache.
    """

    def __init__(self, case: Case, dtype: str = "float32"):
        agent = case.agent
        if dtype != "float32":
            agent = type(agent)(
                agent.config.replace(compute_dtype=dtype),
                agent.observation_size,
                agent.action_space,
            )
        rows, context = jax.device_put(core_batch(columns(case)))
        B, T = rows.reward.shape

        def update(state: Any, rows: Any, context: Any, key: Any) -> Any:
            # The reference draws its random numbers within its step; so does this.
            return agent.update(state, rows, context, agent.draw_noise(key, B, T))

        def updates(state: Any, rows: Any, context: Any, key: Any, times: Any) -> Any:
            outputs = jax.eval_shape(update, state, rows, context, key)
            _, *rest = jax.tree.map(lambda x: jax.numpy.zeros(x.shape, x.dtype), outputs)
            return jax.lax.fori_loop(
                0,
                times,
                lambda i, carried: update(carried[0], rows, context, jax.random.fold_in(key, i)),
                (state, *rest),
            )

        def act(params: Any, carry: Any, observation: Any, is_first: Any, key: Any) -> Any:
            noise = agent.acting_noise(key, ENVIRONMENTS)
            return agent.act(params, carry, observation, is_first, noise)

        self._key = jax.random.key(0)
        self._state = jax.jit(agent.init)(self._key)
        self._batch = (rows, context)
        self._params = jax.tree.map(jax.numpy.copy, self._state.params)
        self._carry = agent.initial_carry(ENVIRONMENTS)
        self._observations = observations(case)
        self._act = jax.jit(act)
        started = time.perf_counter()
        jitted = jax.jit(updates, donate_argnums=0)
        self._updates = jitted.lower(self._state, *self._batch, self._key, 1).compile()
        self.compile_seconds = time.perf_counter() - started

    def update(self, times: int = 1) -> Seconds:
        """Seconds per update, of so many in one call, as the training program runs them."""
        taken = timed(lambda: self.run_updates(times))
        return Seconds(taken.wall / times, taken.cpu / times)

    def run_updates(self, times: int = 1) -> None:
        """Runs updates to their end; the state, the latents and the metrics are outputs."""
        self._key = jax.random.fold_in(self._key, 1)
        self._state, *rest = self._updates(self._state, *self._batch, self._key, times)
        jax.block_until_ready((self._state, rest))

    def act(self, times: int = 1) -> Seconds:
        """Seconds per row of all environments."""
        return timed(self.act_once, times)

    def act_once(self) -> None:
        """Actions for one row of every environment, brought to the host."""
        is_first = np.zeros(ENVIRONMENTS, bool)
        self._carry, action, _ = self._act(
            self._params, self._carry, self._observations, is_first, self._key
        )
        np.asarray(action)
