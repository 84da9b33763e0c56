"""Targets, losses and a whole update, as the core computes them.

Where predictions are given, the networks are replaced by ones that put them out; the losses, and
all that is done with what the networks put out, are the core's own.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from core.tdmpc2 import losses
from core.tdmpc2.agent import Agent, TrainState
from core.tdmpc2.config import ERAS
from core.tdmpc2.losses import Batch, Targets
from core.tdmpc2.noise import UpdateNoise
from core.tdmpc2.policy import PolicySample
from core.tdmpc2.world_model import ModelParams, Params, WorldModel
from parity.core_subject.tdmpc2 import given, stage
from parity.operations import Answer

COMMITS = {"paper": "5f6fade", "head": "e9f5932"}


@dataclasses.dataclass(frozen=True)
class Prescribed(WorldModel):
    """Networks whose parameters are what they put out, whatever they are given."""

    def encode(self, params: ModelParams, observation: Array) -> Array:
        """The states that the encoder's parameters hold, of the observation's leading axes."""
        found = jnp.asarray(params.encoder["latents"])
        return found if observation.ndim == 3 else found[0]

    def next(self, params: ModelParams, latent: Array, action: Array) -> Array:
        """The state at the step that the first number of the action says."""
        return jnp.asarray(params.dynamics["latents"])[action[0, 0].astype(int)]

    def reward_logits(self, params: ModelParams, latent: Array, action: Array) -> Array:
        """The reward head's parameters."""
        return jnp.asarray(params.reward["logits"])

    def q_logits(self, params: Any, latent: Array, action: Array, keep: Array | None) -> Array:
        """The parameters of the Q networks that are asked."""
        return jnp.asarray(params["logits"])

    def act(self, params: Any, latent: Array, noise: Array) -> PolicySample:
        """Actions of zeros, with the entropies that are the policy's parameters."""
        entropy = jnp.asarray(params["entropies"])
        zeros = jnp.zeros((*entropy.shape, self.action_size))
        return PolicySample(zeros, zeros, zeros, entropy)


def _noise(members: Array) -> Any:
    """The drawn networks, for both of their uses; nothing else is random here."""
    nothing: Any = None
    return UpdateNoise(nothing, members, None, None, nothing, members, None)


def _td_targets(
    model: WorldModel, discount: float, q_logits, members, reward, terminated
) -> dict[str, Array]:
    H, B = reward.shape
    latents = jnp.zeros((H, B, 1))
    model_params = ModelParams({"latents": latents}, {}, {}, {})
    params = Params(model_params, {"entropies": jnp.zeros((H, B))})
    batch = Batch(jnp.zeros((H + 1, B, 1)), jnp.zeros((H, B, 1)), reward, terminated)
    target = losses.targets(model, params, {"logits": q_logits}, discount, batch, _noise(members))
    return {"returns": target.returns}


def td_targets(q_logits, members, reward, terminated, discount, limit) -> Answer:
    """See `tdmpc2.td_targets`."""
    config = stage.config(num_q=len(q_logits), bins=q_logits.shape[-1], vmax=limit)
    call = stage.compiled(_td_targets, Prescribed(config, 1, 1), discount)
    arrays = q_logits, members.astype(np.int32), reward, terminated
    return stage.answers(call(*arrays))


def _model_loss(model: WorldModel, predictions, next_latents, reward, returns) -> dict[str, Array]:
    H, B, _ = next_latents.shape
    steps = jnp.broadcast_to(jnp.arange(H, dtype=jnp.float32)[:, None, None], (H, B, 1))
    batch = Batch(jnp.zeros((H + 1, B)), steps, reward, jnp.zeros_like(reward))
    unused: Any = None
    target = Targets(next_latents, unused, unused, returns)

    def total(params: ModelParams) -> tuple[Array, losses.ModelLosses]:
        found = losses.model_losses(model, params, batch, target, _noise(unused))
        return found.total, found

    params = ModelParams(
        {"latents": jnp.zeros_like(next_latents)},
        {"latents": predictions["latents"]},
        {"logits": predictions["reward_logits"]},
        {"logits": predictions["q_logits"]},
    )
    gradients, found = jax.grad(total, has_aux=True)(params)
    return {
        "consistency": found.consistency_loss,
        "reward": found.reward_loss,
        "value": found.value_loss,
        "total": found.total,
        "latents_gradient": gradients.dynamics["latents"],
        "reward_gradient": gradients.reward["logits"],
        "value_gradient": gradients.q["logits"],
    }


def model_loss(
    latents, next_latents, reward_logits, reward, q_logits, returns, limit, **weights
) -> Answer:
    """See `tdmpc2.model_loss`."""
    sizes = {"horizon": len(latents), "num_q": len(q_logits), "bins": q_logits.shape[-1]}
    model = Prescribed(stage.config(**{**sizes, "vmax": limit, **weights}), 1, 1)
    predictions = {"latents": latents, "reward_logits": reward_logits, "q_logits": q_logits}
    call = stage.compiled(_model_loss, model)
    return stage.answers(call(predictions, next_latents, reward, returns))


