"""The layers that every DreamerV3 network is made of.

Layers compute in the dtype of their input and hold float32 parameters. They take their
input in parts where the algorithm concatenates several vectors: a product with a
concatenation is the sum of the products with its parts, and the sum needs no copy of them.
"""

from __future__ import annotations

from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
from jax.ad_checkpoint import checkpoint_name
from jaxtyping import Array, Float

from core.numerics import kernel_init, rms_norm, symlog


def apply(module: nn.Module, params: Any, *inputs: Any, method: str | None = None) -> Any:
    """`module.apply` to its parameters, of which flax's own types say too little to use."""
    return module.apply({"params": params}, *inputs, method=method)


# The name of every affine map's output, for those who choose what a gradient remembers.
AFFINE = "affine"


class Linear(nn.Module):
    """An affine map of one or several inputs, which it treats as their concatenation."""

    units: int
    outscale: float = 1.0

    @nn.compact
    def __call__(self, *parts: Float[Array, "*batch inputs"]) -> Float[Array, "*batch units"]:
        """Maps the concatenation of `parts`."""
        fan_in = sum(part.shape[-1] for part in parts)
        dtype = parts[0].dtype
        kernel = self.param("kernel", kernel_init(self.outscale), (fan_in, self.units))
        bias = self.param("bias", nn.initializers.zeros, (self.units,))
        output = sum_of_products(parts, kernel.astype(dtype)) + bias.astype(dtype)
        return checkpoint_name(output, AFFINE)


def sum_of_products(
    parts: tuple[Float[Array, "*batch inputs"], ...], kernel: Float[Array, "fan_in units"]
) -> Float[Array, "*batch units"]:
    """The product of a kernel with the concatenation of `parts`, rounded once."""
    dtype = kernel.dtype
    total, start = 0.0, 0
    for part in parts:
        stop = start + part.shape[-1]
        total = total + product(part, kernel[start:stop])
        start = stop
    return jnp.asarray(total, dtype)


# Below this many rows a product's gradient is left to the compiler.
MANY_ROWS = 256


def product(
    x: Float[Array, "*batch inputs"], kernel: Float[Array, "inputs units"]
) -> Float[Array, "*batch units"]:
    """X @ kernel, accumulated in float32, with a gradient that is fast on a CPU.

    The gradient of a kernel, xᵀ @ d, is a product whose left factor is transposed. XLA's CPU
    backend computes one three times faster if that factor is the narrower one, so where d is
    narrower than x the gradient is computed as (dᵀ @ x)ᵀ.
    """
    rows = x.reshape(-1, x.shape[-1])
    call = _many_rows_product if len(rows) >= MANY_ROWS else _product
    return call(rows, kernel).reshape(*x.shape[:-1], kernel.shape[-1])


def _accumulator(x: Array) -> jnp.dtype:
    return jnp.promote_types(x.dtype, jnp.float32)


def _product(x: Float[Array, "n i"], kernel: Float[Array, "i o"]) -> Float[Array, "n o"]:
    return jnp.matmul(x, kernel, preferred_element_type=_accumulator(x))


_many_rows_product = jax.custom_vjp(_product)


def _product_forward(x: Array, kernel: Array) -> tuple[Array, tuple[Array, Array]]:
    return _product(x, kernel), (x, kernel)


def _product_backward(saved: tuple[Array, Array], d: Array) -> tuple[Array, Array]:
    x, kernel = saved
    d = d.astype(x.dtype)
    wide, narrow = (x, d) if kernel.shape[0] > kernel.shape[1] else (d, x)
    dkernel = jnp.matmul(narrow.T, wide, preferred_element_type=_accumulator(x))
    if narrow is d:
        # The barrier keeps the transposition from being folded back into the product.
        dkernel = jax.lax.optimization_barrier(dkernel).T
    dx = jnp.matmul(d, kernel.T, preferred_element_type=_accumulator(x))
    return dx.astype(x.dtype), dkernel.astype(kernel.dtype)


_many_rows_product.defvjp(_product_forward, _product_backward)


