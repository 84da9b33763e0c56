"""The world model: observing a sequence, its losses, and imagining from its states."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from core.dreamerv3 import distributions, twohot
from core.dreamerv3.config import Config
from core.dreamerv3.distributions import Policy
from core.dreamerv3.heads import ContinuousActor, LinearHead, TwoHotHead
from core.dreamerv3.networks import AFFINE, Encoder, apply
from core.dreamerv3.rssm import RSSM, State
from core.dreamerv3.types import Rows

Params = dict


class Networks(NamedTuple):
    """The networks of the agent, without their parameters; the names key the parameters."""

    enc: Encoder
    dyn: RSSM
    dec: LinearHead
    rew: TwoHotHead
    con: LinearHead
    actor: LinearHead | ContinuousActor
    critic: TwoHotHead


def make_networks(config: Config, observation_size: int, policy: Policy) -> Networks:
    """Builds the networks of a configuration."""
    c = config
    actor = LinearHead if isinstance(policy, distributions.CategoricalPolicy) else ContinuousActor
    return Networks(
        enc=Encoder(c.enc_layers, c.units, jnp.dtype(c.compute_dtype)),
        dyn=RSSM(c),
        dec=LinearHead(c.dec_layers, c.units, observation_size, c.dec_outscale),
        rew=TwoHotHead(c.rew_layers, c.units, c.bins),
        con=LinearHead(c.con_layers, c.units, 1),
        actor=actor(c.actor_layers, c.units, policy.size, c.actor_outscale),
        critic=TwoHotHead(c.critic_layers, c.units, c.bins),
    )


class Observed(NamedTuple):
    """What the model makes of a batch of sequences; [B, T, ...]."""

    embed: Float[Array, "B T units"]
    states: State
    post_logits: Float[Array, "B T stoch classes"]
    prior_logits: Float[Array, "B T stoch classes"]


def observe(
    networks: Networks,
    params: Params,
    start: State,
    actions: Float[Array, "B T size"],
    rows: Rows,
    gumbel: Float[Array, "T B stoch classes"],
) -> Observed:
    """Runs the model along sequences of observations.

    Args:
        networks: The networks.
        params: Their parameters.
        start: States of the rows before the sequences, [B, ...].
        actions: The action *before* each row: that of the row before it.
        rows: The sequences; observation and is_first are read.
        gumbel: Noise of the posterior draws.

    Returns:
        Embeddings, states and the logits of both distributions, batch-major.
    """
    embed = apply(networks.enc, params["enc"], rows.observation)

    def step(
        state: State, inputs: tuple[Array, Array, Bool[Array, " B"], Array]
    ) -> tuple[State, tuple[State, Array]]:
        state, logits = apply(networks.dyn, params["dyn"], state, *inputs, method="observe")
        return state, (state, logits)

    actions = actions.astype(start.deter.dtype)
    actions, by_time, is_first = (x.swapaxes(0, 1) for x in (actions, embed, rows.is_first))
    inputs = (actions, by_time, is_first, gumbel)
    _, outputs = jax.lax.scan(step, start, inputs)
    states, post_logits = jax.tree.map(lambda x: x.swapaxes(0, 1), outputs)
    prior_logits = apply(networks.dyn, params["dyn"], states.deter, method="prior")
    return Observed(embed, states, post_logits, prior_logits)


class ModelLosses(NamedTuple):
    """Predictions about a batch and their losses, one per row; [B, T, ...]."""

    decoded: Float[Array, "B T observation_size"]
    reward_logits: Float[Array, "B T bins"]
    continue_logits: Float[Array, "B T"]
    rec: Float[Array, "B T"]
    rew: Float[Array, "B T"]
    con: Float[Array, "B T"]
    dyn: Float[Array, "B T"]
    rep: Float[Array, "B T"]


def losses(
    networks: Networks, config: Config, params: Params, observed: Observed, rows: Rows
) -> ModelLosses:
    """The unscaled losses of the world model.

    The target of the continue head is γ(1 − is_terminal): discounting is learned as a
    probability of ending. The KL is clipped from below per row, before any mean.

    Source: paper, section "World model learning", equations 4 and 5;
    `agent.py:233-247@29eb964`, `nets.py:97-110@29eb964`.
    """
    features = observed.states.features
    decoded = apply(networks.dec, params["dec"], *features)
    reward_logits = apply(networks.rew, params["rew"], *features)
    continue_logits = apply(networks.con, params["con"], *features)[..., 0]
    bins = twohot.make_bins(config.bins)
    continues = (1 - rows.is_terminal.astype(jnp.float32)) * config.discount

    posterior = observed.post_logits.astype(jnp.float32)
    prior = observed.prior_logits.astype(jnp.float32)
    stop = jax.lax.stop_gradient
    dyn = jnp.sum(distributions.categorical_kl(stop(posterior), prior), axis=-1)
    rep = jnp.sum(distributions.categorical_kl(posterior, stop(prior)), axis=-1)
    return ModelLosses(
        decoded,
        reward_logits,
        continue_logits,
        rec=distributions.symlog_squared_error(decoded, rows.observation),
        rew=twohot.loss(reward_logits, rows.reward, bins),
        con=distributions.bernoulli_loss(continue_logits, continues),
        dyn=jnp.maximum(dyn, config.free_nats),
        rep=jnp.maximum(rep, config.free_nats),
    )


class Imagined(NamedTuple):
    """Imagined trajectories of H steps from N states; time-major.

    Only the outputs of actor and critic have a gradient, and only in the parameters of these.

    Attributes:
        states: The start and the first H − 1 imagined states: those whose actions count.
        actions: Their actions.
        actor_outputs: The actor's raw outputs there.
        critic_logits: The critic's outputs there.
        slow_values: The slow critic's predictions there.
        values: The critic's predictions there and in the last state.
        last_state: The state after the last counted action.
        last_action: What the policy would do there.
        rewards: Predicted on entering states 1 to H.
        continues: Predicted probability, in (0, γ), that states 1 to H are not the end.
    """

    states: State
    actions: Float[Array, "H N size"]
    actor_outputs: Float[Array, "H N outputs"]
    critic_logits: Float[Array, "H N bins"]
    slow_values: Float[Array, "H N"]
    values: Float[Array, "H1 N"]
    last_state: State
    last_action: Float[Array, "N size"]
    rewards: Float[Array, "H N"]
    continues: Float[Array, "H N"]


def imagine(
    networks: Networks,
    config: Config,
    policy: Policy,
    params: Params,
    slow_critic: Params,
    start: State,
    prior_noise: Float[Array, "H N stoch classes"],
    action_noise: Float[Array, "H1 N size"],
) -> Imagined:
    """Rolls the policy out inside the model; no gradient flows from state to state.

    Every head is evaluated on a state while the state is still in the processor's cache:
    all states of all steps together would not fit.

    Args:
        networks: The networks.
        config: The configuration.
        policy: The distribution of actions.
        params: Parameters of the networks.
        slow_critic: Parameters of the slow critic.
        start: N states to start from.
        prior_noise: Gumbel noise of the H draws of classes.
        action_noise: Noise of the H + 1 draws of actions.

    Source: `agent.py:252-283@29eb964`.
    """
    stop = jax.lax.stop_gradient
    fixed, slow_critic, start = stop((params, slow_critic, start))
    bins = twohot.make_bins(config.bins)

    def act(state: State, noise: Float[Array, "N size"]) -> tuple[Array, Array]:
        raw = _trained(networks.actor, params["actor"], state)
        return policy.sample(stop(raw), noise).astype(state.deter.dtype), raw

    def step(state: State, noise: tuple[Array, Array]) -> tuple[State, tuple[Array, ...]]:
        action, raw = act(state, noise[1])
        critic_logits = _trained(networks.critic, params["critic"], state)
        value = twohot.decode(stop(critic_logits), bins)
        slow_value = apply(networks.critic, slow_critic, *state.features, method="predict")
        following = apply(networks.dyn, fixed["dyn"], state, action, noise[0], method="imagine")
        reward = apply(networks.rew, fixed["rew"], *following.features, method="predict")
        continue_logits = apply(networks.con, fixed["con"], *following.features)
        continues = jax.nn.sigmoid(continue_logits[..., 0])
        outputs = (*state, action, raw, critic_logits, slow_value, value, reward, continues)
        return following, outputs

    last, outputs = jax.lax.scan(step, start, (prior_noise, action_noise[:-1]))
    deter, stoch, actions, raw, critic_logits, slow_values, values, rewards, continues = outputs
    last_action, _ = act(last, action_noise[-1])
    last_value = apply(networks.critic, fixed["critic"], *last.features, method="predict")
    return Imagined(
        State(deter, stoch),
        actions,
        raw,
        critic_logits,
        slow_values,
        jnp.concatenate([values, last_value[None]]),
        last,
        last_action,
        rewards,
        continues,
    )


def _trained(
    network: LinearHead | ContinuousActor | TwoHotHead, params: Params, state: State
) -> Array:
    """A head's outputs, with their gradient in its parameters.

    The gradient remembers the outputs of the affine maps and works out the rest again: that
    is cheap, and what lies in memory for all steps is not.
    """
    call = jax.checkpoint(
        lambda params, features: apply(network, params, *features),
        policy=jax.checkpoint_policies.save_only_these_names(AFFINE),
    )
    return call(params, state.features)
