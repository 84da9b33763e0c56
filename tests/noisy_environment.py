"""An environment of random starts and random steps that shows all of them."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from core.spaces import Discrete


class State(NamedTuple):
    start: jax.Array
    time: jax.Array


class NoisyEnvironment:
    """Observes [a number drawn at the reset, steps taken, a number drawn by the step, action].

    The number drawn at the reset decides how an episode ends; see `ends`. The reward is the
    number drawn by the step and the steps taken.
    """

    def __init__(self, action_space):
        self.action_space = action_space
        self._actions = 1 if isinstance(action_space, Discrete) else action_space.size
        self.observation_size = 3 + self._actions

    def reset(self, key):
        state = State(jax.random.uniform(key), jnp.zeros((), jnp.int32))
        return state, self._observation(state, 0.0, jnp.zeros(self._actions))

    def step(self, key, state, action):
        state = state._replace(time=state.time + 1)
        drawn = jax.random.uniform(key)
        terminated, truncated = ends(state.start, state.time)
        observation = self._observation(state, drawn, action)
        return state, observation, drawn + state.time, terminated, truncated

    @staticmethod
    def _observation(state, drawn, action):
        numbers = jnp.stack([state.start, state.time.astype(float), drawn])
        return jnp.concatenate([numbers, jnp.ravel(action).astype(float)])


def ends(start, time):
    """After 2 to 5 steps an episode is terminated, truncated, or both: six of each in 12."""
    numpy = jnp if isinstance(start, jax.Array) else np
    kind = numpy.floor(start * 12)
    over = time == 2 + kind % 4
    return over & (kind // 4 != 1), over & (kind // 4 != 0)
