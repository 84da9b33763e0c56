"""The numerics that DreamerV3's networks are made of.

Every function is pure, works under `jax.jit` and `jax.vmap`, and computes in the dtype
of its input. Section numbers refer to Hafner et al., "Mastering Diverse Domains through
World Models", arXiv 2301.04104v2.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

RMS_NORM_EPSILON = 1e-4


def symlog(x: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """Symmetric logarithm: sign(x) · ln(1 + |x|).

    Args:
        x: Any scalars.

    Returns:
        Their symlog; odd, 0 at 0, within 3 ULP elsewhere on XLA's CPU backend.

    Source: paper, equation 9 (symlog).
    """
    return jnp.sign(x) * jnp.log1p(jnp.abs(x))


def symexp(x: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """Symmetric exponential, the inverse of `symlog`: sign(x) · (exp(|x|) − 1).

    Within 6 ULP on XLA's CPU backend.

    Source: paper, equation 9 (symexp).
    """
    return jnp.sign(x) * jnp.expm1(jnp.abs(x))


def unimix_log_probs(
    logits: Float[Array, "*batch classes"], unimix: float, *, axis: int = -1
) -> Float[Array, "*batch classes"]:
    """Log-probabilities of a categorical mixed with the uniform distribution.

    Args:
        logits: Unnormalised log-probabilities.
        unimix: Share of the uniform distribution, in [0, 1); 0.01 in DreamerV3, so that
            no class is ever less likely than 0.01 / classes.
        axis: The axis of the classes.

    Returns:
        log((1 − unimix) · softmax(logits) + unimix / classes), in nats.

    Source: paper, section "World model learning" (1% unimix).
    """
    probs = jax.nn.softmax(logits, axis=axis)
    return jnp.log((1 - unimix) * probs + unimix / logits.shape[axis])


def rms_norm(
    x: Float[Array, "*batch features"],
    scale: Float[Array, " features"],
    *,
    epsilon: float = RMS_NORM_EPSILON,
) -> Float[Array, "*batch features"]:
    """Root-mean-square normalisation: x · scale / sqrt(mean(x²) + ε).

    The statistics are taken in the dtype of `x`: in bfloat16 the square, ε and the
    reciprocal root are bfloat16 too, as in the reference (`nets.py:758-763@29eb964`).

    Args:
        x: Activations.
        scale: The learned scale, initially 1.
        epsilon: DreamerV3 uses 1e-4, a hundred times the usual default: activations whose
            mean square is near it are visibly shrunk.
    """
    mean_square = jnp.mean(x * x, axis=-1, keepdims=True)
    return x * (jax.lax.rsqrt(mean_square + epsilon) * scale.astype(x.dtype))


def kernel_init(outscale: float = 1.0) -> jax.nn.initializers.Initializer:
    """Initialiser of every kernel: a truncated normal of variance outscale² / fan_in.

    A block-diagonal kernel [blocks, in, out] counts the inputs of all blocks, not of its
    own: fan_in = blocks · in.

    Args:
        outscale: Scale of the layer's initial output; 0 initialises with zeros.

    Source: `nets.py:846-849,874-885@29eb964`, but for the constant (row D23).
    """
    if not outscale:
        return jax.nn.initializers.zeros
    return jax.nn.initializers.variance_scaling(outscale**2, "fan_in", "truncated_normal")
