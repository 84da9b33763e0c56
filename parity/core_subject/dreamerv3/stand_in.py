"""A stand-in for the agent's networks, for runs in which only the rest is of interest.

The real networks take a minute to compile. This one has a handful of parameters, and lets
every part of a run's state bear on all that follows: it acts on what it carries, learns from
rows, contexts and noise, and its latents depend on its parameters. Optimiser, normaliser and
types of state are the core's own.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import optax

from core.dreamerv3 import normaliser
from core.dreamerv3.agent import Carry, TrainState
from core.dreamerv3.config import Config
from core.dreamerv3.optimizer import make_optimizer
from core.dreamerv3.rssm import State
from core.dreamerv3.types import ActionSpace, Context, Continuous, Latent, Rows


class StandIn:
    """What `core.dreamerv3.train` asks of an agent; see `core.dreamerv3.agent.Agent`."""

    def __init__(self, config: Config, observation_size: int, action_space: ActionSpace):
        assert isinstance(action_space, Continuous)
        self.config = config
        self.observation_size = observation_size
        self.action_space = action_space
        self.optimizer = make_optimizer(config)

    def init(self, key: Any) -> TrainState:
        """Draws the parameters."""
        sizes = self.observation_size, self.config.deter
        params = {"core": {"in": jax.random.normal(key, sizes), "out": jnp.ones(sizes[1])}}
        start = jnp.zeros((), jnp.int32)
        copy = jax.tree.map(jnp.copy, params)
        return TrainState(params, copy, self.optimizer.init(params), normaliser.initial(), start)

    def initial_carry(self, n: int) -> Carry:
        """Before the first row of n environments."""
        c = self.config
        state = State(jnp.zeros((n, c.deter)), jnp.zeros((n, c.stoch, c.classes)))
        return Carry(state, jnp.zeros((n, self.action_space.size)))

    def acting_noise(self, key: Any, n: int) -> Any:
        """Noise of one call of `act`."""
        return jax.random.normal(key, (n, self.action_space.size))

    def act(self, params, carry, observation, is_first, noise):
        """A recurrent state of carry and observation, and an action of that."""
        before = jnp.where(is_first[:, None], 0.0, carry.state.deter)
        deter = self._deter(params, before, observation)
        action = deter[:, : self.action_space.size] + carry.action / 4 + noise
        latent = self._latent(deter)
        onehot = jax.nn.one_hot(latent.stoch, self.config.classes)
        return Carry(State(deter, onehot), action), action, latent

    def draw_noise(self, key: Any, B: int, T: int) -> Any:
        """Noise of one update."""
        return jax.random.normal(key, (B, T, self.config.deter))

    def update(self, state: TrainState, rows: Rows, context: Context, noise: Any):
        """One step of the optimiser towards predicting rewards."""
        stoch = context.latent.stoch.sum(-1, keepdims=True)
        before = context.latent.deter + stoch + context.action.sum(-1, keepdims=True)

        def loss(params):
            deter = self._deter(params, before[:, None] / 8, rows.observation) + noise / 16
            predicted = deter @ params["core"]["out"] + rows.action.sum(-1)
            return jnp.mean((predicted - rows.reward) ** 2 * ~rows.is_first), (predicted, deter)

        (total, (predicted, deter)), gradients = jax.value_and_grad(loss, has_aux=True)(
            state.params
        )
        updates, opt_state = self.optimizer.update(gradients, state.opt_state, state.params)
        params = optax.apply_updates(state.params, updates)
        slow = jax.tree.map(lambda old, new: 0.9 * old + 0.1 * new, state.slow_critic, params)
        moved = normaliser.update(state.normaliser, predicted)
        after = TrainState(params, slow, opt_state, moved, state.updates + 1)  # type: ignore
        return after, self._latent(deter), {"opt_loss": total}

    def _deter(self, params, before, observation):
        # Starts are large numbers; what is learned shall not depend on them alone.
        scaled = observation.at[..., 0].multiply(2.0**-24)
        return jnp.tanh(before / 2 + scaled @ params["core"]["in"])

    def _latent(self, deter) -> Latent:
        index = jnp.floor((deter[..., : self.config.stoch] + 1) * self.config.classes / 2)
        return Latent(deter, jnp.clip(index, 0, self.config.classes - 1).astype(jnp.int32))


class Counting(StandIn):
    """A stand-in that learns nothing: for counting its updates."""

    def update(self, state: TrainState, rows: Rows, context: Context, noise: Any):
        """Counts."""
        deter = jnp.zeros((*rows.is_first.shape, self.config.deter)) + context.latent.deter[:, None]
        counted = state._replace(updates=state.updates + 1)
        return counted, self._latent(deter), {"opt_loss": rows.reward.mean()}
