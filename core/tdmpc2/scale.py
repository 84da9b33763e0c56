"""The running scale: how far apart values are, to weigh them against the entropy.

A moving average of the distance between the 5th and the 95th percentile, never below 1.

Source: paper, section 3.2 (policy prior); `common/scale.py@5f6fade`, in the form of row T25.
"""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float


def initial() -> Float[Array, ""]:
    """The scale before the first update."""
    return jnp.ones((), jnp.float32)


def percentiles(values: Float[Array, " batch"]) -> Float[Array, " two"]:
    """The 5th and the 95th percentile, interpolated linearly between sorted values."""
    return jnp.percentile(values, jnp.asarray([5.0, 95.0], values.dtype))


def update(
    scale: Float[Array, ""], values: Float[Array, " batch"], *, tau: float = 0.01
) -> Float[Array, ""]:
    """Moves the scale towards that of one batch of values.

    Args:
        scale: Before the update.
        values: Q-values of the *first* step of each sequence; latents further on are imagined.
        tau: Weight of the new batch.
    """
    low, high = percentiles(values)
    return (1 - tau) * scale + tau * jnp.maximum(high - low, 1.0)
