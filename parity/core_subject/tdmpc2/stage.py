"""Which TD-MPC2 core is asked, and its programs: each is compiled once, for each core.

A fault replaces a function or a value of the configuration; its programs are compiled anew.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import jax
import numpy as np

from core.tdmpc2.config import Config
from parity.core_subject.running import quick_jit
from parity.operations import Answer


@dataclasses.dataclass(frozen=True)
class Variant:
    """Which core is asked: the sound one, or one in which something was replaced.

    Attributes:
        name: Programs are compiled once per name.
        settings: Values of the configuration that take precedence over those asked for.
    """

    name: str = "sound"
    settings: tuple[tuple[str, Any], ...] = ()


_variants = [Variant()]


@contextlib.contextmanager
def variant(chosen: Variant) -> Iterator[None]:
    """Programs are compiled anew for this variant; what differs is the caller's to replace."""
    _variants.append(chosen)
    try:
        yield
    finally:
        _variants.pop()


def asked() -> Variant:
    """The variant that is asked."""
    return _variants[-1]


@functools.cache
def _program(function: Callable, static: tuple, quickly: bool, name: str) -> Callable:
    del name
    bound = functools.partial(function, *static)
    return quick_jit(bound) if quickly else jax.jit(bound)


def compiled(function: Callable, *static: Any, quickly: bool = True) -> Callable:
    """`function(*static, ...)` of arrays as one program, for the variant that is asked.

    Args:
        function: To compile.
        *static: Its first arguments.
        quickly: Whether to optimise less: for what runs on a few numbers.
    """
    return _program(function, static, quickly, _variants[-1].name)


def answers(arrays: Mapping[str, Any]) -> Answer:
    """As numpy arrays."""
    return {name: np.asarray(value) for name, value in arrays.items()}


def config(**settings: Any) -> Config:
    """A configuration, with the settings of the variant that is asked."""
    return Config(**{**settings, **dict(_variants[-1].settings)})
