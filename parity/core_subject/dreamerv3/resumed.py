"""A run of the core in several calls: what it has to draw from at its end."""

from __future__ import annotations

from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from core.dreamerv3 import replay as ring
from core.dreamerv3 import resumption
from core.dreamerv3.config import Config
from core.dreamerv3.train_config import TrainConfig
from core.dreamerv3.types import Latent, Rows
from core.spaces import Discrete
from parity.core_subject.running import quick_jit
from parity.operations import Answer


def _added(envs: int, state: ring.ReplayState, first: Any, last: Any) -> ring.ReplayState:
    """Rows from one to another, added to the rings."""
    each, none, no = jnp.arange(envs), jnp.zeros(envs), jnp.zeros(envs, bool)

    def add(step: Any, state: ring.ReplayState) -> ring.ReplayState:
        now = jnp.full(envs, step)
        seen = jnp.stack([each, now], axis=-1).astype(float)
        rows = Rows(seen, jnp.zeros(envs, jnp.int32), none, no, no, no)
        return ring.add(state, rows, Latent(now[:, None].astype(float), now[:, None] % 32))

    return jax.lax.fori_loop(first, last, add, state)


def _drawn(batch: int, length: int, state: ring.ReplayState, key: Any) -> dict[str, Any]:
    rows, context, where = ring.sample(state, key, batch, length)
    return {
        "environment": rows.observation[:, 0, 0],
        "step": rows.observation[..., 1],
        "context": context.latent.deter[:, 0],
        "online": where.online,
    }


@cache
def _programs() -> tuple[Any, Any]:
    return quick_jit(_added, static_argnums=0), quick_jit(_drawn, static_argnums=(0, 1))


def resumed_replay(ends, envs, limit, batch, length, seed) -> Answer:
    """See `dreamerv3.resumed_replay`."""
    add, draw = _programs()
    state, before = None, 0
    for end in ends.tolist():
        config = TrainConfig(
            Config(batch_length=length), steps=end * envs, n_envs=envs, replay_capacity=limit
        )
        if state is None:
            state = ring.init(config.ring_rows, envs, 2, Discrete(2), 1, 1, classes=32)
        else:
            state = resumption.fitted(state, config.ring_rows)
        state, before = add(envs, state, before, end), end
    assert state is not None
    found = draw(batch, length, state, jax.random.key(seed))
    found["held"] = state.rows.reward.shape[1]
    return {name: np.asarray(value).astype(np.int64) for name, value in found.items()}


TABLE = {"dreamerv3.resumed_replay": resumed_replay}
