"""An environment that costs nothing: it stands still."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array

from core.spaces import ActionSpace


class _Still(NamedTuple):
    observation: Array


@dataclasses.dataclass(frozen=True)
class StandIn:
    """Of any size.

    Attributes:
        observation_size: Length of the observation, which is zero.
        action_space: What it takes and ignores.
        episode_length: Actions until an agent that asks for a time limit believes in one.
    """

    observation_size: int
    action_space: ActionSpace
    episode_length: int = 500

    def reset(self, key: Array) -> tuple[_Still, Array]:
        """The only state there is."""
        del key
        observation = jnp.zeros(self.observation_size, jnp.float32)
        return _Still(observation), observation

    def step(self, key: Array, state: _Still, action: Array) -> Any:
        """The same state, a reward of 1, and no end."""
        del key, action
        no = jnp.zeros((), bool)
        return state, state.observation, jnp.ones(()), no, no
