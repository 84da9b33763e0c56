"""The latent dynamics of DreamerV3, as the core computes them."""

from __future__ import annotations

import dataclasses
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from core.dreamerv3 import distributions, normaliser
from core.dreamerv3.actor_critic import imagination_losses
from core.dreamerv3.agent import ActingNoise, Agent, Carry
from core.dreamerv3.config import Config
from core.dreamerv3.distributions import CategoricalPolicy
from core.dreamerv3.networks import apply
from core.dreamerv3.rssm import State
from core.dreamerv3.types import Context, Latent, Rows
from parity.core_subject.dreamerv3 import given
from parity.core_subject.dreamerv3.given import Variant
from parity.core_subject.running import quick_jit
from parity.implementations import OperationTable
from parity.operations import Answer


@dataclasses.dataclass(frozen=True)
class _Watched(CategoricalPolicy):
    """A policy that keeps the log-probabilities that it draws from."""

    drawn_from: list[Any] = dataclasses.field(default_factory=list)

    def sample(self, raw, noise):
        """See `CategoricalPolicy.sample`."""
        self.drawn_from.append(self.logits(raw))
        return super().sample(raw, noise)


def _rows(**columns: Any) -> Rows:
    """Rows of which only these columns are read."""
    shape = next(iter(columns.values())).shape[:2]
    no, zeros = jnp.zeros(shape, bool), jnp.zeros(shape)
    blank = Rows(zeros[..., None], zeros.astype(jnp.int32), zeros, no, no, no)
    return blank._replace(**columns)


def _answer(**outputs: Any) -> Answer:
    """As numpy arrays; classes and actions as int64."""
    arrays = {name: np.asarray(value) for name, value in outputs.items()}
    return {k: v.astype(np.int64) if v.dtype.kind == "i" else v for k, v in arrays.items()}


def table(variant: Variant) -> OperationTable:
    """The operations that are answered by the agent and its world model."""

    def make(arrays: given.Arrays, observation_size: int, actions: int) -> Agent:
        return variant.make(given.config(arrays), observation_size, actions)

    def recurrent_step(deter, stoch, action, **parameters) -> Answer:
        agent = make({**parameters, "stoch": stoch}, 1, action.shape[-1])
        step = _recurrent_step(variant, agent)
        return _answer(deter=step(given.parameters(parameters), State(deter, stoch), action))

    def observe(
        observation, is_first, previous_action, deter, stoch, noise, **parameters
    ) -> Answer:
        actions = previous_action.shape[-1]
        agent = make({**parameters, "stoch": stoch}, observation.shape[-1], actions)
        rows = _rows(observation=jnp.asarray(observation), is_first=jnp.asarray(is_first))
        observed = _observe(variant, agent)(
            given.parameters(parameters), State(deter, stoch), previous_action, rows,
            noise.swapaxes(0, 1),
        )  # fmt: skip
        return _answer(
            deters=observed.states.deter,
            posterior=observed.post_logits,
            prior=observed.prior_logits,
            classes=jnp.argmax(observed.states.stoch, -1),
        )

    def imagine(deter, stoch, prior_noise, action_noise, **parameters) -> Answer:
        agent = make({**parameters, "stoch": stoch}, 1, action_noise.shape[-1])
        params = given.with_zeros(agent, {"dyn": {}})
        tree = given.parameters(parameters)
        params = {**params, "actor": tree["actor"], "dyn": tree["dyn"]}
        imagined, scores = _imagine(variant, agent)(
            params, State(deter, stoch), prior_noise, action_noise
        )
        states, last = imagined.states, imagined.last_state
        every = jax.tree.map(lambda xs, x: np.concatenate([xs, x[None]]), states, last)
        actions = np.concatenate([imagined.actions, imagined.last_action[None]])
        return _answer(
            deters=every.deter,
            classes=np.argmax(every.stoch, -1),
            actions=np.argmax(actions, -1),
            scores=scores,
        )

    def act(
        observation, is_first, previous_action, deter, stoch, noise, action_noise, **parameters
    ) -> Answer:
        agent = make({**parameters, "stoch": stoch}, observation.shape[-1], action_noise.shape[-1])
        vector = agent.policy.encode(jnp.asarray(previous_action))
        action, policy, latent = _act(variant, agent)(
            given.parameters(parameters), Carry(State(deter, stoch), vector), observation,
            is_first, ActingNoise(noise, action_noise),
        )  # fmt: skip
        return _answer(action=action, policy=policy, deter_now=latent.deter, classes=latent.stoch)

    def previous_actions(context_action, action, actions) -> Answer:
        B, T = action.shape
        vectors = _named(variant, actions, B, T, "previous_actions")(context_action, action)
        return _answer(vectors=vectors[0])

    def imagined_counts(batch, length) -> Answer:
        loss = _named(variant, 2, batch, length, "imagined_deter", "actor_loss")
        action = jnp.zeros((batch, length), jnp.int32)
        states, scored = jax.eval_shape(loss, action[:, 0], action)
        counts = (states.shape[0], states.shape[1], scored.shape[1])
        names = ("trajectories", "states", "scored")
        return {name: np.asarray(n, np.int64) for name, n in zip(names, counts, strict=True)}

    return {
        "dreamerv3.recurrent_step": recurrent_step,
        "dreamerv3.observe": observe,
        "dreamerv3.imagine": imagine,
        "dreamerv3.act": act,
        "dreamerv3.previous_actions": previous_actions,
        "dreamerv3.imagined_counts": imagined_counts,
    }


