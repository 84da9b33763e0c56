"""States of environments whose authors did not keep shapes and dtypes fixed.

A loop needs the same shapes and dtypes on every pass. gymnax starts a clock as the Python
number 0 and goes on with an array; a scalar may become a vector of one element.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool


def _is_key(leaf: Array) -> bool:
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def fixed(state: Any) -> Any:
    """The state with Python numbers as arrays, and no dtype left to be inferred."""

    def fix(leaf: Any) -> Array:
        array = jnp.asarray(leaf)
        return array if _is_key(array) else array.astype(array.dtype)

    return jax.tree.map(fix, state)


def like(state: Any, template: Any) -> Any:
    """The state in the shapes and dtypes of another one."""

    def fit(leaf: Any, model: Array) -> Array:
        array = jnp.asarray(leaf)
        return array if _is_key(array) else array.reshape(model.shape).astype(model.dtype)

    return jax.tree.map(fit, state, template)


def select(condition: Bool[Array, ""], chosen: Any, otherwise: Any) -> Any:
    """One of two states of the same structure."""
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), chosen, otherwise)
