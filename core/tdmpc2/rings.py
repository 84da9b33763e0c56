"""The replay of the episodic mode: rows of episodes of any length, one ring per environment.

All rings are written at once, a row per tick, the rows of the running episodes included; what
is sampled are slices of H + 1 rows of *finished* episodes. First an episode is drawn, among all
that have that many rows, and then where in it the slice begins, both uniformly. An episode that
is being overwritten is drawn as often as before, from what is left of it, as in the reference.

To draw an episode without searching for it, each ring has a list of the long enough ones, in
the order in which they ended. One ring position is overwritten per tick, so that at most one
episode per tick becomes too short, and it is the oldest of the list.

Source: `common/buffer.py:16-24,69-74@e9f5932`.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from core.environments.rows import Observed, zero_on_last
from core.tdmpc2.losses import Batch


class Listed(NamedTuple):
    """Finished episodes of H + 1 rows or more. Number i of a ring lies in place i mod places.

    Attributes:
        first: The row of the run with which it began.
        last: The row with which it ended.
        gone: How many of each list have become too short.
        count: How many have been listed.
        running: The row with which the running episode began.
    """

    first: Int[Array, "n_envs places"]
    last: Int[Array, "n_envs places"]
    gone: Int[Array, " n_envs"]
    count: Int[Array, " n_envs"]
    running: Int[Array, " n_envs"]


class Rings(NamedTuple):
    """The rings. Row t of the run lies in place t mod capacity.

    Attributes:
        observation: Of every row.
        action: Taken on it; 0 on an episode's last.
        reward: Received on entering it.
        terminated: Whether the episode ended by itself on entering it.
        listed: The episodes that can be sampled.
    """

    observation: Float[Array, "n_envs capacity observation_size"]
    action: Float[Array, "n_envs capacity actions"]
    reward: Float[Array, "n_envs capacity"]
    terminated: Bool[Array, "n_envs capacity"]
    listed: Listed


def places(capacity: int, horizon: int) -> int:
    """The most episodes of H + 1 rows or more that a ring can hold something of."""
    return capacity // (horizon + 1) + 1


def init(
    capacity: int, n_envs: int, observation_size: int, action_size: int, horizon: int
) -> Rings:
    """Empty rings, in their final size.

    Args:
        capacity: Rows per environment.
        n_envs: Environments.
        observation_size: Length of an observation.
        action_size: Length of an action.
        horizon: H.

    Raises:
        ValueError: The rings are too short for one slice.
    """
    if capacity < horizon + 1 or n_envs < 1:
        raise ValueError(
            f"a ring of {capacity} rows holds no slice of {horizon + 1} rows; choose more steps "
            f"or a larger --replay-capacity"
        )
    rows, none = (n_envs, capacity), jnp.zeros(n_envs, jnp.int32)
    table = jnp.zeros((n_envs, places(capacity, horizon)), jnp.int32)
    return Rings(
        observation=jnp.zeros((*rows, observation_size)),
        action=jnp.zeros((*rows, action_size)),
        reward=jnp.zeros(rows),
        terminated=jnp.zeros(rows, bool),
        listed=Listed(table, table, none, none, none),
    )


def add(
    state: Rings,
    row: Int[Array, ""],
    seen: Observed,
    action: Float[Array, "n_envs actions"],
    horizon: int,
) -> Rings:
    """Adds a row to every ring, over the oldest one where the rings are full.

    Args:
        state: Before.
        row: How many rows each ring has been given before.
        seen: The rows.
        action: Taken on them.
        horizon: H.
    """
    capacity = state.reward.shape[1]
    place = row % capacity

    def write(ring: Array, values: Array) -> Array:
        origin = (0, place, *(0,) * (ring.ndim - 2))
        return jax.lax.dynamic_update_slice(ring, values[:, None].astype(ring.dtype), origin)

    return Rings(
        observation=write(state.observation, seen.observation),
        action=write(state.action, zero_on_last(action, seen.is_last)),
        reward=write(state.reward, seen.reward),
        terminated=write(state.terminated, seen.is_terminal),
        listed=_listed(state.listed, row, seen, capacity, horizon),
    )


def _listed(
    listed: Listed, row: Int[Array, ""], seen: Observed, capacity: int, horizon: int
) -> Listed:
    """The lists once a row has been written."""
    running = jnp.where(seen.is_first, row, listed.running)
    long_enough = seen.is_last & (row - running >= horizon)
    n_envs, size = listed.first.shape
    each, place = jnp.arange(n_envs), listed.count % size

    def append(table: Array, value: Array) -> Array:
        return table.at[each, place].set(jnp.where(long_enough, value, table[each, place]))

    first, last = append(listed.first, running), append(listed.last, row)
    count = listed.count + long_enough
    # The oldest one, once less than H + 1 of its rows are left.
    oldest = last[each, listed.gone % size]
    short = (listed.gone < count) & (oldest - (row - capacity + 1) < horizon)
    return Listed(first, last, listed.gone + short, count, running)


def can_sample(state: Rings) -> Bool[Array, ""]:
    """Whether there is an episode to sample."""
    return jnp.any(state.listed.count > state.listed.gone)


class Where(NamedTuple):
    """Where slices begin.

    Attributes:
        environment: Whose ring it is.
        row: Of the run.
    """

    environment: Int[Array, " B"]
    row: Int[Array, " B"]


def draw(
    state: Rings, rows: Int[Array, ""], key: PRNGKeyArray, batch_size: int, horizon: int
) -> Where:
    """Draws slices of H + 1 rows.

    Args:
        state: For which `can_sample` holds; the answer is meaningless otherwise.
        rows: How many each ring has been given so far.
        key: Of the random numbers.
        batch_size: B.
        horizon: H.
    """
    listed, capacity = state.listed, state.reward.shape[1]
    for_episode, for_start = jax.random.split(key)
    held = listed.count - listed.gone
    before = jnp.cumsum(held)
    number = jax.random.randint(for_episode, (batch_size,), 0, before[-1])
    environment = jnp.sum(number[:, None] >= before, axis=1, dtype=jnp.int32)
    newest = before[environment] - 1 - number
    place = (listed.count[environment] - 1 - newest) % listed.first.shape[1]
    first = jnp.maximum(listed.first[environment, place], rows - capacity)
    last = listed.last[environment, place]
    start = jax.random.randint(for_start, (batch_size,), first, last - horizon + 1)
    return Where(environment, start)


def batch(state: Rings, where: Where, horizon: int) -> Batch:
    """The slices, time first: the rewards and ends are those that the actions led to."""
    capacity = state.reward.shape[1]
    place = (where.row + jnp.arange(horizon + 1)[:, None]) % capacity
    of = where.environment
    return Batch(
        observation=state.observation[of, place],
        action=state.action[of, place[:-1]],
        reward=state.reward[of, place[1:]],
        terminated=state.terminated[of, place[1:]].astype(jnp.float32),
    )
