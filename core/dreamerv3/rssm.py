"""The recurrent state-space model: a block-diagonal GRU with categorical latents.

Source: paper, section "World model learning", equation 3; `nets.py:17-224@29eb964`.
"""

from __future__ import annotations

from typing import NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from core.dreamerv3.config import Config
from core.dreamerv3.distributions import draw_onehot, sample_onehot
from core.dreamerv3.networks import BlockHiddenLayer, BlockLinear, HiddenLayer, Linear
from core.numerics import unimix_log_probs


class State(NamedTuple):
    """A state of the world model as the networks read it.

    Attributes:
        deter: The recurrent part.
        stoch: The categorical part, one-hot.
    """

    deter: Float[Array, "*batch deter"]
    stoch: Float[Array, "*batch stoch classes"]

    @property
    def features(self) -> tuple[Array, Array]:
        """What heads, actor and critic read, in parts."""
        return self.deter, self.stoch.reshape(*self.deter.shape[:-1], -1)


class RSSM(nn.Module):
    """The parameters of the model, and what one step of it is made of."""

    config: Config

    def setup(self) -> None:
        """Names the layers."""
        c = self.config
        self.deter_in = HiddenLayer(c.hidden)
        self.stoch_in = HiddenLayer(c.hidden)
        self.action_in = HiddenLayer(c.hidden)
        self.core = [BlockHiddenLayer(c.deter, c.blocks) for _ in range(c.core_layers)]
        self.gates = BlockLinear(3 * c.deter, c.blocks)
        self.prior_hidden = [HiddenLayer(c.hidden) for _ in range(c.prior_layers)]
        self.prior_out = Linear(c.stoch * c.classes)
        self.posterior_hidden = [HiddenLayer(c.hidden) for _ in range(c.posterior_layers)]
        self.posterior_out = Linear(c.stoch * c.classes)

    def advance(
        self, state: State, action: Float[Array, "*batch size"]
    ) -> Float[Array, "*batch deter"]:
        """The next recurrent state."""
        c = self.config
        deter, stoch = state.features
        # An action outside [−1, 1] is pulled back, without a gradient of its own.
        action = action / jax.lax.stop_gradient(jnp.maximum(1, jnp.abs(action)))
        inputs = (self.deter_in(deter), self.stoch_in(stoch), self.action_in(action))
        shared = (jnp.concatenate(inputs, axis=-1),)
        x = deter
        for layer in self.core:
            x, shared = layer(x, *shared), ()
        # Block by block, because each block's output is its own three gates, side by side.
        olds = jnp.split(deter, c.blocks, axis=-1)
        blocks = zip(self.gates(x, split=True), olds, strict=True)
        return jnp.concatenate([_gated(gates, old) for gates, old in blocks], axis=-1)

    def prior(self, deter: Float[Array, "*batch deter"]) -> Float[Array, "*batch stoch classes"]:
        """Log-probabilities of the classes, before the observation is seen."""
        x = deter
        for layer in self.prior_hidden:
            x = layer(x)
        return self._logits(self.prior_out(x))

    def posterior(
        self, deter: Float[Array, "*batch deter"], embed: Float[Array, "*batch units"]
    ) -> Float[Array, "*batch stoch classes"]:
        """Log-probabilities of the classes, once the observation is seen."""
        x = (deter, embed)
        for layer in self.posterior_hidden:
            x = (layer(*x),)
        return self._logits(self.posterior_out(*x))

    def observe(
        self,
        state: State,
        action: Float[Array, "*batch size"],
        embed: Float[Array, "*batch units"],
        is_first: Bool[Array, "*batch"],
        gumbel: Float[Array, "*batch stoch classes"],
    ) -> tuple[State, Float[Array, "*batch stoch classes"]]:
        """One step with an observation.

        Args:
            state: Of the previous row.
            action: Taken in it.
            embed: The embedded observation of this row.
            is_first: Whether this row starts an episode: state and action are then zeroed.
            gumbel: Noise of the draw.

        Returns:
            The state of this row, and the posterior's log-probabilities.
        """
        keep = 1 - is_first.astype(state.deter.dtype)
        state = State(state.deter * keep[..., None], state.stoch * keep[..., None, None])
        deter = self.advance(state, action * keep[..., None])
        logits = self.posterior(deter, embed)
        stoch = sample_onehot(logits.astype(jnp.float32), gumbel).astype(logits.dtype)
        return State(deter, stoch), logits

    def imagine(
        self,
        state: State,
        action: Float[Array, "*batch size"],
        gumbel: Float[Array, "*batch stoch classes"],
    ) -> State:
        """One step without an observation; the draw has no gradient."""
        deter = self.advance(state, action)
        logits = self.prior(deter)
        return State(deter, draw_onehot(logits.astype(jnp.float32), gumbel).astype(logits.dtype))

    def _logits(self, flat: Float[Array, "*batch flat"]) -> Float[Array, "*batch stoch classes"]:
        c = self.config
        logits = flat.reshape(*flat.shape[:-1], c.stoch, c.classes)
        if not c.unimix:
            return logits
        # Sums over the few classes are slow on a CPU while these lie side by side in memory,
        # and several times faster across them. The barriers keep the order that is asked for.
        across = jax.lax.optimization_barrier(logits.swapaxes(-1, -2))
        mixed = unimix_log_probs(across, c.unimix, axis=-2)
        return jax.lax.optimization_barrier(mixed).swapaxes(-1, -2)

    def __call__(
        self,
        state: State,
        action: Float[Array, "*batch size"],
        embed: Float[Array, "*batch units"],
    ) -> None:
        """Touches every parameter, so that `init` makes them."""
        deter = self.advance(state, action)
        self.prior(deter)
        self.posterior(deter, embed)


def _gated(
    gates: Float[Array, "*batch three_widths"], old: Float[Array, "*batch width"]
) -> Float[Array, "*batch width"]:
    """The update of a gated recurrent unit; it starts out keeping most of the old state."""
    reset, candidate, update = jnp.split(gates, 3, axis=-1)
    candidate = jnp.tanh(jax.nn.sigmoid(reset) * candidate)
    update = jax.nn.sigmoid(update - 1)
    return update * candidate + (1 - update) * old


def zero_state(config: Config, n: int) -> State:
    """The state before the first row of n environments."""
    dtype = jnp.dtype(config.compute_dtype)
    return State(
        jnp.zeros((n, config.deter), dtype), jnp.zeros((n, config.stoch, config.classes), dtype)
    )
