"""Faults of the replay: its queue and its draws."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from parity.faults import Fault
from parity.implementations import OperationTable

KIND = "replay"


def with_parts(**parts: Any) -> OperationTable:
    """The core's replay, some of whose functions are replaced."""
    from parity.core_subject.dreamerv3 import replay

    return {"dreamerv3.replay": partial(replay.replay, parts=replay.Parts(**parts))}


def _drawn(choose: Callable) -> OperationTable:
    """The core's replay with other sequences.

    Args:
        choose: From (state, where, a key, length) to the environment and the row of the
            context of each sequence, and whether it is from the queue.
    """
    import jax
    import jax.numpy as jnp

    from core.dreamerv3 import replay as ring
    from core.dreamerv3.types import Context, Latent

    def sample(state, key, batch, length):
        _, _, where = ring.sample(state, key, batch, length)
        environment, start, online = choose(state, where, key, length)
        capacity = state.rows.reward.shape[1]
        slots = (start[:, None] + 1 + jnp.arange(length)) % capacity
        rows = jax.tree.map(lambda column: column[environment[:, None], slots], state.rows)
        before = start % capacity
        latent = jax.tree.map(lambda column: column[environment, before], state.latents)
        latent = Latent(latent.deter, latent.stoch.astype(jnp.int32))
        context = Context(latent, state.rows.action[environment, before])
        return rows, context, ring.Where(environment, start + 1, online, where.dequeued)

    return with_parts(sample=sample)


def _starts(low: Callable, high: Callable, power: float = 1.0) -> OperationTable:
    """Uniform draws with other limits: of (rows added, capacity, length)."""
    import jax
    import jax.numpy as jnp

    def choose(state, where, key, length):
        capacity = state.rows.reward.shape[1]
        limits = [limit(state.added, capacity, length) for limit in (low, high)]
        share = jax.random.uniform(jax.random.fold_in(key, 1), where.first.shape) ** power
        drawn = limits[0] + jnp.floor(share * (limits[1] - limits[0])).astype(jnp.int32)
        return (
            where.environment,
            jnp.where(where.online, where.first - 1, drawn),
            where.online,
        )

    return _drawn(choose)


def _oldest(added, capacity, length):
    import jax.numpy as jnp

    del length
    return jnp.maximum(0, added - capacity)


def _end(added, capacity, length):
    del capacity
    return added - length


def _across_the_head() -> OperationTable:
    """Starts so late that a sequence runs over the newest row into the oldest ones."""
    return _starts(_oldest, lambda added, capacity, length: added)


def _off_by_one() -> OperationTable:
    """Once a ring has wrapped, the row that was overwritten last counts as its oldest."""
    import jax.numpy as jnp

    return _starts(lambda added, capacity, length: jnp.maximum(0, added - capacity - 1), _end)


def _queue_from_row_0() -> OperationTable:
    """The queue begins with row 0 of every environment."""
    import jax.numpy as jnp

    def choose(state, where, key, length):
        del key, state, length
        return where.environment, where.first - jnp.where(where.online, 2, 1), where.online

    return _drawn(choose)


def _no_queue() -> OperationTable:
    """All draws are uniform."""

    def choose(state, where, key, length):
        import jax
        import jax.numpy as jnp

        oldest = jnp.maximum(0, state.added - state.rows.reward.shape[1])
        shape = where.first.shape
        start = jax.random.randint(key, shape, oldest, state.added - length)
        environment = jax.random.randint(key, shape, 0, state.rows.reward.shape[0])
        return environment, start, jnp.zeros(shape, bool)

    return _drawn(choose)


def _queue_per_environment() -> OperationTable:
    """Of the sequences that wait, those of the last environment come first."""
    import jax.numpy as jnp

    def choose(state, where, key, length):
        del key, length
        flipped = state.rows.reward.shape[0] - 1 - where.environment
        environment = jnp.where(where.online, flipped, where.environment)
        return environment, where.first - 1, where.online

    return _drawn(choose)


def _queue_of_gone_rows() -> OperationTable:
    """The queue hands out runs whose rows have been overwritten."""
    import jax.numpy as jnp

    def choose(state, where, key, length):
        del key
        envs = state.rows.reward.shape[0]
        number = state.dequeued + jnp.arange(len(where.first))
        online = number < envs * (jnp.maximum(0, state.added - 1) // (length + 1))
        environment = jnp.where(online, number % envs, where.environment)
        run = 1 + number // envs * (length + 1)
        return environment, jnp.where(online, run, where.first - 1), online

    return _drawn(choose)


def _one_ring_shorter() -> OperationTable:
    """Environment 0 drops its oldest row before the others do."""
    import jax.numpy as jnp

    def choose(state, where, key, length):
        del key, length
        start, capacity = where.first - 1, state.rows.reward.shape[1]
        dropped = ~where.online & (where.environment == 0) & (start == state.added - capacity)
        return where.environment, start + jnp.where(dropped, 1, 0), where.online

    return _drawn(choose)


def _never_dequeued() -> OperationTable:
    """Sequences stay in the queue once they are trained on."""
    from core.dreamerv3 import replay as ring

    def write_back(state, where, latent):
        return ring.write_back(state, where, latent)._replace(dequeued=state.dequeued)

    return with_parts(write_back=write_back)


def _shifted_flags() -> OperationTable:
    """is_first one row early in what is drawn: read from the row after."""
    import jax.numpy as jnp

    from core.dreamerv3 import replay as ring

    def sample(state, key, batch, length):
        rows, context, where = ring.sample(state, key, batch, length)
        slots = (where.first[:, None] + 1 + jnp.arange(length)) % state.rows.reward.shape[1]
        early = state.rows.is_first[where.environment[:, None], slots]
        return rows._replace(is_first=early), context, where

    return with_parts(sample=sample)


ORDER = ("replay-queue/order",)
SUPPORT = ("replay-uniform/support",)
REPORTED = "reported in re-implementations"

FAULTS = (
    Fault(
        "F46",
        "sequences that cross the ring's write head",
        KIND,
        _across_the_head,
        SUPPORT,
        REPORTED,
    ),
    Fault("F46.oldest", "a ring off by one when it wraps", KIND, _off_by_one, SUPPORT, REPORTED),
    Fault(
        "X90",
        "the queue begins at row 0",
        KIND,
        _queue_from_row_0,
        ("replay-queue/order", "replay-queue/stock"),
    ),
    Fault("X91", "no queue of new rows", KIND, _no_queue, ORDER),
    Fault(
        "X92", "the queue in the reverse order of environments", KIND, _queue_per_environment, ORDER
    ),
    Fault("X93", "sequences stay in the queue", KIND, _never_dequeued, ORDER),
    Fault(
        "X94",
        "the newest rows are never drawn",
        KIND,
        lambda: _starts(_oldest, lambda added, capacity, length: added - length - 1),
        SUPPORT,
    ),
    Fault(
        "X95",
        "old rows drawn more often than new ones",
        KIND,
        lambda: _starts(_oldest, _end, power=2.0),
        ("replay-uniform/evenness",),
    ),
    Fault(
        "X102",
        "the queue hands out rows that are gone",
        KIND,
        _queue_of_gone_rows,
        ("D27/neglected-queue",),
    ),
    Fault(
        "X103",
        "one environment drops its rows earlier",
        KIND,
        _one_ring_shorter,
        (*SUPPORT, "D27/together", "D27/fewer"),
    ),
    Fault(
        "X101",
        "is_first one row early in what is drawn",
        KIND,
        _shifted_flags,
        ("replay-queue/columns", "replay-queue/order"),
    ),
)
