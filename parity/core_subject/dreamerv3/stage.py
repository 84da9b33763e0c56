"""The core's heads among prescribed states, so that its losses can be asked about numbers.

State i is the i-th unit vector. A head without hidden layers then reads row i of its kernel,
exactly, so a kernel prescribes what the head puts out in every state, and the gradient of a
kernel is the gradient of these outputs. The heads, and all that is done with what they put
out, are the core's own.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from core.dreamerv3 import world_model
from core.dreamerv3.config import Config
from core.dreamerv3.distributions import CategoricalPolicy, NormalPolicy
from core.dreamerv3.rssm import State
from parity.operations import Answer

_NO_LAYERS = dict.fromkeys(
    ("enc_layers", "dec_layers", "rew_layers", "con_layers", "actor_layers", "critic_layers"), 0
)


@dataclasses.dataclass(frozen=True)
class Variant:
    """Which core is asked: the sound one, or one in which something was replaced.

    Attributes:
        name: Programs are compiled once per name.
        settings: Values of the configuration that are not the default ones.
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


# These programs run once or twice on a few numbers: what costs time is to compile them. On a
# CPU it takes a fifth of the time without optimisation, and the same operations are rounded.
_QUICKLY = {"xla_backend_optimization_level": 0, "xla_cpu_use_fusion_emitters": False}


@functools.cache
def _program(function: Callable, static: tuple, name: str) -> Callable:
    del name
    options = _QUICKLY if jax.default_backend() == "cpu" else None
    return jax.jit(functools.partial(function, *static), compiler_options=options)


def compiled(function: Callable, *static: Any) -> Callable:
    """`function(*static, ...)` of arrays as one program, for the variant that is asked."""
    return _program(function, static, _variants[-1].name)


def answers(arrays: Mapping[str, Any]) -> Answer:
    """As numpy arrays."""
    return {name: np.asarray(value) for name, value in arrays.items()}


def config_of(**overrides: Any) -> Config:
    """The default configuration, with overrides, of the variant that is asked."""
    return Config(**{**overrides, **dict(_variants[-1].settings)})


def headless(**overrides: Any) -> Config:
    """`config_of` with heads that have no hidden layers."""
    return config_of(**{**_NO_LAYERS, **overrides})


def unit_states(count: int, first: int, *shape: int) -> State:
    """States `first`, `first` + 1, ... of `count`, in the shape given."""
    rows = jnp.arange(first, first + _product(shape)).reshape(shape)
    deter = jnp.asarray(rows[..., None] == jnp.arange(count), jnp.float32)
    return State(deter, jnp.zeros((*shape, 1, 1)))


def _product(shape: tuple[int, ...]) -> int:
    total = 1
    for length in shape:
        total *= length
    return total


def layer(outputs: Float[Array, "states width"]) -> dict[str, Any]:
    """Parameters of a linear layer that puts out row i in state i."""
    # The states' classes are one more input, always 0.
    return {"kernel": jnp.pad(outputs, ((0, 1), (0, 0))), "bias": jnp.zeros(outputs.shape[-1])}


def head(outputs: Float[Array, "states width"]) -> dict[str, Any]:
    """Parameters of a head without hidden layers."""
    return {"out": layer(outputs)}


def networks(config: Config, observation_size: int, policy: Any) -> world_model.Networks:
    """The core's networks."""
    return world_model.make_networks(config, observation_size, policy)


class Following:
    """Stands for the recurrent model: a step of imagination leads `rows` states on."""

    def __init__(self, rows: int):
        self._rows = rows

    def apply(self, variables: Any, state: State, *inputs: Any, method: str | None = None) -> State:
        """The next state."""
        del variables, inputs, method
        return State(jnp.roll(state.deter, self._rows, axis=-1), state.stoch)


@dataclasses.dataclass(frozen=True)
class GivenCategorical(CategoricalPolicy):
    """The discrete policy, whose draws are given in the place of noise."""

    def sample(self, raw: Array, noise: Array) -> Array:
        """The given vector."""
        return noise


@dataclasses.dataclass(frozen=True)
class GivenNormal(NormalPolicy):
    """The continuous policy, whose draws are given in the place of noise."""

    def sample(self, raw: Array, noise: Array) -> Array:
        """The given vector."""
        return noise


@dataclasses.dataclass(frozen=True)
class GivenNumbers:
    """A policy that answers with given log-probabilities and entropies, [H, N]."""

    log_probs: Array
    entropies: Array

    def log_prob(self, raw: Array, vector: Array) -> Array:
        """As given."""
        return self.log_probs

    def entropy(self, raw: Array) -> Array:
        """As given."""
        return self.entropies
