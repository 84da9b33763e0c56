"""Runs functions of arrays the way that an operation's `mode` says."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np


@cache
def _compiled(function: Callable) -> Callable:
    return jax.jit(function)


def run(function: Callable, mode: str, *arrays: np.ndarray) -> np.ndarray:
    """Runs a function of arrays eagerly or as one compiled program."""
    call = _compiled(function) if mode == "compiled" else function
    return np.asarray(call(*map(jnp.asarray, arrays)))
