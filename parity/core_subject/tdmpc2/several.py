"""What several environments of one run of the core store and draw."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from core.environments.rows import Observed
from core.tdmpc2 import episodes, rings
from core.tdmpc2.losses import Batch
from parity.core_subject.tdmpc2 import stage
from parity.operations import Answer


def _row(episode: jax.Array, row: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """What rows of all environments show, the actions that led to them, and their rewards."""
    each = jnp.arange(len(row))
    seen = jnp.stack([each, episode, row], axis=-1).astype(float)
    return seen, 2.0 * row[:, None], 512.0 * each + 64.0 * episode + row


def _of_rings(
    capacity: int, horizon: int, batch: int, batches: int, episode: Any, row: Any, last: Any, key
) -> Batch:
    """Slices [batches, ...] of rows [K, N] that are given."""

    def add(state: rings.Rings, given: Any) -> tuple[rings.Rings, None]:
        index, e, r, ends = given
        (observation, _, paid), (_, action, _) = _row(e, r), _row(e, r + 1)
        seen = Observed(observation, jnp.where(r > 0, paid, 0.0), r == 0, ends, ends)
        return rings.add(state, index, seen, action, horizon), None

    total, envs = row.shape
    state = rings.init(capacity, envs, 3, 1, horizon)
    state, _ = jax.lax.scan(add, state, (jnp.arange(total), episode, row, last))

    def sample(key: Any) -> Batch:
        where = rings.draw(state, jnp.asarray(total), key, batch, horizon)
        return rings.batch(state, where, horizon)

    return jax.vmap(sample)(jax.random.split(key, batches))


def _of_episodes(
    capacity: int, horizon: int, batch: int, batches: int, rows: int, envs: int, given: int, key
) -> Batch:
    """The same, of whole episodes of as many rows each."""
    length = rows - 1

    def add(state: episodes.Episodes, step: Any) -> tuple[episodes.Episodes, None]:
        e, r = jnp.full(envs, step // length), jnp.full(envs, step % length)
        (before, *_), (after, action, reward) = _row(e, r), _row(e, r + 1)
        return episodes.add(state, step, before, action, reward, after), None

    total = given * length
    state = episodes.init(capacity, envs, length, 3, 1)
    state, _ = jax.lax.scan(add, state, jnp.arange(total))

    def sample(key: Any) -> Batch:
        where = episodes.draw(state, jnp.asarray(total), key, batch, horizon)
        return episodes.batch(state, where, horizon)

    return jax.vmap(sample)(jax.random.split(key, batches))


def shared_slices(rows, longest, capacity, horizon, batch, batches, seed, episodic) -> Answer:
    """See `tdmpc2.shared_slices`."""
    envs, given = rows.shape
    sizes, key = (capacity, horizon, batch, batches), jax.random.key(seed)
    if episodic:
        episode = np.stack([np.repeat(np.arange(given), counts) for counts in rows], axis=1)
        row = np.stack([np.concatenate([*map(np.arange, counts)]) for counts in rows], axis=1)
        last = row == rows[np.arange(envs), episode] - 1
        found = stage.compiled(_of_rings, *sizes)(episode, row, last, key)
    else:
        found = stage.compiled(_of_episodes, *sizes, int(longest), envs, given)(key)
    # [batches, time, slices, ...] to [time, slices, ...]
    columns = (found.observation, found.action[..., 0], found.reward)
    return _counted(rows, longest, *(np.concatenate(np.asarray(x), axis=1) for x in columns))


def _counted(rows, longest, observation, action, reward) -> Answer:
    """Where slices began, and what of them does not belong to the rows after that."""
    shape = (*rows.shape, longest)
    starts = np.zeros(shape, np.int64)
    env, episode, first = observation[0].astype(np.int64).T
    inside = (np.clip(x, 0, size - 1) for x, size in zip((env, episode, first), shape, strict=True))
    np.add.at(starts, tuple(inside), 1)
    row = first + np.arange(len(observation))[:, None]
    env, episode = (np.broadcast_to(x, row.shape) for x in (env, episode))
    torn = np.count_nonzero(observation != np.stack([env, episode, row], axis=-1))
    torn += np.count_nonzero(action != 2 * row[1:])
    torn += np.count_nonzero(reward != (512 * env + 64 * episode + row)[1:])
    return {"starts": starts, "torn": np.asarray(torn, np.int64)}


TABLE = {"tdmpc2.shared_slices": shared_slices}
