"""The row collector: what a learner sees of an environment, one row per tick.

A row is an observation with what is known when it is seen: the reward for getting there,
and where in its episode it is. An episode of L steps has L + 1 rows.

    row       0      1   ...  L − 1     L      0 of the next episode
    reward    0     r_1      r_(L−1)   r_L     0
    is_first  yes    no        no      no      yes
    is_last   no     no        no      yes     no

On its last row an episode is held for one tick: the agent still sees the final observation,
its action is ignored, and the next row is a fresh reset. Whether the end was a termination
(`is_terminal`) or a time limit decides whether returns continue past it.

Source: `embodied/core/driver.py:55-80@29eb964`, for any number of environments at once.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.custom_batching import custom_vmap
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from core.environments import states
from core.environments.environment import Environment, State


class Observed(NamedTuple):
    """A row, but for the action that is yet to be chosen.

    Attributes:
        observation: Flat vector, in units of the environment.
        reward: Received on entering this row; 0 on `is_first` rows.
        is_first: The first row of an episode, right after the reset.
        is_last: The last row of an episode, terminated or truncated.
        is_terminal: The episode ended by itself: nothing follows this row.
    """

    observation: Float[Array, "*batch observation_size"]
    reward: Float[Array, "*batch"]
    is_first: Bool[Array, "*batch"]
    is_last: Bool[Array, "*batch"]
    is_terminal: Bool[Array, "*batch"]


class RowState(NamedTuple):
    """Where one environment is.

    Attributes:
        key: For everything random that is still to come.
        simulation: The environment's own state.
        row: What it shows.
    """

    key: PRNGKeyArray
    simulation: State
    row: Observed


def init(environment: Environment, key: PRNGKeyArray) -> RowState:
    """The first row of one environment's run: a reset."""
    key, for_reset = jax.random.split(key)
    return RowState(key, *_reset(environment, for_reset))


def current(state: RowState) -> Observed:
    """The row to be acted on."""
    return state.row


def advance(environment: Environment, state: RowState, action: Array) -> RowState:
    """The next row of one environment.

    Args:
        environment: The one that `state` is of.
        state: Of one environment; use `jax.vmap` for many.
        action: Chosen on the current row; ignored if that is an episode's last.
    """
    key, for_step, for_reset = jax.random.split(state.key, 3)
    stepped = _step(environment, for_step, state.simulation, action)
    return RowState(key, *_reset_where(state.row.is_last, environment, for_reset, stepped))


def transition(
    environment: Environment, state: RowState, action: Array
) -> tuple[RowState, Observed]:
    """One step of one environment, and at once a fresh episode if it ended one.

    For learners that store transitions: no row is held, so that every action counts.

    Args:
        environment: The one that `state` is of.
        state: Of one environment; use `jax.vmap` for many.
        action: Chosen on the current row, which is no episode's last.

    Returns:
        Where the environment is, and the row that the step led to.
    """
    key, for_step, for_reset = jax.random.split(state.key, 3)
    stepped = _step(environment, for_step, state.simulation, action)
    ended = stepped[1].is_last
    return RowState(key, *_reset_where(ended, environment, for_reset, stepped)), stepped[1]


def zero_on_last(action: Array, is_last: Bool[Array, "*batch"]) -> Array:
    """The actions as the replay stores them: 0 where an episode's end ignored them.

    Args:
        action: [*batch] or [*batch, size].
        is_last: Of the rows that they were chosen on.
    """
    ended = is_last.reshape(is_last.shape + (1,) * (action.ndim - is_last.ndim))
    return jnp.where(ended, jnp.zeros_like(action), action)


def _step(
    environment: Environment, key: PRNGKeyArray, simulation: State, action: Array
) -> tuple[State, Observed]:
    after, observation, reward, terminated, truncated = environment.step(key, simulation, action)
    no = jnp.zeros((), bool)
    return after, Observed(observation, reward, no, terminated | truncated, terminated)


def _reset_where(
    ended: Bool[Array, ""],
    environment: Environment,
    key: PRNGKeyArray,
    stepped: tuple[State, Observed],
) -> tuple[State, Observed]:
    # A reset runs the physics as well, and most ticks have none.
    return jax.lax.cond(
        _in_any(ended),
        lambda: states.select(ended, _reset(environment, key), stepped),
        lambda: stepped,
    )


def _reset(environment: Environment, key: PRNGKeyArray) -> tuple[State, Observed]:
    simulation, observation = environment.reset(key)
    no, yes = jnp.zeros((), bool), jnp.ones((), bool)
    return simulation, Observed(observation, jnp.zeros((), jnp.float32), yes, no, no)


@custom_vmap
def _in_any(flag: Bool[Array, "*batch"]) -> Bool[Array, ""]:
    """Whether a flag is set in any environment, however many `vmap`s surround it.

    The answer is the same for all of them, so that a `cond` on it stays a branch where an
    ordinary batched condition would compute both sides.
    """
    return jnp.any(flag)


@_in_any.def_vmap
def _in_any_of_a_batch(axis_size, batched, flag):
    del axis_size, batched
    return _in_any(flag), False
