"""Whole episodes of several tasks on the device, and slices of them.

First an episode is drawn, of any task, then where in it the slice begins, both uniformly: a task
is as likely as it has episodes, whatever their length. No slice crosses the end of an episode.

Source: `common/buffer.py:17-23,73-92@5f6fade`.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from core.tdmpc2.dataset import Dataset
from core.tdmpc2.losses import Batch


class Pool(NamedTuple):
    """The arrays of a `Dataset`, and where its episodes lie in them."""

    observation: Float[Array, "rows observation_size"]
    action: Float[Array, "rows actions"]
    reward: Float[Array, " rows"]
    task: Int[Array, " episodes"]
    first: Int[Array, " episodes"]
    length: Int[Array, " episodes"]

    @classmethod
    def of(cls, dataset: Dataset) -> Pool:
        """A dataset on the device. A row takes 4 · (observation_size + actions + 1) bytes."""
        return cls(*(jnp.asarray(getattr(dataset, name)) for name in cls._fields))


class Where(NamedTuple):
    """Where slices begin: in which episode, and at which of its steps."""

    episode: Int[Array, " B"]
    start: Int[Array, " B"]


def draw(pool: Pool, key: PRNGKeyArray, batch_size: int, horizon: int) -> Where:
    """Draws slices.

    Args:
        pool: What from.
        key: Of the random numbers.
        batch_size: B.
        horizon: H, at most the length of the shortest episode.
    """
    for_episode, for_start = jax.random.split(key)
    episode = jax.random.randint(for_episode, (batch_size,), 0, len(pool.task))
    beginnings = pool.length[episode] - horizon + 1
    return Where(episode, jax.random.randint(for_start, (batch_size,), 0, beginnings))


def batch(pool: Pool, where: Where, horizon: int) -> Batch:
    """The slices, time first. No episode of a dataset ends by itself."""
    seen = pool.first[where.episode] + where.start + jnp.arange(horizon + 1)[:, None]
    reward = pool.reward[seen[:-1]]
    return Batch(
        observation=pool.observation[seen],
        action=pool.action[seen[:-1]],
        reward=reward,
        terminated=jnp.zeros_like(reward),
        task=pool.task[where.episode],
    )
