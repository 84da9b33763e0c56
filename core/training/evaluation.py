"""Evaluation: whole episodes with fixed parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from core.environments import Environment, rows

Carry = TypeVar("Carry")


class Playing(NamedTuple):
    """Episodes side by side, and what each has brought so far."""

    step: Int[Array, ""]
    environments: rows.RowState
    carry: Any
    score: Float[Array, " n"]
    length: Int[Array, " n"]
    done: Bool[Array, " n"]


def play(
    act: Callable[[Carry, rows.Observed, PRNGKeyArray], tuple[Carry, Array]],
    environment: Environment,
    carry: Carry,
    key: PRNGKeyArray,
    episodes: int,
) -> tuple[Float[Array, " n"], Int[Array, " n"]]:
    """Plays one episode in each of a number of fresh environments, side by side.

    Episodes that are over go on, unseen, until the last one is.

    Args:
        act: What the agent remembers, the rows it sees and a key, to what it remembers then
            and its actions.
        environment: Must end its episodes, by itself or by a time limit.
        carry: What the agent remembers at first.
        key: Initial states and all draws.
        episodes: How many.

    Returns:
        Return and length of each.
    """
    for_rows, for_noise = jax.random.split(key)
    started = jax.vmap(lambda k: rows.init(environment, k))(jax.random.split(for_rows, episodes))

    def step(now: Playing) -> Playing:
        seen = rows.current(now.environments)
        carry, action = act(now.carry, seen, jax.random.fold_in(for_noise, now.step))
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
    start = Playing(none[0], started, carry, zeros, none, none != 0)
    end = jax.lax.while_loop(lambda now: ~jnp.all(now.done), step, start)
    return end.score, end.length
