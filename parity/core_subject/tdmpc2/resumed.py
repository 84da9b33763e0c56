"""A run of the core in several calls: what it has to draw from at its end."""

from __future__ import annotations

from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np

from core.environments.rows import Observed
from core.tdmpc2 import episodes, rings
from core.tdmpc2.episodic import Episodic
from core.tdmpc2.timed import Timed
from core.tdmpc2.train_config import TrainConfig
from parity.core_subject.tdmpc2 import stage
from parity.operations import Answer


class _Lasting:
    """An environment of which nothing but sizes is known."""

    observation_size = 2

    def __init__(self, episode_length: int):
        self.episode_length = episode_length


def _seen(envs: int, step: Any) -> jax.Array:
    each = jnp.arange(envs)
    return jnp.stack([each, jnp.full(envs, step)], axis=-1).astype(float)


def _added(envs: int, length: int, horizon: int, episodic: bool, state, first, last):
    """Steps, or rows, from one to another, added to a replay."""
    nothing, paid = jnp.zeros((envs, 1)), jnp.zeros(envs)

    def add(step: Any, state: Any) -> Any:
        if not episodic:
            return episodes.add(
                state, step, _seen(envs, step), nothing, paid, _seen(envs, step + 1)
            )
        begins, over = (jnp.full(envs, step % length == row) for row in (0, length - 1))
        seen = Observed(_seen(envs, step), paid, begins, over, over)
        return rings.add(state, step, seen, nothing, horizon)

    return jax.lax.fori_loop(first, last, add, state)


def _drawn(horizon: int, batch: int, episodic: bool, state, steps, key):
    kind = cast(Any, rings if episodic else episodes)
    return kind.batch(state, kind.draw(state, steps, key, batch, horizon), horizon).observation


def resumed_slices(ends, envs, length, buffer_size, rows, batch, seed, episodic) -> Answer:
    """See `tdmpc2.resumed_slices`."""
    horizon, before = rows - 1, 0
    add = stage.compiled(_added, envs, length, horizon, episodic)
    replay: Any = None
    for end in ends.tolist():
        config = TrainConfig(
            stage.config(horizon=horizon),
            steps=end * envs,
            n_envs=envs,
            replay_capacity=buffer_size,
            log_every=envs,
            episodic=episodic,
        )
        environment: Any = _Lasting(length)
        mode = (Episodic if episodic else Timed)(config, environment, config.schedule(environment))
        replay = mode.replay(1) if replay is None else mode.fitted(replay, before)
        replay, before = add(replay, before, end), end
    draw = stage.compiled(_drawn, horizon, batch, episodic)
    # [time, slices, 2]
    found = np.asarray(draw(replay, before, jax.random.key(seed))).astype(np.int64)
    return {"environment": found[0, :, 0], "step": found[..., 1].T}


TABLE = {"tdmpc2.resumed_slices": resumed_slices}