def _policy_loss(model: WorldModel, q_logits, members, entropies, scale) -> dict[str, Array]:
    latents = jnp.zeros((*entropies.shape, 1))

    def total(policy, q) -> tuple[Array, losses.PolicyLoss]:
        found = losses.policy_loss(model, policy, q, scale, latents, _noise(members))
        return found.total, found

    policy = {"entropies": entropies}
    gradient, found = jax.grad(total, has_aux=True)(policy, {"logits": q_logits})

    # The loss stops the gradient at the Q networks' parameters, which are the logits here; it
    # reaches them through the values that a policy's action would have.
    def through_values(values: Array) -> Array:
        valued: Any = _Valued(model, values)
        q = {"logits": q_logits}
        return losses.policy_loss(valued, policy, q, scale, latents, _noise(members)).total

    drawn, decode = jax.vjp(lambda logits: model.support.decode(logits[members]), q_logits)
    (value_gradient,) = decode(jax.grad(through_values)(drawn))
    return {
        "loss": found.total,
        "scale": found.scale,
        "entropy_gradient": gradient["entropies"],
        "value_gradient": value_gradient,
    }


class _Valued:
    """Networks with given values of the drawn Q networks."""

    def __init__(self, model: WorldModel, values: Array):
        self._model, self._values = model, values

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def drawn_values(self, *arguments: Any) -> Array:
        """The values, whoever is asked."""
        return self._values


def policy_loss(q_logits, members, entropies, scale, limit, **weights) -> Answer:
    """See `tdmpc2.policy_loss`."""
    sizes = {"horizon": len(entropies) - 1, "num_q": len(q_logits), "bins": q_logits.shape[-1]}
    model = Prescribed(stage.config(**{**sizes, "vmax": limit, **weights}), 1, 1)
    call = stage.compiled(_policy_loss, model)
    return stage.answers(call(q_logits, members.astype(np.int32), entropies, jnp.asarray(scale)))


def _update(
    agent: Agent, discount: float, names: tuple[str, ...], arrays, state: TrainState, batch, noise
) -> dict[str, Array]:
    del discount  # the agent's, whose length of episodes it decides
    _, found = agent.traced_update(state, batch, noise)
    leaves = {
        **flat("enc", found.gradients.encoder),
        **flat("dyn", found.gradients.dynamics),
        **flat("rew", found.gradients.reward),
        **flat("q", found.gradients.q),
        **flat("pi", found.policy_gradients),
    }

    def joined(policy: bool) -> Array:
        wanted = [n for n in names if n in leaves and n.startswith("pi_") == policy]
        return jnp.concatenate([leaves[name].reshape(-1) for name in wanted])

    return {
        "returns": found.targets.returns,
        "consistency": found.model.consistency_loss,
        "reward_loss": found.model.reward_loss,
        "value_loss": found.model.value_loss,
        "policy_loss": found.policy.total,
        "scale": found.policy.scale,
        "model_gradient": joined(policy=False),
        "policy_gradient": joined(policy=True),
    }


def flat(prefix: str, network: dict[str, Any]) -> dict[str, Array]:
    """The leaves of a network under the names that they have among inputs."""
    return {
        f"{prefix}_{layer}_{leaf}": value
        for layer, leaves in network.items()
        for leaf, value in {**leaves, **leaves.get("affine", {})}.items()
        if leaf != "affine"
    }


@dataclasses.dataclass(frozen=True)
class Discounted(Agent):
    """An agent whose discount is given, not that of a length of episodes."""

    given_discount: float = 0.99

    @property
    def discount(self) -> float:
        """γ."""
        return self.given_discount


def agent_of(
    arrays: given.Arrays, observation: np.ndarray, actions: int, discount: float, **settings: Any
) -> Discounted:
    """The core's agent with given widths, settings and discount."""
    config = stage.config(**{**given.widths(arrays), **settings})
    return Discounted(config, observation.shape[-1], actions, 500, None, discount)


def update(
    observation,
    action,
    reward,
    terminated,
    scale,
    target_noise,
    target_members,
    target_keep,
    q_keep,
    policy_noise,
    policy_members,
    policy_keep,
    dropout,
    discount,
    simnorm_dim,
    limit,
    learning_rate,
    era,
    **parameters,
) -> Answer:
    """See `tdmpc2.update`."""
    H, B = reward.shape
    agent = agent_of(
        parameters,
        observation,
        action.shape[-1],
        discount,
        **ERAS[COMMITS[era]],
        **{"dropout": dropout, "simnorm_dim": simnorm_dim, "vmax": limit},
        **{"horizon": H, "batch_size": B, "learning_rate": learning_rate},
    )
    networks = given.networks(parameters)
    model_params = given.model_params(parameters)
    state = TrainState(
        params=Params(model_params, networks["pi"]),
        target_q=networks["target"],
        model_optimizer=agent.optimizers.model.init(model_params),  # type: ignore[arg-type]
        policy_optimizer=agent.optimizers.policy.init(networks["pi"]),
        scale=jnp.asarray(scale),
        policy_gradient_norm=jnp.zeros(()),
        updates=jnp.zeros((), jnp.int32),
    )
    drops = dropout > 0
    noise = UpdateNoise(
        target_action=target_noise,
        target_q=target_members.astype(np.int32),
        target_keep=target_keep if drops and agent.config.q_dropout == "always" else None,
        q_keep=q_keep if drops else None,
        policy_action=policy_noise,
        policy_q=policy_members.astype(np.int32),
        policy_keep=policy_keep if drops else None,
    )
    batch = Batch(observation, action, reward, terminated)
    call = stage.compiled(_update, agent, discount, tuple(parameters))
    return stage.answers(call({}, state, batch, noise))


TABLE = {
    "tdmpc2.td_targets": td_targets,
    "tdmpc2.model_loss": model_loss,
    "tdmpc2.policy_loss": policy_loss,
    "tdmpc2.update": update,
}
