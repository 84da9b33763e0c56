"""What an agent may ask of an environment."""

from __future__ import annotations

from typing import Any, Protocol

from jaxtyping import Array, Bool, Float, PRNGKeyArray

from core.spaces import ActionSpace

State = Any  # a pytree of arrays, opaque to everybody but its environment
Step = tuple[
    State, Float[Array, " observation_size"], Float[Array, ""], Bool[Array, ""], Bool[Array, ""]
]


class EnvironmentSetupError(ValueError):
    """An environment that does not exist, is not installed, or does not fit the agents."""


class Environment(Protocol):
    """One environment as pure functions: `jax.vmap` makes many of it.

    There is no automatic reset: what happens at an episode's end is the collector's
    affair (`core.environments.rows`), and stepping an ended episode means nothing.
    A state has the same structure, shapes and dtypes after a reset as after a step.
    """

    @property
    def observation_size(self) -> int:
        """Length of the flat observation."""
        ...

    @property
    def action_space(self) -> ActionSpace:
        """What `step` takes; continuous actions outside [−1, 1] are clipped."""
        ...

    def reset(self, key: PRNGKeyArray) -> tuple[State, Float[Array, " observation_size"]]:
        """Draws the beginning of an episode.

        Returns:
            The state, and the observation of it.
        """
        ...

    def step(self, key: PRNGKeyArray, state: State, action: Array) -> Step:
        """Takes one action.

        Args:
            key: For environments whose dynamics are random.
            state: Of an episode that has not ended.
            action: One element of `action_space`.

        Returns:
            The next state, its observation, the reward for getting there, whether the
            episode ended by itself, and whether a time limit cut it off (both may hold).
        """
        ...


class TimedEnvironment(Environment, Protocol):
    """An environment with a time limit."""

    @property
    def episode_length(self) -> int:
        """Actions until an episode is cut off."""
        ...
