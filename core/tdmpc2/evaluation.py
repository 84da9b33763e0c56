"""Evaluating an agent of several tasks: episodes of all of them, side by side (row T16)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from core.environments import Environment, rows
from core.tdmpc2.tasks import Tasks

Observation = Float[Array, "tasks n observation_size"]
Carry = Float[Array, "tasks n H actions"]
Act = Callable[
    [Carry, Observation, Bool[Array, "tasks n"], PRNGKeyArray],
    tuple[Carry, Float[Array, "tasks n actions"]],
]


class Playing(NamedTuple):
    """Episodes side by side, and what each has brought so far."""

    step: Int[Array, ""]
    environments: tuple[rows.RowState, ...]
    carry: Carry
    score: Float[Array, "tasks n"]
    length: Int[Array, "tasks n"]
    done: Bool[Array, "tasks n"]


def play_tasks(
    act: Act,
    tasks: Tasks,
    environments: Sequence[Environment],
    carry: Carry,
    key: PRNGKeyArray,
    episodes: int,
) -> tuple[Float[Array, "tasks n"], Int[Array, "tasks n"]]:
    """Plays a number of episodes of each task, from fresh initial states.

    All tasks act in one call, so that the agent is compiled once. Episodes that are over go on,
    unseen, until the longest is.

    Args:
        act: What the agent remembers, padded observations, where an episode begins and a key, to
            what it remembers then and its actions.
        tasks: Their lengths.
        environments: One of each; must end its episodes.
        carry: What the agent remembers at first.
        key: Initial states and all draws.
        episodes: n, of each task.

    Returns:
        Return and length of each.
    """
    for_rows, for_noise = jax.random.split(key)
    started = tuple(
        jax.vmap(lambda k, e=environment: rows.init(e, k))(
            jax.random.split(jax.random.fold_in(for_rows, index), episodes)
        )
        for index, environment in enumerate(environments)
    )

    def padded(observation: Float[Array, "n size"]) -> Float[Array, "n observation_size"]:
        return jnp.pad(observation, ((0, 0), (0, tasks.observation_size - observation.shape[-1])))

    def step(now: Playing) -> Playing:
        seen = [rows.current(states) for states in now.environments]
        carry, actions = act(
            now.carry,
            jnp.stack([padded(each.observation) for each in seen]),
            jnp.stack([each.is_first for each in seen]),
            jax.random.fold_in(for_noise, now.step),
        )
        after = tuple(
            jax.vmap(lambda state, a, e=environment: rows.advance(e, state, a))(
                states, action[:, :size]
            )
            for environment, states, action, size in zip(
                environments, now.environments, actions, tasks.action_sizes, strict=True
            )
        )
        entered = [rows.current(states) for states in after]
        reward = jnp.stack([each.reward for each in entered])
        return Playing(
            now.step + 1,
            after,
            carry,
            now.score + jnp.where(now.done, 0.0, reward),
            now.length + ~now.done,
            now.done | jnp.stack([each.is_last for each in entered]),
        )

    none = jnp.zeros((len(tasks), episodes), jnp.int32)
    start = Playing(none[0, 0], started, carry, jnp.zeros(none.shape), none, none != 0)
    end = jax.lax.while_loop(lambda now: ~jnp.all(now.done), step, start)
    return end.score, end.length


def figures_of_tasks(
    tasks: Tasks, scores: np.ndarray, lengths: np.ndarray
) -> dict[str, np.ndarray]:
    """What is logged of an evaluation: [seeds, tasks, episodes] each.

    The normalised score is that of the control suite, where returns go to 1,000: a tenth of the
    return, averaged over the tasks.
    """
    of_tasks = scores.mean(-1)
    named = {f"eval/return/{name}": of_tasks[:, i] for i, name in enumerate(tasks.names)}
    return {
        "eval/score": (of_tasks / 10).mean(-1),
        "eval/return": of_tasks.mean(-1),
        "eval/length": lengths.mean((-2, -1)),
        **named,
        "eval/returns": scores,
        "eval/lengths": lengths,
    }
