"""How episodes begin and end around the core's own wrappers and collector."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from parity.core_subject.dreamerv3.rows import Parts, Scripted, rows
from parity.core_subject.running import quick_jit
from parity.operations import Answer


def action_repeat(
    actions,
    repeat,
    ends,
    limit,
    rewards,
    parts: Parts = Parts(),  # noqa: B008
) -> Answer:
    """See `environments.action_repeat`."""
    scripted: Any = Scripted(ends or len(rewards) + 1, jnp.asarray(rewards), 1)
    environment = parts.limit(scripted, limit)
    environment = parts.repeat(environment, repeat) if repeat > 1 else environment
    key = jax.random.key(0)

    def act(state, _):
        state, observation, reward, terminated, truncated = environment.step(
            key, state, jnp.zeros(1)
        )
        return state, (reward, observation[1], terminated | truncated, terminated)

    start = environment.reset(key)[0]
    reward, steps, ended, terminated = quick_jit(
        lambda state: jax.lax.scan(act, state, length=actions)[1]
    )(start)
    return {
        "reward": np.asarray(reward, np.float32),
        "steps": np.asarray(steps).astype(np.int64),
        "ended": np.asarray(ended, bool),
        "terminated": np.asarray(terminated, bool),
    }


def episode_starts(
    episodes,
    length,
    full_reset,
    parts: Parts = Parts(),  # noqa: B008
) -> Answer:
    """See `environments.episode_starts`: the collector has no other reset than a full one."""
    del full_reset
    answer = rows(
        np.asarray([length + 1], np.int64),
        np.zeros((1, length + 1), np.float32),
        np.zeros((episodes * (length + 1), 1, 1), np.float32),
        length,
        1,
        parts,
    )
    first, last = answer["is_first"][:, 0], answer["is_last"][:, 0]
    return {
        "start": answer["start"][first, 0].astype(np.int64),
        "truncated": ~answer["is_terminal"][last, 0],
    }


TABLE = {
    "environments.action_repeat": action_repeat,
    "environments.episode_starts": episode_starts,
}
