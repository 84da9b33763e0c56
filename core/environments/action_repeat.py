"""One decision for several steps."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from core.environments import states
from core.environments.environment import State, Step, TimedEnvironment
from core.spaces import ActionSpace


class ActionRepeat:
    """Takes every action `repeats` times, and sums the rewards.

    An episode that ends in between stops there: what the remaining repeats would have
    done or earned is dropped, and the observation is that of the step that ended it. This
    is what dm_control wrappers do; the wrapper that comes with mujoco_playground runs on
    and keeps the last step's flags only (row E19).
    """

    def __init__(self, environment: TimedEnvironment, repeats: int):
        self._environment = environment
        self._repeats = repeats

    @property
    def observation_size(self) -> int:
        """Length of the flat observation."""
        return self._environment.observation_size

    @property
    def episode_length(self) -> int:
        """Actions until an episode is cut off, perhaps amid the repeats of the last one."""
        return -(-self._environment.episode_length // self._repeats)

    @property
    def action_space(self) -> ActionSpace:
        """That of the environment below."""
        return self._environment.action_space

    def reset(self, key: PRNGKeyArray) -> tuple[State, Float[Array, " observation_size"]]:
        """Begins an episode."""
        return self._environment.reset(key)

    def step(self, key: PRNGKeyArray, state: State, action: Array) -> Step:
        """Takes one action up to `repeats` times."""

        def once(before: Step, key: PRNGKeyArray) -> tuple[Step, None]:
            inner, _, total, terminated, truncated = before
            stepped, observation, reward, *ends = self._environment.step(key, inner, action)
            after = (stepped, observation, total + reward, *ends)
            return states.select(terminated | truncated, before, after), None

        # The scan, rather than a first step in front of it, compiles the physics once.
        start = (
            state,
            jnp.zeros(self.observation_size, jnp.float32),
            jnp.zeros((), jnp.float32),
            jnp.zeros((), bool),
            jnp.zeros((), bool),
        )
        end, _ = jax.lax.scan(once, start, jax.random.split(key, self._repeats))
        return end