class BlockLinear(nn.Module):
    """An affine map with a block-diagonal kernel and inputs that all blocks share.

    Block k of the output sees block k of the blocked input, then the whole of the shared
    one. One plain product per block is several times faster on a CPU than a grouped one,
    which has to transpose its operands.

    Source: `nets.py:655-714@29eb964`.
    """

    units: int
    blocks: int

    @nn.compact
    def __call__(
        self,
        blocked: Float[Array, "*batch inputs"],
        *shared: Float[Array, "*batch shared_inputs"],
        split: bool = False,
    ) -> Float[Array, "*batch units"] | list[Float[Array, "*batch units_of_a_block"]]:
        """Maps `blocked` block by block, and `shared` to every block.

        With `split`, returns the blocks of the output one by one; there must then be no
        shared input.
        """
        dtype = blocked.dtype
        width = blocked.shape[-1] // self.blocks
        fan_in = width + sum(part.shape[-1] for part in shared)
        fan_out = self.units // self.blocks
        kernel = self.param("kernel", kernel_init(), (self.blocks, fan_in, fan_out))
        bias = self.param("bias", nn.initializers.zeros, (self.units,)).astype(dtype)
        kernel = kernel.astype(dtype)
        inputs = jnp.split(blocked, self.blocks, axis=-1)
        products = [product(part, kernel[k, :width]) for k, part in enumerate(inputs)]
        if split:
            biases = jnp.split(bias, self.blocks)
            return [x.astype(dtype) + b for x, b in zip(products, biases, strict=True)]
        output = jnp.concatenate(products, axis=-1)
        start = width
        for part in shared:
            # This part's rows of all blocks, side by side: one wide product.
            stop = start + part.shape[-1]
            wide = kernel[:, start:stop].swapaxes(0, 1).reshape(-1, self.units)
            output, start = output + product(part, wide), stop
        return output.astype(dtype) + bias


class HiddenLayer(nn.Module):
    """Dense, RMS norm, SiLU: the one hidden layer of every DreamerV3 network.

    Source: paper, section "Implementation details"; protocol row 19.
    """

    units: int

    @nn.compact
    def __call__(self, *parts: Float[Array, "*batch inputs"]) -> Float[Array, "*batch units"]:
        """Maps the concatenation of `parts` to activations."""
        x = Linear(self.units, name="linear")(*parts)
        scale = self.param("scale", nn.initializers.ones, (self.units,))
        return jax.nn.silu(rms_norm(x, scale))


class BlockHiddenLayer(nn.Module):
    """A hidden layer with a block-diagonal product; the norm spans all blocks."""

    units: int
    blocks: int

    @nn.compact
    def __call__(
        self,
        blocked: Float[Array, "*batch inputs"],
        *shared: Float[Array, "*batch shared_inputs"],
    ) -> Float[Array, "*batch units"]:
        """Maps `blocked` block by block, and `shared` to every block, to activations."""
        x = BlockLinear(self.units, self.blocks, name="linear")(blocked, *shared)
        assert not isinstance(x, list)
        scale = self.param("scale", nn.initializers.ones, (self.units,))
        return jax.nn.silu(rms_norm(x, scale))


def hidden_layers(
    count: int, units: int, parts: tuple[Float[Array, "*batch inputs"], ...]
) -> tuple[Float[Array, "*batch units"], ...]:
    """Applies `count` hidden layers, named hidden0, hidden1, ..., in the module that calls it.

    Args:
        count: Of layers; with none, `parts` is returned as it is.
        units: Width of each.
        parts: The input, in parts.

    Returns:
        The activations of the last layer, as the one part of the next layer's input.
    """
    for i in range(count):
        parts = (HiddenLayer(units, name=f"hidden{i}")(*parts),)
    return parts


class Encoder(nn.Module):
    """Embeds a flat observation; its symlog is taken in float32 whatever follows.

    Source: paper, section "World model learning" (symlog observations);
    `nets.py:233-262@29eb964`.
    """

    layers: int
    units: int
    dtype: jnp.dtype

    @nn.compact
    def __call__(
        self, observation: Float[Array, "*batch observation_size"]
    ) -> Float[Array, "*batch units"]:
        """Maps observations, in units of the environment, to embeddings."""
        x = symlog(observation.astype(jnp.float32)).astype(self.dtype)
        (x,) = hidden_layers(self.layers, self.units, (x,))
        return x
