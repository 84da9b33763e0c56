"""The optimizer: adaptive gradient clipping, LaProp and a linear warm-up.

One optimizer holds the parameters of world model, actor and critic. LaProp (Ziyin et al.,
"LaProp: Separating Momentum and Adaptivity in Adam", arXiv 2002.04839) normalises a
gradient by its second moment first and takes the momentum of what is left, so that no
update is larger than the momentum of unit steps, however small the gradients become.

Source: paper, section "Implementation details" (optimizer); `jaxutils.py:424-556@29eb964`;
protocol rows 35-38.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, ArrayLike, Float, Int


class OptimizerConfig(Protocol):
    """What `make_optimizer` reads of the agent's configuration."""

    @property
    def learning_rate(self) -> float:
        """Step size after the warm-up; 4e-5."""
        ...

    @property
    def agc(self) -> float:
        """Largest norm of a gradient relative to its parameter; 0.3, and 0 clips nothing."""
        ...

    @property
    def agc_pmin(self) -> float:
        """Least norm that counts for a parameter; 1e-3."""
        ...

    @property
    def beta1(self) -> float:
        """Decay of the momentum; 0.9."""
        ...

    @property
    def beta2(self) -> float:
        """Decay of the second moment; 0.999."""
        ...

    @property
    def eps(self) -> float:
        """Added to the root of the second moment; 1e-20."""
        ...

    @property
    def warmup(self) -> int:
        """Updates until the full step size; 1,000."""
        ...


class LaPropState(NamedTuple):
    """Moments of `scale_by_laprop`, trees like the parameters."""

    count: Int[Array, ""]
    second_moment: optax.Updates
    momentum: optax.Updates


def clip_by_agc(clip: float = 0.3, pmin: float = 1e-3) -> optax.GradientTransformation:
    """Adaptive gradient clipping by the norm of whole tensors.

    A gradient whose norm exceeds clip · max(pmin, norm of its parameter) is shrunk to that
    norm. optax's `adaptive_grad_clip` takes the norms of units (rows of a kernel) instead.

    Args:
        clip: Largest ratio of the two norms.
        pmin: Least norm that counts for a parameter, so that zeros can grow.

    Source: `jaxutils.py:660-674@29eb964`.
    """

    def clipped(
        gradient: Float[Array, "*shape"], parameter: Float[Array, "*shape"]
    ) -> Float[Array, "*shape"]:
        limit = clip * jnp.maximum(pmin, jnp.linalg.norm(parameter.ravel()))
        norm = jnp.linalg.norm(gradient.ravel())
        return gradient * (1 / jnp.maximum(1.0, norm / limit))

    def update(
        updates: optax.Updates, state: optax.EmptyState, params: optax.Params | None = None
    ) -> tuple[optax.Updates, optax.EmptyState]:
        if params is None:
            raise ValueError(
                "clip_by_agc compares a gradient with its parameter: pass params to update"
            )
        return jax.tree.map(clipped, updates, params), state

    return optax.GradientTransformation(lambda params: optax.EmptyState(), update)  # type: ignore[arg-type]


def scale_by_laprop(
    beta1: float = 0.9, beta2: float = 0.999, eps: float = 1e-20
) -> optax.GradientTransformation:
    """LaProp: divide by the root of the second moment, then take the momentum.

    With t counted from 1: v ← β₂v + (1 − β₂)g², u = g / (√(v / (1 − β₂ᵗ)) + ε),
    m ← β₁m + (1 − β₁)u, and the update is m / (1 − β₁ᵗ). The sign and the step size are
    left to what follows in the chain.

    Args:
        beta1: Decay of the momentum.
        beta2: Decay of the second moment.
        eps: Added after the root. At 1e-20 it only keeps 0 / 0 from happening: a gradient of
            any representable size is normalised.

    Source: arXiv 2002.04839, algorithm 1; `jaxutils.py:677-713@29eb964`.
    """

    def init(params: optax.Params) -> LaPropState:
        return LaPropState(
            jnp.zeros((), jnp.int32),
            jax.tree.map(jnp.zeros_like, params),
            jax.tree.map(jnp.zeros_like, params),
        )

    def update(
        updates: optax.Updates, state: LaPropState, params: optax.Params | None = None
    ) -> tuple[optax.Updates, LaPropState]:
        del params
        count = jnp.asarray(optax.safe_increment(state.count))
        second_moment = jax.tree.map(
            lambda v, g: beta2 * v + (1 - beta2) * (g * g), state.second_moment, updates
        )
        unit = jax.tree.map(
            lambda g, v: g / (jnp.sqrt(v) + eps),
            updates,
            optax.tree.bias_correction(second_moment, beta2, count),
        )
        momentum = jax.tree.map(lambda m, u: (1 - beta1) * u + beta1 * m, state.momentum, unit)
        return (
            optax.tree.bias_correction(momentum, beta1, count),
            LaPropState(count, second_moment, momentum),
        )

    return optax.GradientTransformation(init, update)  # type: ignore[arg-type]


def warmup_factor(count: ArrayLike, warmup: int) -> Float[Array, ""]:
    """Share of the step size after `count` updates: min(1, count / warmup).

    The first update has the factor 0 and changes no parameter; it only feeds the moments.
    The update after `warmup` others is the first with the full step size.

    Args:
        count: Updates made before this one.
        warmup: Length of the ramp; 0 for none.

    Source: `jaxutils.py:508-511@29eb964`.
    """
    if not warmup:
        return jnp.ones(())
    return jnp.clip(jnp.asarray(count) / warmup, 0, 1)


def make_optimizer(config: OptimizerConfig) -> optax.GradientTransformation:
    """The transformation from gradients to what is added to the parameters.

    Args:
        config: The agent's configuration.

    Returns:
        Clipping, LaProp, step size with its sign, warm-up. Its `update` needs the parameters.
    """
    return optax.chain(
        clip_by_agc(config.agc, config.agc_pmin) if config.agc else optax.identity(),
        scale_by_laprop(config.beta1, config.beta2, config.eps),
        optax.scale(-config.learning_rate),
        optax.scale_by_schedule(lambda count: warmup_factor(count, config.warmup)),
    )
