"""What the core's replay hands out and takes back."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from core.dreamerv3 import replay as ring
from core.dreamerv3.config import Config
from core.dreamerv3.train_config import TrainConfig
from core.dreamerv3.types import Latent, Rows
from core.spaces import Discrete
from parity.core_subject.running import quick_jit
from parity.operations import Answer

CLASSES = 32


class Parts(NamedTuple):
    """The functions of the replay; a seeded fault replaces one."""

    add: Callable = ring.add
    sample: Callable = ring.sample
    write_back: Callable = ring.write_back


@cache
def _programs(parts: Parts) -> tuple[Callable, Callable]:
    """All rows from one index to another added; one batch drawn and written back."""

    def fill(state, rows, latents, first, last):
        def add(k, state):
            row, latent = jax.tree.map(lambda column: column[k], (rows, latents))
            return parts.add(state, row, latent)

        return jax.lax.fori_loop(first, last, add, state)

    def draw(state, key, latent, batch, length):
        rows, context, where = parts.sample(state, key, batch, length)
        return parts.write_back(state, where, latent), (rows, context, where.online)

    return quick_jit(fill), quick_jit(draw, static_argnums=(3, 4))


def replay(
    capacity,
    batch,
    length,
    after,
    mark,
    action,
    reward,
    is_first,
    is_last,
    is_terminal,
    deter,
    stoch,
    new_deter,
    new_stoch,
    parts: Parts = Parts(),  # noqa: B008
) -> Answer:
    """See `dreamerv3.replay`."""
    fill, draw = _programs(parts)
    space = Discrete(int(action.max()) + 1)
    state = ring.init(capacity, mark.shape[1], 1, space, 1, 1, classes=CLASSES)
    columns = map(jnp.asarray, (mark[..., None], action, reward, is_first, is_last, is_terminal))
    rows, latents = Rows(*columns), Latent(*map(jnp.asarray, (deter[..., None], stoch[..., None])))
    added, drawn = 0, []
    for d, rows_before in enumerate(after):
        state = fill(state, rows, latents, added, int(rows_before))
        added = int(rows_before)
        latent = Latent(jnp.asarray(new_deter[d][..., None]), jnp.asarray(new_stoch[d][..., None]))
        state, one = draw(state, jax.random.fold_in(jax.random.key(0), d), latent, batch, length)
        drawn.append(jax.device_get(one))
    trained, context, online = jax.tree.map(lambda *leaves: np.stack(leaves), *drawn)
    return {
        "online": online,
        "mark": trained.observation[..., 0],
        "action": trained.action,
        "reward": trained.reward,
        "is_first": trained.is_first,
        "is_last": trained.is_last,
        "is_terminal": trained.is_terminal,
        "context_deter": context.latent.deter[..., 0],
        "context_stoch": context.latent.stoch[..., 0],
        "context_action": context.action,
    }


def replay_size(
    limit: int, envs: int, steps: int, rows_of: Callable[[TrainConfig], int] | None = None
) -> Answer:
    """See `dreamerv3.replay_size`.

    Args:
        limit: See there.
        envs: See there.
        steps: See there.
        rows_of: For seeded faults: rows of each environment that a run holds.
    """
    asked = {"replay_capacity": limit} if limit else {}
    config = TrainConfig(Config(batch_length=2), steps=steps, n_envs=envs, **asked)
    rows = rows_of(config) if rows_of else config.ring_rows
    return {"held": np.asarray(rows * envs, np.int64)}


TABLE = {"dreamerv3.replay": replay, "dreamerv3.replay_size": replay_size}
