"""Prediction heads: a small perceptron and the parameters of a distribution on top of it.

Heads read the features of a state of the world model in parts (recurrent state, one-hot
classes) and answer in float32 whatever they compute in.
"""

from __future__ import annotations

import flax.linen as nn
import jax.numpy as jnp
from jaxtyping import Array, Float

from core.dreamerv3 import twohot
from core.dreamerv3.networks import Linear, hidden_layers


class TwoHotHead(nn.Module):
    """Predicts a scalar as logits over the two-hot support: reward head and critic.

    The output layer starts at zero, so that the first prediction is exactly 0 (paper,
    section "Critic learning": "we initialize the output weight matrix to zeros").
    """

    layers: int
    units: int
    bins: int = 255

    @nn.compact
    def __call__(self, *features: Float[Array, "*batch inputs"]) -> Float[Array, "*batch bins"]:
        """Maps features to logits; `predict` decodes them."""
        x = hidden_layers(self.layers, self.units, features)
        return Linear(self.bins, outscale=0.0, name="out")(*x).astype(jnp.float32)

    def predict(self, *features: Float[Array, "*batch inputs"]) -> Float[Array, "*batch"]:
        """The predicted scalar, in units of the value."""
        return twohot.decode(self(*features), twohot.make_bins(self.bins))


class LinearHead(nn.Module):
    """A perceptron with one affine output: decoder, continue head and discrete actor."""

    layers: int
    units: int
    outputs: int
    outscale: float = 1.0

    @nn.compact
    def __call__(self, *features: Float[Array, "*batch inputs"]) -> Float[Array, "*batch outputs"]:
        """Maps features to the mean or the logits of a distribution."""
        x = hidden_layers(self.layers, self.units, features)
        return Linear(self.outputs, outscale=self.outscale, name="out")(*x).astype(jnp.float32)


class ContinuousActor(nn.Module):
    """A perceptron with two affine outputs: unbounded mean and unbounded deviation."""

    layers: int
    units: int
    outputs: int
    outscale: float = 1.0

    @nn.compact
    def __call__(
        self, *features: Float[Array, "*batch inputs"]
    ) -> Float[Array, "*batch two_outputs"]:
        """Maps features to [mean, deviation], side by side and not yet squashed."""
        x = hidden_layers(self.layers, self.units, features)
        mean = Linear(self.outputs, outscale=self.outscale, name="out")(*x)
        deviation = Linear(self.outputs, outscale=self.outscale, name="std")(*x)
        return jnp.concatenate([mean, deviation], axis=-1).astype(jnp.float32)
