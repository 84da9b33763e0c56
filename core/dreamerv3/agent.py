"""The DreamerV3 agent: pure functions to initialise, act, and update.

Everything that is random comes in as an argument, so that an update is a function of its
inputs and another implementation can be given the same draws.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import NamedTuple, cast

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int

from core.dreamerv3 import actor_critic, metrics, normaliser, world_model
from core.dreamerv3.config import Config
from core.dreamerv3.distributions import Policy, make_policy
from core.dreamerv3.intermediates import intermediates
from core.dreamerv3.networks import apply
from core.dreamerv3.normaliser import Percentiles
from core.dreamerv3.optimizer import make_optimizer
from core.dreamerv3.rssm import State, zero_state
from core.dreamerv3.types import Action, ActionSpace, Context, Latent, Rows
from core.dreamerv3.world_model import Networks, Params


class TrainState(NamedTuple):
    """Everything that updates change.

    Attributes:
        params: Parameters by network: enc, dyn, dec, rew, con, actor, critic.
        slow_critic: Moving average of the critic's parameters.
        opt_state: Of the optimizer.
        normaliser: Of the returns.
        updates: How many there were.
    """

    params: Params
    slow_critic: Params
    opt_state: optax.OptState
    normaliser: Percentiles
    updates: Int[Array, ""]


class Carry(NamedTuple):
    """What acting remembers of the previous row.

    Attributes:
        state: Its latent state.
        action: Its action, as the networks read it: one-hot where actions are discrete.
    """

    state: State
    action: Float[Array, "n size"]


class ActingNoise(NamedTuple):
    """Noise of one call of `Agent.act`: Gumbel, and Gumbel or normal by action space."""

    posterior: Float[Array, "n stoch classes"]
    action: Float[Array, "n size"]


class TrainNoise(NamedTuple):
    """Noise of one update.

    Imagined trajectories start from row t of sequence b at index b · T + t.

    Attributes:
        posterior: Gumbel noise of the observed classes.
        prior: Gumbel noise of the imagined classes.
        action: Noise of the imagined actions: Gumbel, or normal if they are continuous.
    """

    posterior: Float[Array, "T B stoch classes"]
    prior: Float[Array, "H BT stoch classes"]
    action: Float[Array, "H1 BT size"]


@dataclasses.dataclass(frozen=True)
class Agent:
    """The algorithm for one configuration, observation size and action space."""

    config: Config
    observation_size: int
    action_space: ActionSpace

    @functools.cached_property
    def policy(self) -> Policy:
        """The distribution of actions."""
        return make_policy(self.action_space, self.config)

    @functools.cached_property
    def networks(self) -> Networks:
        """The networks, without parameters."""
        return world_model.make_networks(self.config, self.observation_size, self.policy)

    @functools.cached_property
    def optimizer(self) -> optax.GradientTransformation:
        """One optimizer for all parameters."""
        return make_optimizer(self.config)

    def init(self, key: Array) -> TrainState:
        """Draws parameters; the slow critic starts as a copy of the critic."""
        state = zero_state(self.config, 1)
        embed = jnp.zeros((1, self.config.units), state.deter.dtype)
        inputs = {
            "enc": (jnp.zeros((1, self.observation_size)),),
            "dyn": (state, jnp.zeros((1, self.policy.size), state.deter.dtype), embed),
        }
        keys = jax.random.split(key, len(self.networks))
        params = {
            name: network.init(subkey, *inputs.get(name, state.features))["params"]
            for (name, network), subkey in zip(self.networks._asdict().items(), keys, strict=True)
        }
        slow_critic = jax.tree.map(jnp.copy, params["critic"])
        return TrainState(
            params,
            slow_critic,
            self.optimizer.init(params),
            normaliser.initial(),
            jnp.zeros((), jnp.int32),
        )

    def initial_carry(self, n: int) -> Carry:
        """The carry before the first row of n environments."""
        state = zero_state(self.config, n)
        return Carry(state, jnp.zeros((n, self.policy.size), jnp.float32))

    def acting_noise(self, key: Array, n: int) -> ActingNoise:
        """Draws the noise of one call of `act`."""
        c = self.config
        posterior, action = jax.random.split(key)
        return ActingNoise(
            jax.random.gumbel(posterior, (n, c.stoch, c.classes)), self.policy.noise(action, (n,))
        )

    def act(
        self,
        params: Params,
        carry: Carry,
        observation: Float[Array, "n observation_size"],
        is_first: Bool[Array, " n"],
        noise: ActingNoise,
    ) -> tuple[Carry, Action, Latent]:
        """Chooses actions for one row of n environments.

        Args:
            params: enc, dyn and actor are read.
            carry: Of the previous row.
            observation: In units of the environment.
            is_first: Whether the row starts an episode; what was carried is then ignored.
            noise: From `acting_noise`.

        Returns:
            The carry of this row, its actions (a continuous one may leave [−1, 1] and is
            then for the environment to clip), and its latent for the replay.
        """
        embed = apply(self.networks.enc, params["enc"], observation)
        state, _ = apply(
            self.networks.dyn,
            params["dyn"],
            carry.state,
            carry.action.astype(embed.dtype),
            embed,
            is_first,
            noise.posterior,
            method="observe",
        )
        raw = apply(self.networks.actor, params["actor"], *state.features)
        vector = self.policy.sample(raw, noise.action)
        return Carry(state, vector), self.policy.decode(vector), _stored(state)

    def draw_noise(self, key: Array, B: int, T: int) -> TrainNoise:
        """Draws the noise of one update on B sequences of T rows."""
        c = self.config
        posterior, prior, action = jax.random.split(key, 3)
        return TrainNoise(
            jax.random.gumbel(posterior, (T, B, c.stoch, c.classes)),
            jax.random.gumbel(prior, (c.imag_horizon, B * T, c.stoch, c.classes)),
            self.policy.noise(action, (c.imag_horizon + 1, B * T)),
        )

    def loss(
        self,
        params: Params,
        slow_critic: Params,
        retnorm: Percentiles,
        rows: Rows,
        context: Context,
        noise: TrainNoise,
    ) -> tuple[Float[Array, ""], dict[str, Array]]:
        """The total loss of one batch.

        Args:
            params: Parameters by network.
            slow_critic: Parameters of the slow critic.
            retnorm: The return normaliser before this batch.
            rows: [B, T], T at least 2.
            context: The rows before them.
            noise: From `draw_noise`.

        Returns:
            The total, and every named intermediate in the order of its computation:
            [B, T, ...] for replayed rows, [B · T, H or H + 1, ...] for imagined ones.
            Under `jit` the ones that are not used cost nothing.

        Raises:
            ValueError: The sequences are too short for a return.
        """
        c, networks, policy = self.config, self.networks, self.policy
        B, T = rows.is_first.shape
        if T < 2:
            raise ValueError(f"a return needs sequences of at least 2 rows, not {T}")

        # Observe. The action that led to a row is that of the row before it.
        previous = policy.encode(
            jnp.concatenate([context.action[:, None], rows.action[:, :-1]], axis=1)
        )
        dtype = jnp.dtype(c.compute_dtype)
        start = State(
            context.latent.deter.astype(dtype),
            jax.nn.one_hot(context.latent.stoch, c.classes, dtype=dtype),
        )
        observed = world_model.observe(networks, params, start, previous, rows, noise.posterior)
        model = world_model.losses(networks, c, params, observed, rows)

        # Imagine from every row.
        starts = jax.tree.map(lambda x: x.reshape(B * T, *x.shape[2:]), observed.states)
        imagined = world_model.imagine(
            networks, c, policy, params, slow_critic, starts, noise.prior, noise.action
        )
        imagination = actor_critic.imagination_losses(
            networks,
            c,
            policy,
            params,
            retnorm,
            imagined,
            rows.reward.reshape(-1),
            1 - rows.is_terminal.reshape(-1).astype(jnp.float32),
        )
        replay = actor_critic.replay_losses(
            networks,
            c,
            params,
            slow_critic,
            observed.states.features,
            rows,
            imagination.returns[0].reshape(B, T),
        )
        total = (
            c.rec_scale * model.rec.mean()
            + c.rew_scale * model.rew.mean()
            + c.con_scale * model.con.mean()
            + c.dyn_scale * model.dyn.mean()
            + c.rep_scale * model.rep.mean()
            + c.actor_scale * imagination.actor.mean()
            + c.critic_scale * imagination.critic.mean()
            + c.repval_scale * replay.critic.mean()
        )
        named = intermediates(total, observed, model, imagined, imagination, replay)
        return total, {"previous_actions": previous, **named}

    def update(
        self, state: TrainState, rows: Rows, context: Context, noise: TrainNoise
    ) -> tuple[TrainState, Latent, metrics.Metrics]:
        """One update of everything.

        Args:
            state: Before the update.
            rows: [B, T].
            context: The rows before them.
            noise: From `draw_noise`.

        Returns:
            The state after the update, the latents [B, T] to write back into the replay,
            and metrics.
        """
        (total, aux), gradients = jax.value_and_grad(self.loss, has_aux=True)(
            state.params, state.slow_critic, state.normaliser, rows, context, noise
        )
        updates, opt_state = self.optimizer.update(gradients, state.opt_state, state.params)
        params = cast(Params, optax.apply_updates(state.params, updates))
        count = state.updates + 1
        reported = {
            **metrics.update_metrics(aux, rows, self.policy, self.config),
            **metrics.optimizer_metrics(total, gradients, updates, params, count),
        }
        state = TrainState(
            params,
            self._slow_critic(state, params["critic"]),
            opt_state,
            Percentiles(aux["normaliser_low"], aux["normaliser_high"]),
            count,
        )
        return state, _stored(State(aux["deter"], aux["stoch"])), reported

    def _slow_critic(self, state: TrainState, critic: Params) -> Params:
        """The slow critic moves towards the critic; the first update copies it.

        Source: `jaxutils.py:737-762@29eb964`.
        """
        mix = jnp.where(state.updates == 0, 1.0, self.config.slow_rate)
        return jax.tree.map(lambda new, old: mix * new + (1 - mix) * old, critic, state.slow_critic)


def _stored(state: State) -> Latent:
    """A state in the form that replay stores."""
    stoch = jnp.argmax(state.stoch, axis=-1).astype(jnp.int32)
    return Latent(state.deter.astype(jnp.float32), stoch)
