"""Episodes that are cut off after a number of steps."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from core.environments.environment import Environment, State, Step
from core.spaces import ActionSpace


class Timed(NamedTuple):
    """A state, and how many steps the episode has taken."""

    state: State
    elapsed: Int[Array, ""]


class TimeLimit:
    """Truncates an episode after `limit` steps of the environment below.

    Action repeat goes on the outside, so that the limit counts the environment's own
    steps and may fall in the middle of a repeat.
    """

    def __init__(self, environment: Environment, limit: int):
        self._environment = environment
        self._limit = limit

    @property
    def observation_size(self) -> int:
        """Length of the flat observation."""
        return self._environment.observation_size

    @property
    def episode_length(self) -> int:
        """Actions until an episode is cut off."""
        return self._limit

    @property
    def action_space(self) -> ActionSpace:
        """That of the environment below."""
        return self._environment.action_space

    def reset(self, key: PRNGKeyArray) -> tuple[Timed, Float[Array, " observation_size"]]:
        """Begins an episode, at time 0."""
        state, observation = self._environment.reset(key)
        return Timed(state, jnp.zeros((), jnp.int32)), observation

    def step(self, key: PRNGKeyArray, state: Timed, action: Array) -> Step:
        """Takes one action, and truncates if it was the last one allowed."""
        inner, observation, reward, terminated, truncated = self._environment.step(
            key, state.state, action
        )
        elapsed = state.elapsed + 1
        return (
            Timed(inner, elapsed),
            observation,
            reward,
            terminated,
            truncated | (elapsed >= self._limit),
        )
