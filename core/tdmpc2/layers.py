"""The layers that every TD-MPC2 network is made of.

Layers compute in the dtype of their input. They take it in parts where the algorithm
concatenates several vectors: the product with a concatenation is the sum of the products
with its parts, and a part with a single row, the latent state that all planned trajectories
start from, is multiplied once and not once per trajectory.
"""

from __future__ import annotations

from collections.abc import Callable

import flax.linen as nn
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

LAYER_NORM_EPSILON = 1e-5
KERNEL_STD = 0.02  # of every kernel that does not start at zero


@jax.custom_vjp
def mish(x: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """Mish: x · tanh(ln(1 + eˣ)), with one exponential.

    With n = eˣ(eˣ + 2), tanh(ln(1 + eˣ)) = n / (n + 2) exactly, a sum of positive terms. From
    20 on, it is 1 to all digits of float32, and squares of n would overflow not far from there.
    The division comes last: XLA repeats a cheap last operation wherever the result is read.
    """
    _, n = _mish_terms(x)
    return x * n / (n + 2)


def _mish_terms(x: Array) -> tuple[Array, Array]:
    e = jnp.exp(jnp.minimum(x, 20.0))
    return e, e * (e + 2)


def _mish_forward(x: Array) -> tuple[Array, Array]:
    return mish(x), x


def _mish_backward(x: Array, d: Array) -> tuple[Array]:
    # The derivative n / (n + 2) + x · 4e(e + 1) / (n + 2)², over one denominator.
    e, n = _mish_terms(x)
    return (d * (n * (n + 2) + 4 * x * e * (e + 1)) / ((n + 2) * (n + 2)),)


mish.defvjp(_mish_forward, _mish_backward)


def sim_norm(x: Float[Array, "*batch features"], length: int) -> Float[Array, "*batch features"]:
    """Simplicial normalisation: a softmax over each group of `length` neighbours.

    Source: paper, section 3.1, equation 5; `common/layers.py:65-79@5f6fade`.
    """
    groups = x.reshape(*x.shape[:-1], x.shape[-1] // length, length)
    return jax.nn.softmax(groups, axis=-1).reshape(x.shape)


def layer_norm(
    x: Float[Array, "*batch features"],
    scale: Float[Array, " features"],
    offset: Float[Array, " features"],
) -> Float[Array, "*batch features"]:
    """Layer normalisation with the biased variance and ε = 1e-5."""
    centred = x - jnp.mean(x, axis=-1, keepdims=True)
    variance = jnp.mean(centred * centred, axis=-1, keepdims=True)
    return centred * jax.lax.rsqrt(variance + LAYER_NORM_EPSILON) * scale + offset


def drop(
    x: Float[Array, "*batch features"], keep: Bool[Array, "*batch features"], rate: float
) -> Float[Array, "*batch features"]:
    """Dropout with a given mask: kept units grow by 1 / (1 − rate)."""
    return jnp.where(keep, x * (1 / (1 - rate)), 0)


@jax.custom_vjp
def product(
    x: Float[Array, "*batch inputs"], kernel: Float[Array, "inputs units"]
) -> Float[Array, "*batch units"]:
    """X @ kernel, with a gradient that is fast on a CPU also for batched kernels.

    Both products of the gradient have a transposed factor. XLA's CPU backend multiplies
    batches of those at half of its speed, so they are transposed in memory first, and a
    barrier keeps the transposition from being folded back into the product.
    """
    return x @ kernel


def _product_forward(x: Array, kernel: Array) -> tuple[Array, tuple[Array, Array]]:
    return product(x, kernel), (x, kernel)


def _product_backward(saved: tuple[Array, Array], d: Array) -> tuple[Array, Array]:
    x, kernel = saved
    rows, d_rows = x.reshape(-1, x.shape[-1]), d.reshape(-1, d.shape[-1])
    dx = d @ jax.lax.optimization_barrier(kernel.T)
    return dx, jax.lax.optimization_barrier(rows.T) @ d_rows


product.defvjp(_product_forward, _product_backward)


class Affine(nn.Module):
    """An affine map of one or several inputs, which it treats as their concatenation."""

    units: int
    kernel_init: nn.initializers.Initializer
    bias_init: nn.initializers.Initializer = nn.initializers.zeros

    @nn.compact
    def __call__(self, *parts: Float[Array, "*batch inputs"]) -> Float[Array, "*batch units"]:
        """Maps the concatenation of `parts`, whose leading axes broadcast."""
        fan_in = sum(part.shape[-1] for part in parts)
        kernel = self.param("kernel", self.kernel_init, (fan_in, self.units))
        output = self.param("bias", self.bias_init, (self.units,))
        start = 0
        for part in parts:
            stop = start + part.shape[-1]
            output = product(part, kernel[start:stop]) + output
            start = stop
        return output


class NormedLinear(nn.Module):
    """An affine map, dropout, layer normalisation and an activation, in this order."""

    units: int
    activation: Callable[[Array], Array]
    dropout: float
    kernel_init: nn.initializers.Initializer
    bias_init: nn.initializers.Initializer

    @nn.compact
    def __call__(
        self, *parts: Float[Array, "*batch inputs"], keep: Bool[Array, "*batch units"] | None = None
    ) -> Float[Array, "*batch units"]:
        """Maps the concatenation of `parts`; without a mask, nothing is dropped."""
        x = Affine(self.units, self.kernel_init, self.bias_init, name="affine")(*parts)
        if keep is not None:
            x = drop(x, keep, self.dropout)
        scale = self.param("scale", nn.initializers.ones, (self.units,))
        offset = self.param("offset", nn.initializers.zeros, (self.units,))
        return self.activation(layer_norm(x, scale, offset))


class Perceptron(nn.Module):
    """Hidden layers of normed linear maps with Mish, and one more layer on top of them.

    Attributes:
        hidden: Widths of the hidden layers.
        outputs: Width of the output.
        simplices: Length of the simplices of the output, which is then a latent state; 0 for
            an output layer that is affine.
        zero: Whether the kernel of the output layer starts at zero.
        dropout: Of the first hidden layer, where a mask is given.
        torch_init: Whether kernels and biases start as torch's default has it.
    """

    hidden: tuple[int, ...]
    outputs: int
    simplices: int = 0
    zero: bool = False
    dropout: float = 0.0
    torch_init: bool = False

    @nn.compact
    def __call__(
        self, *parts: Float[Array, "*batch inputs"], keep: Bool[Array, "*batch units"] | None = None
    ) -> Float[Array, "*batch outputs"]:
        """Maps the concatenation of `parts`; `keep` is the dropout mask of the first layer."""
        for i, units in enumerate(self.hidden):
            fan_in = sum(part.shape[-1] for part in parts)
            layer = NormedLinear(
                units, mish, self.dropout, *self._initialisers(fan_in), name=f"hidden{i}"
            )
            parts, keep = (layer(*parts, keep=keep),), None
        kernel_init, bias_init = self._initialisers(self.hidden[-1])
        if self.simplices:
            return NormedLinear(
                self.outputs,
                lambda x: sim_norm(x, self.simplices),
                0.0,
                kernel_init,
                bias_init,
                name="out",
            )(*parts)
        if self.zero:
            kernel_init = nn.initializers.zeros
        return Affine(self.outputs, kernel_init, bias_init, name="out")(*parts)

    def _initialisers(
        self, fan_in: int
    ) -> tuple[nn.initializers.Initializer, nn.initializers.Initializer]:
        """Of the kernels and the biases of a layer.

        The reference truncates its normal distribution 100 standard deviations out, where
        nothing is left to cut off (`common/init.py:7@5f6fade`).
        """
        if not self.torch_init:
            return nn.initializers.normal(KERNEL_STD), nn.initializers.zeros
        bound = fan_in**-0.5

        def uniform(key: Array, shape: tuple[int, ...], dtype: jnp.dtype = jnp.float32) -> Array:
            return jax.random.uniform(key, shape, dtype, -bound, bound)

        return uniform, uniform
