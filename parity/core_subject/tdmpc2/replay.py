"""The replay of whole episodes, as the core's training uses it."""

from __future__ import annotations

import functools
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from core.tdmpc2 import episodes
from core.tdmpc2.losses import Batch
from core.tdmpc2.timed import Timed
from core.tdmpc2.train_config import TrainConfig
from parity.core_subject.tdmpc2 import stage
from parity.operations import Answer


def _slices(
    given: int, capacity: int, rows: int, horizon: int, batch: int, batches: int, key: Array
) -> Batch:
    length = rows - 1

    def add(state: episodes.Episodes, step: Array) -> tuple[episodes.Episodes, None]:
        episode, row = step // length, step % length + 1
        before, after = (jnp.stack([episode, r])[None].astype(float) for r in (row - 1, row))
        action, reward = jnp.full((1, 1), 2.0 * row), jnp.full(1, 16.0 * episode + row)
        return episodes.add(state, step, before, action, reward, after), None

    steps = jnp.arange(given * length)
    state, _ = jax.lax.scan(add, episodes.init(capacity, 1, length, 2, 1), steps)

    def sample(key: Array) -> Batch:
        where = episodes.draw(state, jnp.asarray(given * length), key, batch, horizon)
        return episodes.batch(state, where, horizon)

    return jax.vmap(sample)(jax.random.split(key, batches))


def count(
    given: int, rows: int, observation: np.ndarray, action: np.ndarray, reward: np.ndarray
) -> Answer:
    """Where slices began, and what of them does not belong to the rows after that.

    Args:
        given: Episodes.
        rows: Of an episode.
        observation: [H + 1, slices, 2] of the slices.
        action: [H, slices].
        reward: [H, slices].
    """
    starts = np.zeros((given, rows), np.int64)
    first = observation[0].astype(np.int64)
    np.add.at(starts, (np.clip(first[:, 0], 0, given - 1), np.clip(first[:, 1], 0, rows - 1)), 1)
    row = first[:, 1] + np.arange(len(observation))[:, None]
    episode = np.broadcast_to(first[:, 0], row.shape)
    torn = np.count_nonzero(observation != np.stack([episode, row], axis=-1))
    torn += np.count_nonzero(action != 2 * row[1:])
    torn += np.count_nonzero(reward != 16 * episode[1:] + row[1:])
    return {"starts": starts, "torn": np.asarray(torn, np.int64)}


def replay_slices(given, capacity, rows, horizon, batch, batches, seed) -> Answer:
    """See `tdmpc2.replay_slices`."""
    call = stage.compiled(_slices, given, capacity, rows, horizon, batch, batches)
    found = call(jax.random.key(seed))
    # [batches, time, slices, ...] to [time, slices, ...]
    observation, action, reward = (
        np.concatenate(np.asarray(x), axis=1)
        for x in (found.observation, found.action[..., 0], found.reward)
    )
    return count(given, rows, observation, action, reward)


class _Lasting:
    """An environment of which nothing but sizes is known."""

    observation_size = 1

    def __init__(self, episode_length: int):
        self.episode_length = episode_length


def replay_capacity(buffer_size: int, steps: int, length: int, envs: int) -> Answer:
    """See `tdmpc2.replay_capacity`."""
    config = TrainConfig(
        stage.config(), steps=steps, n_envs=envs, replay_capacity=buffer_size, log_every=envs
    )
    environment = cast(Any, _Lasting(length))
    mode = Timed(config, environment, config.schedule(environment))
    # Shapes alone: a replay can be larger than the memory of this machine.
    replay = jax.eval_shape(functools.partial(mode.replay, 1))
    full = int(episodes.held(replay, jnp.asarray(2**31 - 1)))
    places, _, _ = replay.reward.shape
    found = {"episodes": full * envs, "rest": 0, "staged": (places - full) * envs}
    return {name: np.asarray(value, np.int64) for name, value in found.items()}


TABLE = {"tdmpc2.replay_slices": replay_slices, "tdmpc2.replay_capacity": replay_capacity}
