"""Both optimisers: clipping by the global norm, and Adam with one step size per network.

Source: `tdmpc2.py:22-29,190-194,262-264@5f6fade`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, TypeVar, cast

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int

from core.tdmpc2.config import Config
from core.tdmpc2.world_model import ModelParams


class AdamState(NamedTuple):
    """State of `scale_by_adam`: the number of updates and both moments."""

    count: Int[Array, ""]
    first: Any
    second: Any


def scale_by_adam(
    beta1: float = 0.9, beta2: float = 0.999, eps: float = 1e-8
) -> optax.GradientTransformation:
    """Adam, with bias corrections that are accurate in float32.

    With t counted from 1: m ← β₁m + (1 − β₁)g, v ← β₂v + (1 − β₂)g², and the update is
    m / (1 − β₁ᵗ) / (√(v / (1 − β₂ᵗ)) + ε). Written as a power, 1 − 0.999ᵗ has lost 1.3e-5 of
    itself at t = 1, and the first step of every parameter would show half of that; it is taken
    as −expm1(t · ln β) instead. The sign and the step size are left to what follows.

    Args:
        beta1: Decay of the first moment.
        beta2: Decay of the second moment.
        eps: Added after the root.
    """

    def init(params: optax.Params) -> AdamState:
        return AdamState(
            jnp.zeros((), jnp.int32),
            jax.tree.map(jnp.zeros_like, params),
            jax.tree.map(jnp.zeros_like, params),
        )

    def update(
        updates: optax.Updates, state: AdamState, params: optax.Params | None = None
    ) -> tuple[optax.Updates, AdamState]:
        del params
        count = jnp.asarray(optax.safe_increment(state.count))
        first = jax.tree.map(lambda m, g: beta1 * m + (1 - beta1) * g, state.first, updates)
        second = jax.tree.map(lambda v, g: beta2 * v + (1 - beta2) * g * g, state.second, updates)
        for_first = -jnp.expm1(count * math.log(beta1))
        for_second = jnp.sqrt(-jnp.expm1(count * math.log(beta2)))
        unit = jax.tree.map(
            lambda m, v: m / for_first / (jnp.sqrt(v) / for_second + eps), first, second
        )
        return unit, AdamState(count, first, second)

    return optax.GradientTransformation(init, update)  # type: ignore[arg-type]


class Optimizers(NamedTuple):
    """Transformations from clipped gradients to what is added to the parameters."""

    model: optax.GradientTransformation
    policy: optax.GradientTransformation


def make_optimizers(config: Config) -> Optimizers:
    """Both optimisers of a configuration; the encoder learns more slowly than the rest."""
    c = config

    def step_sizes(updates: optax.Updates) -> optax.Updates:
        assert isinstance(updates, ModelParams)
        step = -c.learning_rate
        steps = jax.tree.map(lambda u: step * u, updates)
        encoder = jax.tree.map(lambda u: step * c.enc_lr_scale * u, updates.encoder)
        return steps._replace(encoder=encoder)

    return Optimizers(
        model=optax.chain(
            scale_by_adam(c.beta1, c.beta2, c.eps), optax.stateless(lambda u, _: step_sizes(u))
        ),
        policy=optax.chain(
            scale_by_adam(c.beta1, c.beta2, c.policy_eps), optax.scale(-c.learning_rate)
        ),
    )


class Clipped(NamedTuple):
    """A gradient after clipping.

    Attributes:
        gradient: The clipped gradient.
        norm: What it was clipped by: the norm before, with what else counted.
        own_norm: The norm of the clipped gradient alone.
    """

    gradient: Any
    norm: Float[Array, ""]
    own_norm: Float[Array, ""]


def clip(gradient: Any, limit: float, other_norm: Float[Array, ""] | float = 0.0) -> Clipped:
    """Clips a gradient by its global norm: times min(1, limit / (norm + 1e-6)).

    Args:
        gradient: Any tree of arrays.
        limit: The largest norm.
        other_norm: Norm of further gradients that count, and are not returned. The paper era
            clips the model's gradient while the policy still holds that of its last update
            (`tdmpc2.py:263@5f6fade`: `zero_grad` reaches the parameters of one optimiser, the
            norm is taken over all).
    """
    own = optax.tree.norm(gradient)
    norm = jnp.sqrt(own * own + other_norm * other_norm)
    factor = jnp.minimum(1.0, limit / (norm + 1e-6))
    return Clipped(jax.tree.map(lambda g: g * factor, gradient), norm, own * factor)


Tree = TypeVar("Tree")


def add(params: Tree, steps: Any) -> Tree:
    """Parameters after a step: `optax.apply_updates`, which forgets their type."""
    return cast(Tree, optax.apply_updates(cast(Any, params), steps))


def move_towards(new: Any, old: Any, share: float) -> Any:
    """Old parameters moved by a share of the way to new ones: the target networks."""
    return jax.tree.map(lambda n, o: o + share * (n - o), new, old)
