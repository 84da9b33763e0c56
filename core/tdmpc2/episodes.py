"""The replay: whole episodes of T steps, one round of all environments after the other.

All environments begin and end their episodes together, so nothing about the replay has to be
stored but its contents: which round is being written, and how many are complete, follows from
the number of steps. The round that is being written has a place of its own, from which nothing
is sampled before its last step (row T26); it then takes the place of the oldest round.

A sample is a slice of H steps, with the observations around them: first an episode is drawn,
then where in it the slice begins, both uniformly. No slice crosses the end of an episode.

Source: `common/buffer.py@5f6fade`; the capacity is a number of episodes, as at b67b21c.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from core.tdmpc2.losses import Batch


class Episodes(NamedTuple):
    """The rounds. Round i of the run lies in place i mod places.

    Attributes:
        observation: Of every step, and the one that the last step led to.
        action: Taken on it.
        reward: Received for that.
    """

    observation: Float[Array, "places n_envs T1 observation_size"]
    action: Float[Array, "places n_envs T actions"]
    reward: Float[Array, "places n_envs T"]


ROUNDINGS = ("ceil", "floor")


def rounds(steps: int, length: int, n_envs: int, rounding: str = "ceil") -> int:
    """How many rounds a replay of so many steps holds: one at least.

    Args:
        steps: Of all environments together.
        length: Steps per episode.
        n_envs: Environments.
        rounding: "ceil": no step less than asked for; "floor": none more, as in the reference's
            first commit (`common/buffer.py:40@b67b21c`).
    """
    per_round = length * n_envs
    return max(1, steps // per_round if rounding == "floor" else -(-steps // per_round))


def init(
    capacity: int, n_envs: int, length: int, observation_size: int, action_size: int
) -> Episodes:
    """An empty replay, in its final size.

    A step takes 4 · (observation_size + actions + 1) bytes, an episode one more observation.

    Args:
        capacity: Complete rounds that can be sampled; one more is allocated, to write in.
        n_envs: Environments, hence episodes per round.
        length: Steps per episode.
        observation_size: Length of an observation.
        action_size: Length of an action.

    Raises:
        ValueError: A number is below 1.
    """
    if min(capacity, n_envs, length) < 1:
        raise ValueError(
            f"a replay needs at least one round of one environment and one step, not {capacity} "
            f"of {n_envs} and {length}"
        )
    places = (capacity + 1, n_envs)
    return Episodes(
        observation=jnp.zeros((*places, length + 1, observation_size)),
        action=jnp.zeros((*places, length, action_size)),
        reward=jnp.zeros((*places, length)),
    )


def add(
    state: Episodes,
    steps: Int[Array, ""],
    observation: Float[Array, "n_envs observation_size"],
    action: Float[Array, "n_envs actions"],
    reward: Float[Array, " n_envs"],
    following: Float[Array, "n_envs observation_size"],
) -> Episodes:
    """Adds a step of every environment.

    Args:
        state: Before.
        steps: Of each environment, before this one.
        observation: What was seen.
        action: What was done about it.
        reward: What that earned.
        following: What was seen then, on an episode's last step too.
    """
    places, _, length = state.reward.shape
    place, t = steps // length % places, steps % length
    both = jnp.stack([observation, following], axis=1)
    origin = (place, 0, t)
    update = jax.lax.dynamic_update_slice
    return Episodes(
        observation=update(state.observation, both[None], (*origin, 0)),
        action=update(state.action, action[None, :, None], (*origin, 0)),
        reward=update(state.reward, reward[None, :, None], origin),
    )


def held(state: Episodes, steps: Int[Array, ""]) -> Int[Array, ""]:
    """Complete rounds that can be sampled after so many steps of each environment."""
    places, _, length = state.reward.shape
    return jnp.minimum(steps // length, places - 1)


class Where(NamedTuple):
    """Where slices begin.

    Attributes:
        place: Of the round.
        environment: Whose episode it is.
        start: The first step of the slice in it.
    """

    place: Int[Array, " B"]
    environment: Int[Array, " B"]
    start: Int[Array, " B"]


def draw(
    state: Episodes, steps: Int[Array, ""], key: PRNGKeyArray, batch_size: int, horizon: int
) -> Where:
    """Draws slices: any complete episode, and any beginning in it, is as likely as any other.

    Args:
        state: Which holds a complete round; the answer is meaningless otherwise.
        steps: Of each environment so far.
        key: Of the random numbers.
        batch_size: B.
        horizon: H, at most the length of an episode.
    """
    places, n_envs, length = state.reward.shape
    for_episode, for_start = jax.random.split(key)
    episode = jax.random.randint(for_episode, (batch_size,), 0, held(state, steps) * n_envs)
    newest = steps // length - 1
    return Where(
        place=(newest - episode // n_envs) % places,
        environment=episode % n_envs,
        start=jax.random.randint(for_start, (batch_size,), 0, length - horizon + 1),
    )


def batch(state: Episodes, where: Where, horizon: int) -> Batch:
    """The slices, time first. No episode of this replay ends by itself."""
    step = where.start + jnp.arange(horizon)[:, None]
    seen = where.start + jnp.arange(horizon + 1)[:, None]
    reward = state.reward[where.place, where.environment, step]
    return Batch(
        observation=state.observation[where.place, where.environment, seen],
        action=state.action[where.place, where.environment, step],
        reward=reward,
        terminated=jnp.zeros_like(reward),
    )
