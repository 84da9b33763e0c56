"""An environment whose every number can be worked out by hand."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from core.spaces import Discrete


class State(NamedTuple):
    start: jax.Array
    time: jax.Array


class CountingEnvironment:
    """Observes [a number drawn at the reset, steps taken, last action]; reward 1 per step."""

    observation_size = 3
    action_space = Discrete(5)

    def __init__(self, length, *, terminates=True):
        self._length = length
        self._terminates = terminates

    def reset(self, key):
        state = State(jax.random.uniform(key), jnp.zeros((), jnp.int32))
        return state, jnp.stack([state.start, 0.0, 0.0])

    def step(self, key, state, action):
        del key
        state = state._replace(time=state.time + 1)
        observation = jnp.stack([state.start, state.time.astype(float), action.astype(float)])
        ended = state.time >= self._length
        no = jnp.zeros((), bool)
        ends = (ended, no) if self._terminates else (no, ended)
        return state, observation, jnp.ones(()), *ends
