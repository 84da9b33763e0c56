"""Two-hot regression of rewards and values, in the form of row T24.

Scalars are compressed by symlog, put on the two neighbouring bins of an even grid, and
decoded as the symexp of the expectation. The support is symmetric, so the expectation is
taken over mirror pairs, and is exactly 0 where the distribution is uniform.

Source: paper, appendix; `common/math.py:5-9,66-95@5f6fade`.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from core.numerics import symexp, symlog


@functools.cache
def make_bins(count: int = 101, limit: float = 10.0, dtype: str = "float32") -> np.ndarray:
    """The support: an even grid on [−limit, limit] in symlog space.

    Args:
        count: Number of bins, odd, so that the middle bin is 0.
        limit: The outermost bin.
        dtype: What the exact values are rounded to.

    Returns:
        [count], ascending and exactly antisymmetric: the rounding of the float64 grid, the
        same constants eagerly, under `jit` and on every backend.

    Raises:
        ValueError: `count` is even or below 3.
    """
    if count < 3 or count % 2 == 0:
        raise ValueError(f"a two-hot support needs an odd number of bins, at least 3, not {count}")
    upper = np.linspace(0.0, limit, count // 2 + 1, dtype=np.float64).astype(dtype)
    bins = np.concatenate([-upper[:0:-1], upper])
    bins.flags.writeable = False
    return bins


class Support(NamedTuple):
    """An even, symmetric grid of bins in symlog space.

    Attributes:
        count: Number of bins, odd.
        limit: The outermost one.
    """

    count: int
    limit: float

    def bins(self, dtype: jnp.dtype) -> Float[Array, " bins"]:
        """The bins, rounded to a dtype."""
        return jnp.asarray(make_bins(self.count, self.limit, jnp.dtype(dtype).name))

    def place(self, value: Float[Array, "*batch"]) -> TwoHot:
        """Where a value lies: no gradient flows into it.

        The weight of the bin above is the position between the two bins themselves, which is
        closer to the exact one than the reference's floor formula (row T24).
        """
        value = jax.lax.stop_gradient(value)
        bins = self.bins(value.dtype)
        x = jnp.clip(symlog(value), -self.limit, self.limit)
        # The rounded grid decides which bins a value lies between, not the division.
        below = jnp.searchsorted(bins, x, side="right").astype(jnp.int32) - 1
        below = jnp.clip(below, 0, self.count - 2)
        low, high = bins[below], bins[below + 1]
        return TwoHot(below, jnp.clip((x - low) / (high - low), 0.0, 1.0))

    def encode(self, value: Float[Array, "*batch"]) -> Float[Array, "*batch bins"]:
        """Weights of a value on all bins: they sum to 1, at most two of them not 0.

        A value outside the support has all its weight on the outermost bin.

        Args:
            value: In units of the value.
        """
        below, share = self.place(value)
        index, below, share = jnp.arange(self.count), below[..., None], share[..., None]
        return jnp.where(index == below, 1 - share, 0) + jnp.where(index == below + 1, share, 0)

    def loss(
        self, logits: Float[Array, "*batch bins"], value: Float[Array, "*batch"]
    ) -> Float[Array, "*batch"]:
        """Cross entropy of the two-hot target under softmax(logits), in nats.

        Args:
            logits: Unnormalised log-probabilities of the bins.
            value: Targets in units of the value; leading axes broadcast.
        """
        below, share = self.place(value)
        normaliser = jax.scipy.special.logsumexp(logits, axis=-1)
        shape = normaliser.shape

        def log_prob(index: Int[Array, "*batch"]) -> Float[Array, "*batch"]:
            index = jnp.broadcast_to(index, shape)[..., None]
            return jnp.take_along_axis(logits, index, axis=-1)[..., 0] - normaliser

        return -((1 - share) * log_prob(below) + share * log_prob(below + 1))

    def decode(self, logits: Float[Array, "*batch bins"]) -> Float[Array, "*batch"]:
        """The predicted scalar: symexp(Σ (p_j − p_i) · b_j) over the mirror pairs (i, j).

        The division by Σ p comes last, so that mirrored weights cancel however the compiler
        contracts products. Both sums go over pairs: a sum of all bins, one after the other,
        rounds twice as often, and always the same way where most weights are alike.
        """
        half = self.count // 2
        weights = jnp.exp(logits - jax.lax.stop_gradient(logits.max(-1, keepdims=True)))
        lower, upper = weights[..., :half][..., ::-1], weights[..., -half:]
        bins = self.bins(logits.dtype)[-half:]
        total = jnp.sum(upper + lower, axis=-1) + weights[..., half]
        return symexp(jnp.sum((upper - lower) * bins, axis=-1) / total)


class TwoHot(NamedTuple):
    """Where a scalar lies on a support.

    Attributes:
        below: Index of the bin at or below it, never the last one.
        share: Weight of the bin above that; the other has the rest.
    """

    below: Int[Array, "*batch"]
    share: Float[Array, "*batch"]
