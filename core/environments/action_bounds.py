"""Actions of an agent in the units of an environment."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from numpy.typing import ArrayLike


def stretched(action: Float[Array, "*shape"], low: ArrayLike, high: ArrayLike) -> Array:
    """[−1, 1] as the environment's own bounds; an unbounded component stays as it is.

    Args:
        action: What the agent chose; what leaves [−1, 1] is clipped.
        low: Lower bounds, of the action's shape or one for all; constants.
        high: Upper bounds.

    Source: `embodied/core/wrappers.py:58-91@29eb964`.
    """
    low = np.broadcast_to(np.asarray(low, np.float32), action.shape)
    high = np.broadcast_to(np.asarray(high, np.float32), action.shape)
    bounded = np.isfinite(low) & np.isfinite(high)
    low, high = np.where(bounded, low, -1.0), np.where(bounded, high, 1.0)
    return ((jnp.clip(action, -1.0, 1.0) + 1) / 2 * (high - low) + low).astype(jnp.float32)