# One program per variant and agent; the parameters are among its arguments.


@cache
def _recurrent_step(variant: Variant, agent: Agent):
    dyn = agent.networks.dyn
    return quick_jit(lambda params, *x: apply(dyn, params["dyn"], *x, method="advance"))


@cache
def _observe(variant: Variant, agent: Agent):
    return quick_jit(lambda params, *x: variant.observe(agent.networks, params, *x))


@cache
def _imagine(variant: Variant, agent: Agent):
    def program(params, start, prior_noise, action_noise):
        imagined = variant.imagine(
            agent.networks, agent.config, agent.policy, params, params["critic"], start,
            prior_noise, action_noise,
        )  # fmt: skip
        zeros = jnp.zeros(len(start.deter))
        retnorm = normaliser.initial()
        losses = imagination_losses(
            agent.networks, agent.config, agent.policy, params, retnorm, imagined, zeros, zeros
        )
        return imagined, losses.log_probs

    return quick_jit(program)


@cache
def _act(variant: Variant, agent: Agent):
    def program(params, *args):
        policy = agent.policy
        assert isinstance(policy, CategoricalPolicy)
        watched = _Watched(policy.size, policy.unimix)
        vars(agent)["policy"] = watched
        try:
            _, action, latent = agent.act(params, *args)
        finally:
            vars(agent)["policy"] = policy
        (drawn_from,) = watched.drawn_from
        return action, drawn_from, latent

    return quick_jit(program)


_TINY = Config(units=4, hidden=4, deter=8, stoch=3, blocks=2, bins=7)


@cache
def _named(variant: Variant, actions: int, B: int, T: int, *names: str):
    """Named intermediates of a training step's loss, as a function of its actions."""
    agent = variant.make(_TINY, 1, actions)

    def program(context_action, action):
        params = given.with_zeros(agent, {})
        rows = _rows(observation=jnp.zeros((B, T, 1)), action=action)
        latent = Latent(jnp.zeros((B, _TINY.deter)), jnp.zeros((B, _TINY.stoch), jnp.int32))
        noise = agent.draw_noise(jax.random.PRNGKey(0), B, T)
        retnorm = normaliser.initial()
        context = Context(latent, context_action)
        _, named = agent.loss(params, params["critic"], retnorm, rows, context, noise)
        return [named[name] for name in names]

    return quick_jit(program)


@cache
def _straight_through():
    def objective(log_probs, noise, weights):
        draw = distributions.sample_onehot(log_probs, noise)
        return jnp.sum(weights * draw), draw

    return quick_jit(jax.grad(objective, has_aux=True))


def straight_through(log_probs, noise, weights) -> Answer:
    """See `dreamerv3.straight_through`."""
    gradient, draw = _straight_through()(log_probs, noise, weights)
    return {"draw": np.asarray(draw), "gradient": np.asarray(gradient)}


TABLE = {**table(Variant()), "dreamerv3.straight_through": straight_through}
