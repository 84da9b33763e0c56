"""The core's side: its updates and its plan, each as one jitted program.

Updates run in a loop within their program, as they do in training. Both programs draw their own
random numbers.
"""

from __future__ import annotations

import time
from typing import Any

import jax
import numpy as np

from benchmarks.tdmpc2.problems import Case, core_batch, observation
from benchmarks.timing import Seconds, timed


class Ours:
    """The core's agent on one case.

    Attributes:
        agent: Of the case.
        compile_seconds: How long the update took to trace and compile, without a cache.
    """

    def __init__(self, case: Case):
        self.agent = agent = case.agent
        self._batch = jax.device_put(core_batch(case))

        def updates(state: Any, batch: Any, key: Any, times: Any) -> Any:
            outputs = jax.eval_shape(agent.update, state, batch, agent.update_noise(key))
            metrics = jax.tree.map(lambda x: jax.numpy.zeros(x.shape, x.dtype), outputs[1])
            return jax.lax.fori_loop(
                0,
                times,
                lambda i, carried: agent.update(
                    carried[0], batch, agent.update_noise(jax.random.fold_in(key, i))
                ),
                (state, metrics),
            )

        def act(params: Any, carry: Any, seen: Any, key: Any) -> Any:
            noise = agent.acting_noise(key, 1)
            return agent.act(params, carry, seen, np.zeros(1, bool), noise)

        self._key = jax.random.key(0)
        self._state = jax.jit(agent.init)(self._key)
        self._params = jax.tree.map(jax.numpy.copy, self._state.params)
        self._carry = agent.initial_carry(1)
        self._observation = observation(case)[None]
        self._act = jax.jit(act)
        started = time.perf_counter()
        jitted = jax.jit(updates, donate_argnums=0)
        self._updates = jitted.lower(self._state, self._batch, self._key, 1).compile()
        self.compile_seconds = time.perf_counter() - started

    def update(self, times: int = 1) -> Seconds:
        """Seconds per update, of so many in one call, as the training program runs them."""
        taken = timed(lambda: self.run_updates(times))
        return Seconds(taken.wall / times, taken.cpu / times)

    def run_updates(self, times: int = 1) -> None:
        """Runs updates to their end."""
        self._key = jax.random.fold_in(self._key, 1)
        self._state, metrics = self._updates(self._state, self._batch, self._key, times)
        jax.block_until_ready((self._state, metrics))

    def plan(self, times: int = 1) -> Seconds:
        """Seconds per planned action."""
        return timed(self.plan_once, times)

    def plan_once(self) -> None:
        """One planned action, brought to the host."""
        self._key = jax.random.fold_in(self._key, 1)
        self._carry, action = self._act(self._params, self._carry, self._observation, self._key)
        np.asarray(action)
