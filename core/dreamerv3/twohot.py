"""Two-hot regression: a scalar as a distribution over exponentially spaced bins.

The reward head and the critic predict logits over a fixed support. A target is encoded
on the two bins around it, the loss is a cross entropy, and the prediction is the
expectation of the bins. The form of the bins and of the expectation is row D22 of the
deviation table. Source: paper, section "Critic learning", equation 10.
"""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

Bins = Float[Array, " bins"] | Float[np.ndarray, " bins"]

LIMIT = 20.0  # symlog of the outermost bin: values up to ±4.85e8


@functools.cache
def make_bins(count: int = 255) -> np.ndarray:
    """The support: symexp of an even grid on [−20, 20].

    Args:
        count: Number of bins, odd, so that the middle bin is 0.

    Returns:
        [count] float32, ascending and exactly antisymmetric: the rounding of the float64
        values, the same constants eagerly, under `jit` and on every backend.

    Raises:
        ValueError: `count` is even or below 3.
    """
    if count < 3 or count % 2 == 0:
        raise ValueError(f"a two-hot support needs an odd number of bins, at least 3, not {count}")
    grid = np.linspace(0.0, LIMIT, count // 2 + 1, dtype=np.float64)
    upper = np.expm1(grid).astype(np.float32)
    bins = np.concatenate([-upper[:0:-1], upper])
    bins.flags.writeable = False
    return bins


def _neighbours(
    value: Float[Array, "*batch"], bins: Bins
) -> tuple[
    Int[Array, "*batch"], Int[Array, "*batch"], Float[Array, "*batch"], Float[Array, "*batch"]
]:
    """Indices of the bins at or below and above a value, and the weight of each."""
    last = len(bins) - 1
    count = jnp.searchsorted(bins, value, side="right").astype(jnp.int32)
    below = jnp.clip(count - 1, 0, last)
    above = jnp.clip(count, 0, last)
    outside = below == above
    to_below = jnp.where(outside, 1.0, jnp.abs(bins[below] - value))
    to_above = jnp.where(outside, 1.0, jnp.abs(bins[above] - value))
    total = to_below + to_above
    return below, above, to_above / total, to_below / total


def encode(value: Float[Array, "*batch"], bins: Bins) -> Float[Array, "*batch bins"]:
    """Weights of a value on its two neighbouring bins.

    A value outside the support has all its weight on the outermost bin.

    Args:
        value: Scalars in units of the value.
        bins: Ascending support, from `make_bins`.

    Returns:
        Weights that sum to 1, at most two of them not 0.
    """
    bins = jnp.asarray(bins)
    below, above, weight_below, weight_above = _neighbours(value, bins)
    index = jnp.arange(len(bins))
    return jnp.where(index == below[..., None], weight_below[..., None], 0.0) + jnp.where(
        index == above[..., None], weight_above[..., None], 0.0
    )


def loss(
    logits: Float[Array, "*batch bins"],
    value: Float[Array, "*batch"],
    bins: Bins,
) -> Float[Array, "*batch"]:
    """Cross entropy of the two-hot target under softmax(logits), in nats.

    Args:
        logits: Unnormalised log-probabilities of the bins.
        value: Targets, in units of the value; no gradient flows into them.
        bins: Ascending support, from `make_bins`.
    """
    bins = jnp.asarray(bins)
    below, above, *weights = jax.lax.stop_gradient(_neighbours(value, bins))
    normaliser = jax.scipy.special.logsumexp(logits, axis=-1)

    def log_prob(index: Int[Array, "*batch"]) -> Float[Array, "*batch"]:
        return jnp.take_along_axis(logits, index[..., None], axis=-1)[..., 0] - normaliser

    # Only two bins have a weight: reading those two takes a tenth of the time of a sum over
    # all bins, whose weights would have to be worked out first. A target outside the support
    # has one; asking for that here also keeps the compiler from contracting the two products
    # to one rounding, so that the loss has the bits of the sum over all bins.
    lower = log_prob(below)
    outside = below == above
    first = jnp.where(outside, lower, weights[0] * lower)
    return -(first + jnp.where(outside, 0.0, weights[1] * log_prob(above)))


def expectation(probs: Float[Array, "*batch bins"], bins: Bins) -> Float[Array, "*batch"]:
    """Expectation of the bins: Σ (p_j − p_i) · b_j over the mirror pairs (i, j).

    The outer bins are ±4.85e8 and cancel. Taking the difference of the probabilities
    before the product makes the expectation of a mirror-symmetric distribution exactly
    0, however the compiler fuses the sum.

    Args:
        probs: Probabilities of the bins, or weights that are not normalised.
        bins: Antisymmetric support, from `make_bins`.

    Returns:
        Scalars in units of the value, times the sum of `probs`.
    """
    half = len(bins) // 2
    lower = probs[..., :half][..., ::-1]
    upper = probs[..., -half:]
    return jnp.sum((upper - lower) * jnp.asarray(bins)[-half:], axis=-1)


def decode(logits: Float[Array, "*batch bins"], bins: Bins) -> Float[Array, "*batch"]:
    """Expectation of the bins under softmax(logits), in units of the value.

    The division by the sum comes last. If the probabilities were formed first, a compiler
    would contract p_j − p_i = e_j · r − e_i · r to a single rounding of one of the products:
    the two no longer cancel, and the rounding of 1/255 times 4.85e8 is 0.1.

    The weights are summed as the reference sums them, not over the pairs as in
    `core.tdmpc2.twohot`: sums that round alike keep the two within 2.9 instead of
    3.0 ε·E|b| of each other (claim `D22/decode`).
    """
    weights = jnp.exp(logits - jax.lax.stop_gradient(logits.max(-1, keepdims=True)))
    return expectation(weights, bins) / weights.sum(-1)
