"""The return normaliser: moving percentiles that set the scale of the advantages.

Source: paper, section "Actor learning", equation 13; `jaxutils.py:301-396@29eb964`.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float


class Percentiles(NamedTuple):
    """Moving averages of the 5th and the 95th percentile of the returns, initially 0."""

    low: Float[Array, ""]
    high: Float[Array, ""]


def initial() -> Percentiles:
    """The state before the first update."""
    return Percentiles(jnp.zeros((), jnp.float32), jnp.zeros((), jnp.float32))


def update(
    state: Percentiles, returns: Float[Array, "*shape"], *, rate: float = 0.01
) -> Percentiles:
    """Moves both percentiles towards those of one batch of returns.

    Args:
        state: Before the update.
        returns: One batch, of any shape.
        rate: Weight of the new batch. There is no bias correction: the scale is small for
            the first few hundred updates, and `scale` holds it at its limit.
    """
    low, high = jnp.percentile(returns, jnp.asarray([5.0, 95.0], returns.dtype))
    return Percentiles((1 - rate) * state.low + rate * low, (1 - rate) * state.high + rate * high)


def scale(state: Percentiles, *, limit: float = 1.0) -> Float[Array, ""]:
    """What advantages are divided by: max(limit, high − low)."""
    return jnp.maximum(limit, state.high - state.low)


def metrics(state: Percentiles, *, limit: float = 1.0) -> dict[str, Float[Array, ""]]:
    """The state, under the names that a log has for it."""
    return {
        "retnorm/low": state.low,
        "retnorm/high": state.high,
        "retnorm/scale": scale(state, limit=limit),
    }
