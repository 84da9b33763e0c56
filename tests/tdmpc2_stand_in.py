"""A stand-in for TD-MPC2's networks and planner, for runs in which only the rest is of interest.

The real ones take long to compile. This one has one parameter per action, and lets every part
of a run's state bear on all that follows: it acts on what it carries, learns from its batches
and its noise, and knows when an episode begins.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from core.spaces import Continuous
from core.tdmpc2.intermediates import watched


class Params(NamedTuple):
    weights: jax.Array
    updates: jax.Array

    @property
    def params(self):
        return self.weights


class StandIn:
    """What `core.tdmpc2.train` asks of an agent; see `core.tdmpc2.agent.Agent`."""

    def __init__(self, config, observation_size, action_size, episode_length):
        self.config, self.episode_length = config, episode_length
        self.observation_size, self.action_size = observation_size, action_size

    def init(self, key):
        shape = (self.observation_size, self.action_size)
        return Params(jax.random.normal(key, shape), jnp.zeros((), jnp.int32))

    def initial_carry(self, n):
        return jnp.zeros((n, self.config.horizon, self.action_size))

    def acting_noise(self, key, n, *, explore=True):
        return jax.random.normal(key, (n, self.action_size)) * (1.0 if explore else 0.5)

    def act(self, params, carry, observation, t0, noise):
        before = jnp.where(t0[:, None, None], 0.0, carry)
        action = jnp.tanh(observation @ params + before.mean(1) + noise)
        return before + action[:, None] + 1.0, action

    def update_noise(self, key):
        return jax.random.normal(key, ())

    def update(self, state, batch, noise):
        predicted = (batch.observation[:-1] @ state.weights).sum(-1) + batch.action.sum(-1)
        error = jnp.mean(predicted - batch.reward - batch.terminated) + noise
        pull = batch.observation.mean((0, 1))[:, None] + error
        weights = state.weights * 0.9 - 1e-2 * jnp.tanh(pull)
        loss = jnp.square(error) + jnp.square(weights).sum()
        return Params(weights, state.updates + 1), dict.fromkeys(watched(self.config), loss)


class Clock(NamedTuple):
    time: jax.Array
    start: jax.Array
    ends: jax.Array


class Tape:
    """Observes [a number of the episode, steps taken]; pays the steps taken plus the action.

    Episodes have `length` steps. One whose number is above `doomed` ends by itself, after
    `ends` of them: a number that is part of the state, so that tests can change it.
    """

    observation_size = 2
    action_space = Continuous(1)

    def __init__(self, length, *, ends=0, doomed=np.inf):
        self.episode_length, self.ends, self.doomed = length, ends, doomed

    def reset(self, key):
        start = jax.random.uniform(key)
        ends = jnp.where(start > self.doomed, self.ends, 1000)
        state = Clock(jnp.zeros((), jnp.int32), start, ends)
        return state, self._seen(state)

    def step(self, key, state, action):
        del key
        state = state._replace(time=state.time + 1)
        terminated = state.time >= state.ends
        truncated = state.time >= self.episode_length
        reward = state.time + action[0]
        return state, self._seen(state), reward, terminated, truncated & ~terminated

    def _seen(self, state):
        return jnp.stack([state.start, state.time.astype(jnp.float32)])
