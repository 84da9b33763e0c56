"""The replay: every row of a run, one ring per environment, all rings in step.

An item is a run of length + 1 rows of one environment: one row of context and the rows to
train on. Items may cross the end of an episode (`is_first` resets the model in the
middle), but never the end of the ring. New experience is trained on first: item j of
every environment begins at row 1 + j · (length + 1), waits in one queue of all
environments, and is handed out once, oldest first. When the queue is empty, items are
drawn uniformly, with replacement, from all that the rings hold.

Because all environments add a row at once, nothing about the queue has to be stored but
how many items have left it: what has entered it follows from the number of rows. The
first item begins at row 1 and not at row 0 because the reference counts a worker's rows
before it counts the new one (row D27).

Source: `embodied/replay/replay.py:98-191@29eb964`.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, PRNGKeyArray

from core.dreamerv3.types import Context, Latent, Rows
from core.spaces import ActionSpace, Discrete


class ReplayState(NamedTuple):
    """The rings. Row t of the run lies in slot t mod capacity.

    Attributes:
        rows: [n_envs, capacity, ...].
        latents: [n_envs, capacity, ...]: the posterior of every row, as the acting agent
            inferred it or as training has last replaced it.
        added: Rows that each environment has added, overwritten ones included.
        dequeued: Items that have left the queue.
    """

    rows: Rows
    latents: Latent
    added: Int[Array, ""]
    dequeued: Int[Array, ""]


class Where(NamedTuple):
    """Where the rows of a batch came from.

    Attributes:
        environment: Of each sequence.
        first: Row of the run at which its trained part begins, after the context.
        online: Whether it came from the queue.
        dequeued: Items that have left the queue once this batch is trained.
    """

    environment: Int[Array, " B"]
    first: Int[Array, " B"]
    online: Bool[Array, " B"]
    dequeued: Int[Array, ""]


def init(
    capacity: int,
    n_envs: int,
    observation_size: int,
    action_space: ActionSpace,
    deter: int,
    stoch: int,
    *,
    classes: int | None = None,
) -> ReplayState:
    """Empty rings, in their final size.

    A row takes 4 · (deter + observation_size + action) + stoch + 7 bytes: 8,351 at size
    12m with 24 observations and 6 actions, of which 8,192 are the recurrent state.

    Args:
        capacity: Rows per environment. Rows / n_envs of the whole run, and nothing is ever
            overwritten; less, and the oldest row of every environment goes at once.
        n_envs: Environments.
        observation_size: Length of an observation.
        action_space: What actions are stored as.
        deter: Length of the recurrent state.
        stoch: Number of categorical variables.
        classes: Classes of each. Up to 256, an index is stored in one byte; when not
            given, in four.

    Raises:
        ValueError: `capacity` or `n_envs` is below 1.
    """
    if capacity < 1 or n_envs < 1:
        raise ValueError(
            f"a replay needs at least one row of one environment, not {capacity} of {n_envs}"
        )

    def ring(dtype, *shape: int) -> Array:
        return jnp.zeros((n_envs, capacity, *shape), dtype)

    if isinstance(action_space, Discrete):
        action = ring(jnp.int32)
    else:
        action = ring(jnp.float32, action_space.size)
    index = jnp.uint8 if classes is not None and classes <= 256 else jnp.int32
    return ReplayState(
        rows=Rows(
            observation=ring(jnp.float32, observation_size),
            action=action,
            reward=ring(jnp.float32),
            is_first=ring(jnp.bool_),
            is_last=ring(jnp.bool_),
            is_terminal=ring(jnp.bool_),
        ),
        latents=Latent(deter=ring(jnp.float32, deter), stoch=ring(index, stoch)),
        added=jnp.zeros((), jnp.int32),
        dequeued=jnp.zeros((), jnp.int32),
    )


def bytes_per_row(state: ReplayState) -> float:
    """Memory of one row of one environment, in bytes."""
    rings = jax.tree.leaves((state.rows, state.latents))
    return sum(ring.size * ring.dtype.itemsize for ring in rings) / state.rows.reward.size


def add(state: ReplayState, rows: Rows, latent: Latent) -> ReplayState:
    """Appends one row to every ring, over the oldest one where the rings are full.

    Args:
        state: Before.
        rows: [n_envs, ...], with the actions taken on them.
        latent: [n_envs, ...]: their posteriors.
    """
    slot = state.added % state.rows.reward.shape[1]

    def write(ring: Array, row: Array) -> Array:
        return ring.at[:, slot].set(row.astype(ring.dtype))

    return state._replace(
        rows=jax.tree.map(write, state.rows, rows),
        latents=jax.tree.map(write, state.latents, latent),
        added=state.added + 1,
    )


def items(state: ReplayState, length: int) -> Int[Array, ""]:
    """How many different sequences of `length` rows, each with its context, can be drawn."""
    n_envs, capacity = state.rows.reward.shape
    return n_envs * jnp.maximum(0, jnp.minimum(state.added, capacity) - length)


def can_sample(state: ReplayState, batch_size: int, length: int) -> Bool[Array, ""]:
    """Whether there are as many items as a batch has sequences.

    Source: `embodied/run/train.py:82@29eb964`.
    """
    return items(state, length) >= batch_size


def queued(state: ReplayState, length: int) -> Int[Array, ""]:
    """How many items wait in the queue."""
    ahead, behind = _queue(state, length)
    return behind - ahead


def _queue(state: ReplayState, length: int) -> tuple[Int[Array, ""], Int[Array, ""]]:
    """The item at the head of the queue, and the one that will enter it next.

    Items are numbered in the order in which they enter: the first item of every
    environment, then the second, and so on.
    """
    n_envs, capacity = state.rows.reward.shape
    stride = length + 1
    behind = n_envs * (jnp.maximum(0, state.added - 1) // stride)
    # Items whose first row is gone are skipped: row 1 + j · stride ≥ oldest.
    oldest = jnp.maximum(0, state.added - capacity)
    whole = n_envs * ((jnp.maximum(0, oldest - 1) + stride - 1) // stride)
    return jnp.minimum(jnp.maximum(state.dequeued, whole), behind), behind


def sample(
    state: ReplayState, key: PRNGKeyArray, batch_size: int, length: int
) -> tuple[Rows, Context, Where]:
    """Draws a batch: what waits in the queue first, the rest uniformly.

    Nothing changes until the batch has been trained on: `write_back` takes it out of the
    queue.

    Args:
        state: For which `can_sample` holds; the answer is meaningless otherwise.
        key: For the uniform draws.
        batch_size: B.
        length: Rows to train on, without the context.

    Returns:
        Rows [B, length], the row before each sequence [B], and where they came from.

    Raises:
        ValueError: The rings are too short for one sequence and its context.
    """
    n_envs, capacity = state.rows.reward.shape
    if capacity < length + 1:
        raise ValueError(
            f"a ring of {capacity} rows holds no sequence of {length} rows and its context; "
            f"it needs {length + 1} or more"
        )
    head, behind = _queue(state, length)
    number = head + jnp.arange(batch_size, dtype=jnp.int32)
    online = number < behind

    for_environment, for_start = jax.random.split(key)
    oldest = jnp.maximum(0, state.added - capacity)
    drawn = jax.random.randint(for_environment, (batch_size,), 0, n_envs)
    start = jax.random.randint(for_start, (batch_size,), oldest, state.added - length)
    environment = jnp.where(online, number % n_envs, drawn)
    start = jnp.where(online, 1 + number // n_envs * (length + 1), start)

    slots = (start[:, None] + 1 + jnp.arange(length)) % capacity
    rows = jax.tree.map(lambda ring: ring[environment[:, None], slots], state.rows)
    before = start % capacity
    latent = jax.tree.map(lambda ring: ring[environment, before], state.latents)
    context = Context(
        latent=Latent(latent.deter, latent.stoch.astype(jnp.int32)),
        action=state.rows.action[environment, before],
    )
    dequeued = jnp.minimum(head + batch_size, behind)
    return rows, context, Where(environment, start + 1, online, dequeued)


def write_back(state: ReplayState, where: Where, latent: Latent) -> ReplayState:
    """Replaces the latents of the rows that were trained on, and takes them off the queue.

    Where sequences of one batch overlap, the later one wins, as if they were written one
    after the other: the result does not depend on the order in which a device scatters.
    Rows that have been overwritten since they were drawn stay as they are.

    Args:
        state: The state that the batch was drawn from, possibly with rows added since.
        where: As `sample` returned it.
        latent: [B, length, ...]: the posteriors that training inferred.

    Source: `embodied/replay/replay.py:147-168@29eb964`.
    """
    _, capacity = state.rows.reward.shape
    length = latent.deter.shape[1]
    row = where.first[:, None] + jnp.arange(length)
    held = row >= state.added - capacity
    # A slot out of bounds is not written.
    slot = jnp.where(held & written_last(where, length), row % capacity, capacity)

    def write(ring: Array, values: Array) -> Array:
        return ring.at[where.environment[:, None], slot].set(values.astype(ring.dtype), mode="drop")

    return state._replace(
        latents=jax.tree.map(write, state.latents, latent),
        dequeued=jnp.maximum(state.dequeued, where.dequeued),
    )


def written_last(where: Where, length: int) -> Bool[Array, "B length"]:
    """Which rows of a batch no later sequence of it trains on again."""
    order = jnp.arange(len(where.first))
    later = order[:, None] < order
    same = where.environment[:, None] == where.environment
    row = where.first[:, None] + jnp.arange(length)
    offset = row[:, :, None] - where.first
    covers = (offset >= 0) & (offset < length)
    return ~(covers & (later & same)[:, None, :]).any(-1)
