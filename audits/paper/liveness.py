"""How much memory a program needs beside its inputs, from its shapes alone.

Every operation is taken in the order in which it is written: its results are there until their
last use, and take the place of an argument of the same size that is used for the last time, as
XLA does it. Fusion, which needs less, and padding, which needs more, are left out, so that this
is an estimate and not a bound; `audit paper estimate --calibrate` measures.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import Literal

_LOOPS = ("while", "scan")


def temporary_bytes(function: Callable[..., Any], *arguments: Any) -> int:
    """Most bytes that are held at once beside the arguments, while a function runs.

    Args:
        function: Whose arguments are donated.
        arguments: Arrays, or their shapes.
    """
    return _peak(jax.make_jaxpr(function)(*arguments).jaxpr, owned=True)


def array_bytes(array: Any) -> int:
    """Bytes of an array or a shape; a random key of jax's default kind is two words."""
    if jnp.issubdtype(array.dtype, jax.dtypes.prng_key):
        return 8 * math.prod(array.shape)
    return array.dtype.itemsize * math.prod(array.shape)


def _peak(jaxpr: Any, *, owned: bool) -> int:
    """Of one program.

    Args:
        jaxpr: The program.
        owned: Whether it may overwrite its inputs.
    """
    last_use: dict[Any, int] = {}
    for index, equation in enumerate(jaxpr.eqns):
        last_use |= dict.fromkeys(_variables(equation.invars), index)
    kept = set(_variables(jaxpr.outvars))
    made: set[Any] = set()
    inputs = set(jaxpr.invars) if owned else set()
    held = peak = 0
    for index, equation in enumerate(jaxpr.eqns):
        dying = [
            variable
            for variable in dict.fromkeys(_variables(equation.invars))
            if last_use[variable] == index and variable not in kept and variable in made | inputs
        ]
        fresh, reused = _placed(equation.outvars, dying)
        loop = equation.primitive.name in _LOOPS
        inner = max((_peak(sub, owned=loop) for sub in _inside(equation)), default=0)
        held += fresh
        peak = max(peak, held + inner)
        # An input that is not overwritten stays its owner's.
        held -= sum(array_bytes(v.aval) for v in dying if v in made and v not in reused)
        made |= set(equation.outvars)
    return peak


def _placed(results: list[Any], dying: list[Any]) -> tuple[int, set[Any]]:
    """Bytes of the results that need a new place, and the arguments whose places others take."""
    free: dict[int, list[Any]] = {}
    for variable in dying:
        free.setdefault(array_bytes(variable.aval), []).append(variable)
    fresh, reused = 0, set()
    for result in results:
        size = array_bytes(result.aval)
        if free.get(size):
            reused.add(free[size].pop())
        else:
            fresh += size
    return fresh, reused


def _variables(atoms: Any) -> Iterator[Any]:
    """Those that are no literals."""
    return (atom for atom in atoms if not isinstance(atom, Literal))


def _inside(equation: Any) -> Iterator[Any]:
    """The programs that an operation runs: bodies of loops, branches, calls."""
    for value in equation.params.values():
        for item in value if isinstance(value, list | tuple) else (value,):
            inner = getattr(item, "jaxpr", item)
            if hasattr(inner, "eqns"):
                yield inner
