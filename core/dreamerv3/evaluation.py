"""Evaluation: whole episodes with fixed parameters."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from core.dreamerv3.agent import Agent, Carry
from core.dreamerv3.world_model import Params
from core.environments import Environment, rows


class Playing(NamedTuple):
    """Episodes side by side, and what each has brought so far."""

    step: Int[Array, ""]
    environments: rows.RowState
    carry: Carry
    score: Float[Array, " n"]
    length: Int[Array, " n"]
    done: Bool[Array, " n"]


def play(
    agent: Agent, environment: Environment, params: Params, key: PRNGKeyArray, episodes: int
) -> tuple[Float[Array, " n"], Int[Array, " n"]]:
    """Plays one episode in each of a number of fresh environments, side by side.

    The policy samples, as in training: the reference has no other mode. Episodes that are
    over go on, unseen, until the last one is.

    Args:
        agent: Whose policy.
        environment: Must end its episodes, by itself or by a time limit.
        params: The agent's.
        key: Initial states and all draws.
        episodes: How many.

    Returns:
        Return and length of each.
    """
    for_rows, for_noise = jax.random.split(key)
    started = jax.vmap(lambda k: rows.init(environment, k))(jax.random.split(for_rows, episodes))

    def step(now: Playing) -> Playing:
        seen = rows.current(now.environments)
        noise = agent.acting_noise(jax.random.fold_in(for_noise, now.step), episodes)
        carry, action, _ = agent.act(params, now.carry, seen.observation, seen.is_first, noise)
        environments = jax.vmap(lambda state, a: rows.advance(environment, state, a))(
            now.environments, action
        )
        entered = rows.current(environments)
        return Playing(
            now.step + 1,
            environments,
            carry,
            now.score + jnp.where(now.done, 0.0, entered.reward),
            now.length + ~now.done,
            now.done | entered.is_last,
        )

    zeros = jnp.zeros(episodes, jnp.float32)
    none = jnp.zeros(episodes, jnp.int32)
    start = Playing(none[0], started, agent.initial_carry(episodes), zeros, none, none != 0)
    end = jax.lax.while_loop(lambda now: ~jnp.all(now.done), step, start)
    return end.score, end.length
