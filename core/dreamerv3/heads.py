"""Prediction heads: a small perceptron and the distribution on top of it."""

from __future__ import annotations

import flax.linen as nn
import jax
from jaxtyping import Array, Float

from core.dreamerv3 import twohot
from core.numerics import kernel_init, rms_norm


class HiddenLayer(nn.Module):
    """Dense, RMS norm, SiLU: the one hidden layer of every DreamerV3 network.

    Source: paper, section "Implementation details"; protocol row 19.
    """

    units: int

    @nn.compact
    def __call__(self, x: Float[Array, "*batch inputs"]) -> Float[Array, "*batch units"]:
        """Maps features to activations."""
        x = nn.Dense(self.units, kernel_init=kernel_init(), name="linear")(x)
        scale = self.param("scale", nn.initializers.ones, (self.units,))
        return jax.nn.silu(rms_norm(x, scale))


class TwoHotHead(nn.Module):
    """Predicts a scalar as logits over the two-hot support: reward head and critic.

    The output layer starts at zero, so that the first prediction is exactly 0 (paper,
    section "Critic learning": "we initialize the output weight matrix to zeros").
    """

    layers: int
    units: int
    bins: int = 255

    @nn.compact
    def __call__(self, features: Float[Array, "*batch inputs"]) -> Float[Array, "*batch bins"]:
        """Maps features to logits; `predict` decodes them."""
        x = features
        for i in range(self.layers):
            x = HiddenLayer(self.units, name=f"hidden{i}")(x)
        return nn.Dense(self.bins, kernel_init=kernel_init(outscale=0.0), name="out")(x)

    def predict(self, features: Float[Array, "*batch inputs"]) -> Float[Array, "*batch"]:
        """The predicted scalar, in units of the value."""
        return twohot.decode(self(features), twohot.make_bins(self.bins))
