"""Runs functions of arrays the way that an operation's `mode` says."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

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


def quick_jit(function: Callable, level: int = 0, **options: Any) -> Callable:
    """`jax.jit` for what is run a few times: compiled in half the time, for a slower program.

    Only where no claim is about rounding: less is optimised, so sums may differ.

    Args:
        function: What to compile.
        level: 0 compiles fastest; 1 is for programs that take a second or more.
        **options: Of `jax.jit`.
    """
    effort: dict[str, Any] = {"xla_backend_optimization_level": level}
    if level == 0:
        effort["xla_llvm_disable_expensive_passes"] = True
    return jax.jit(function, compiler_options=effort, **options)


def forget_programs() -> None:
    """Frees what was compiled so far.

    Every program maps pieces of memory, of which Linux gives a process 65,530: one process that
    seeded faults had used them up after 127.
    """
    jax.clear_caches()
