"""An agent whose networks compute nothing, for runs of which only the rest is of interest."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from types import ModuleType
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from core.tdmpc2.intermediates import watched


class State(NamedTuple):
    """Numbers that a seed decides, and how many updates there were."""

    params: Any
    updates: jax.Array


class Idle:
    """What the core's training asks of an agent; see `core.tdmpc2.agent.Agent`.

    Its planned actions are 2 throughout, which no random one is.
    """

    def __init__(self, config: Any, observation_size: int, action_size: int, episode_length: int):
        self.config, self.episode_length = config, episode_length
        self.observation_size, self.action_size = observation_size, action_size

    @classmethod
    def of_tasks(cls, config: Any, tasks: Any) -> Idle:
        """See `Agent.of_tasks`."""
        longest = max(tasks.episode_lengths)
        return cls(config, tasks.observation_size, tasks.action_size, longest)

    def init(self, key: Any) -> State:
        """Draws its numbers."""
        return State(jax.random.normal(key, (8,)), jnp.zeros((), jnp.int32))

    def initial_carry(self, n: int) -> Any:
        """What it remembers, which is nothing."""
        return jnp.zeros((n, self.config.horizon, self.action_size))

    def acting_noise(self, key: Any, n: int, *, explore: bool = True) -> Any:
        """Whether there would be some."""
        del key
        return jnp.full(n, explore)

    def act(self, params: Any, carry: Any, observation: Any, t0: Any, noise: Any) -> Any:
        """Twos."""
        del params, t0, noise
        return carry, jnp.full((len(observation), self.action_size), 2.0)

    def update_noise(self, key: Any) -> Any:
        """None."""
        del key

    def update(self, state: State, batch: Any, noise: Any) -> tuple[State, dict[str, Any]]:
        """Counts."""
        del noise
        metrics: dict[str, Any] = {name: batch.reward.mean() for name in watched(self.config)}
        return state._replace(updates=state.updates + 1), metrics


@contextlib.contextmanager
def in_place_of_the_agent(module: ModuleType, stand_in: type = Idle) -> Iterator[None]:
    """A module of the core makes this one where it would make its agent."""
    stock = module.Agent
    module.Agent = stand_in  # type: ignore[attr-defined]
    try:
        yield
    finally:
        module.Agent = stock  # type: ignore[attr-defined]
