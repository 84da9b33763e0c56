"""Faults of the replay: contexts of sequences, and what is written back."""

from __future__ import annotations

from collections.abc import Callable

from deviations.faults.dreamerv3.replay import KIND, REPORTED, with_parts
from parity.faults import Fault
from parity.implementations import OperationTable


def _write_back_lost() -> OperationTable:
    """Latents are written to a copy of the replay that nobody keeps."""
    from core.dreamerv3 import replay as ring

    def write_back(state, where, latent):
        written = ring.write_back(state, where, latent)
        return written._replace(latents=state.latents)

    return with_parts(write_back=write_back)


def _shifted_write_back() -> OperationTable:
    """Latents are written from the context row on: one row early."""
    from core.dreamerv3 import replay as ring

    def write_back(state, where, latent):
        return ring.write_back(state, where._replace(first=where.first - 1), latent)

    return with_parts(write_back=write_back)


def _earlier_kept() -> OperationTable:
    """Of two sequences that overlap in a batch, the earlier one's latents stay."""
    import jax

    from core.dreamerv3 import replay as ring

    def write_back(state, where, latent):
        turned = where._replace(environment=where.environment[::-1], first=where.first[::-1])
        return ring.write_back(state, turned, jax.tree.map(lambda x: x[::-1], latent))

    return with_parts(write_back=write_back)


def _context(change: Callable) -> OperationTable:
    """The core's draws with another context, of (state, rows, context, where)."""
    from core.dreamerv3 import replay as ring

    def sample(state, key, batch, length):
        rows, context, where = ring.sample(state, key, batch, length)
        return rows, change(state, rows, context, where), where

    return with_parts(sample=sample)


def _no_context() -> OperationTable:
    """Sequences begin with zeros in the place of their context."""
    import jax
    import jax.numpy as jnp

    return _context(lambda state, rows, context, where: jax.tree.map(jnp.zeros_like, context))


def _foreign_context() -> OperationTable:
    """The context is read from the next environment."""
    import jax
    import jax.numpy as jnp

    from core.dreamerv3.types import Context, Latent

    def change(state, rows, context, where):
        del rows, context
        envs, capacity = state.rows.reward.shape
        place = (where.environment + 1) % envs, (where.first - 1) % capacity
        latent = jax.tree.map(lambda column: column[place], state.latents)
        latent = Latent(latent.deter, latent.stoch.astype(jnp.int32))
        return Context(latent, state.rows.action[place])

    return _context(change)


def _own_action() -> OperationTable:
    """The action of the first trained row in the place of the context's."""
    return _context(lambda state, rows, context, where: context._replace(action=rows.action[:, 0]))


LATENTS = ("replay-context/latents",)
ACTION = ("replay-context-action/action", "D36/core")

FAULTS = (
    Fault("F40", "latents written back to a temporary", KIND, _write_back_lost, LATENTS, REPORTED),
    Fault("X96", "latents written back one row early", KIND, _shifted_write_back, LATENTS),
    Fault("X97", "of overlapping sequences the earlier one is kept", KIND, _earlier_kept, LATENTS),
    Fault(
        "X98",
        "no context",
        KIND,
        _no_context,
        (*LATENTS, *ACTION),
    ),
    Fault(
        "X99",
        "context of another environment",
        KIND,
        _foreign_context,
        (*LATENTS, *ACTION),
    ),
    Fault(
        "X100",
        "first trained action in the place of the context's",
        KIND,
        _own_action,
        ACTION,
    ),
)
