"""gymnax environments: the bare dynamics, without gymnax's automatic reset."""

from __future__ import annotations

import math
from typing import Any

import gymnax
import jax
import jax.numpy as jnp
from gymnax.environments import spaces
from jaxtyping import Array, Float, PRNGKeyArray

from core.environments import states
from core.environments.action_bounds import stretched
from core.environments.environment import EnvironmentSetupError, State, Step
from core.spaces import ActionSpace, Continuous, Discrete


def _make(name: str) -> Any:
    try:
        return gymnax.make(name)
    except OSError as error:  # one of them trains on images that it downloads
        raise EnvironmentSetupError(f"gymnax could not make {name}: {error}") from error


class GymnaxEnvironment:
    """A registered gymnax environment.

    Observations are flattened and float32. Bounded continuous actions are scaled from
    [−1, 1] to the environment's own bounds. Reaching the time limit of the environment's
    parameters is a truncation, never a termination.
    """

    def __init__(self, name: str, *, time_limit: int | None = None):
        """Makes the environment.

        Args:
            name: A registered gymnax name, such as "CartPole-v1".
            time_limit: Steps after which an episode is cut off, in place of the default.

        Raises:
            EnvironmentSetupError: Its actions or observations are not single arrays, or it
                needs data that cannot be fetched.
        """
        # gymnax types environments by their own state and parameters; here they are opaque.
        made: Any = _make(name)
        self._environment, self._parameters = made
        if time_limit is not None:
            self._parameters = self._parameters.replace(max_steps_in_episode=time_limit)
        observation, _ = jax.eval_shape(
            self._environment.reset_env, jax.random.key(0), self._parameters
        )
        if not isinstance(observation, jax.ShapeDtypeStruct):
            raise EnvironmentSetupError(f"{name} observes several arrays; the agents take one")
        self._observation_size = math.prod(observation.shape)
        self._space = self._environment.action_space(self._parameters)
        if isinstance(self._space, spaces.Discrete):
            self._action_space = Discrete(self._space.n)
        elif isinstance(self._space, spaces.Box):
            self._action_space = Continuous(math.prod(self._space.shape))
        else:
            kind = type(self._space).__name__
            raise EnvironmentSetupError(
                f"{name} takes actions from a {kind}; the agents know Discrete and Box"
            )

    @property
    def observation_size(self) -> int:
        """Length of the flat observation."""
        return self._observation_size

    @property
    def episode_length(self) -> int:
        """Actions until an episode is cut off."""
        return int(self._parameters.max_steps_in_episode)

    @property
    def action_space(self) -> ActionSpace:
        """Discrete, or continuous in [−1, 1]."""
        return self._action_space

    def reset(self, key: PRNGKeyArray) -> tuple[State, Float[Array, " observation_size"]]:
        """Draws the beginning of an episode."""
        observation, state = self._environment.reset_env(key, self._parameters)
        return states.fixed(state), self._flat(observation)

    def step(self, key: PRNGKeyArray, state: State, action: Array) -> Step:
        """Takes one action."""
        if isinstance(self._action_space, Continuous):
            action = self._scaled(action)
        observation, after, reward, terminated, _ = self._environment.step_env(
            key, state, action, self._parameters
        )
        after = states.like(after, state)
        return (
            after,
            self._flat(observation),
            jnp.asarray(reward, jnp.float32).reshape(()),
            jnp.asarray(terminated, bool).reshape(()),
            jnp.asarray(self._environment.is_truncated(after, self._parameters), bool).reshape(()),
        )

    def _flat(self, observation: Array) -> Float[Array, " observation_size"]:
        return jnp.asarray(observation, jnp.float32).reshape(self._observation_size)

    def _scaled(self, action: Float[Array, " size"]) -> Array:
        return stretched(action.reshape(self._space.shape), self._space.low, self._space.high)
