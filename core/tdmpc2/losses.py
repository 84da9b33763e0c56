"""Targets and losses of the model, and the loss of the policy prior.

Everything is time-major: H steps of B sequences.

Source: paper, section 3.2, equations 3 and 4; `tdmpc2.py:173-273@5f6fade`. The coefficients
are those of the code; mean over steps, batch and networks, weight ρᵗ.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from core.tdmpc2 import ends, scale
from core.tdmpc2.ends import Ends
from core.tdmpc2.noise import UpdateNoise
from core.tdmpc2.policy import PolicySample
from core.tdmpc2.world_model import ModelParams, NetworkParams, Params, WorldModel


class Batch(NamedTuple):
    """Sequences of H transitions.

    Attributes:
        observation: In units of the environment, the last one included.
        action: Taken after each observation but the last, in [−1, 1].
        reward: Received for it.
        terminated: 1 where the episode ended by itself right after it, so that nothing
            follows; all 0 where episodes only end by time.
        task: Index of each sequence's task, where there are several.
    """

    observation: Float[Array, "H1 B observation_size"]
    action: Float[Array, "H B actions"]
    reward: Float[Array, "H B"]
    terminated: Float[Array, "H B"]
    task: Int[Array, " B"] | None = None


class Targets(NamedTuple):
    """What the model learns to predict; no gradient flows into it.

    Attributes:
        next_latents: Encoded observations after each action.
        policy: Of the policy in these states.
        values: Of its actions, from both drawn target networks.
        returns: reward + γ · (1 − terminated) · the smaller value.
    """

    next_latents: Float[Array, "H B latent"]
    policy: PolicySample
    values: Float[Array, "two H B"]
    returns: Float[Array, "H B"]


def targets(
    model: WorldModel,
    params: Params,
    target_q: NetworkParams,
    discount: float | Float[Array, " B"],
    batch: Batch,
    noise: UpdateNoise,
) -> Targets:
    """The targets of a batch, from the *encoded* next observations.

    Args:
        model: The networks.
        params: Encoder and policy are read.
        target_q: Parameters of the target Q networks.
        discount: γ, or that of each sequence.
        batch: The sequences.
        noise: The part of it named target is read.
    """
    next_latents = model.encode(params.model, batch.observation[1:])
    following = model.act(params.policy, next_latents, noise.target_action)
    values = model.drawn_values(
        target_q, noise.target_q, next_latents, following.action, noise.target_keep
    )
    returns = batch.reward + discount * (1 - batch.terminated) * jnp.min(values, axis=0)
    return jax.lax.stop_gradient(Targets(next_latents, following, values, returns))


class ModelLosses(NamedTuple):
    """The model's losses and what they are made of.

    Attributes:
        latents: From the first observation on, rolled out with the actions.
        q_logits: Of all Q networks.
        reward_logits: Of the reward head.
        consistency: Mean squared error of each rolled-out latent state, by step.
        reward: Cross entropy, by step.
        value: Cross entropy, by network and step.
        consistency_loss: Weighted mean over steps, without its coefficient.
        reward_loss: Likewise.
        value_loss: Likewise, and over networks.
        total: With all coefficients.
        ends: What is predicted of ends of episodes, and its loss, in the episodic mode.
    """

    latents: Float[Array, "H1 B latent"]
    q_logits: Float[Array, "num_q H B bins"]
    reward_logits: Float[Array, "H B bins"]
    consistency: Float[Array, " H"]
    reward: Float[Array, " H"]
    value: Float[Array, "num_q H"]
    consistency_loss: Float[Array, ""]
    reward_loss: Float[Array, ""]
    value_loss: Float[Array, ""]
    total: Float[Array, ""]
    ends: Ends | None = None


def model_losses(
    model: WorldModel, params: ModelParams, batch: Batch, target: Targets, noise: UpdateNoise
) -> ModelLosses:
    """The losses of one batch.

    Args:
        model: The networks.
        params: What they are differentiated with respect to.
        batch: The sequences.
        target: From `targets`.
        noise: The dropout masks of the Q networks are read.
    """
    c = model.config
    latent = model.encode(params, batch.observation[0])
    rollout = [latent]
    for action in batch.action:
        latent = model.next(params, latent, action)
        rollout.append(latent)
    latents = jnp.stack(rollout)
    starts = latents[:-1]
    q_logits = model.q_logits(params.q, starts, batch.action, noise.q_keep)
    reward_logits = model.reward_logits(params, starts, batch.action)

    error = latents[1:] - target.next_latents
    consistency = jnp.mean(error * error, axis=(-2, -1))
    reward = jnp.mean(model.support.loss(reward_logits, batch.reward), axis=-1)
    value = jnp.mean(model.support.loss(q_logits, target.returns), axis=-1)

    weights = step_weights(c.rho, c.horizon)
    consistency_loss = jnp.mean(weights * consistency)
    reward_loss = jnp.mean(weights * reward)
    value_loss = jnp.mean(weights * value)
    total = (
        c.consistency_coef * consistency_loss
        + c.reward_coef * reward_loss
        + c.value_coef * value_loss
    )
    predicted = None
    if c.episodic:
        logits = model.termination_logits(params, latents[1:])
        predicted = ends.assess(logits, batch.terminated)
        total = total + c.termination_coef * predicted.loss
    return ModelLosses(
        latents,
        q_logits,
        reward_logits,
        consistency,
        reward,
        value,
        consistency_loss,
        reward_loss,
        value_loss,
        total,
        predicted,
    )


class PolicyLoss(NamedTuple):
    """The policy's loss and what it is made of.

    Attributes:
        policy: Of the policy in all latent states of the rollout.
        values: Of its actions: mean of the two drawn networks.
        scale: The running scale, updated with the values of the first step.
        steps: −(entropy_coef · entropy + value / scale), by step.
        total: Weighted mean over steps.
    """

    policy: PolicySample
    values: Float[Array, "H1 B"]
    scale: Float[Array, ""]
    steps: Float[Array, " H1"]
    total: Float[Array, ""]


def policy_loss(
    model: WorldModel,
    params: NetworkParams,
    q: NetworkParams,
    running_scale: Float[Array, ""],
    latents: Float[Array, "H1 B latent"],
    noise: UpdateNoise,
) -> PolicyLoss:
    """The loss of the policy prior on the latent states of the rollout.

    Args:
        model: The networks.
        params: Of the policy network: what the loss is differentiated with respect to.
        q: Of the Q networks, *after* the model's update.
        running_scale: Before this batch.
        latents: From `model_losses`; no gradient flows into them.
        noise: The part of it named policy is read.
    """
    c = model.config
    latents, q = jax.lax.stop_gradient((latents, q))
    drawn = model.act(params, latents, noise.policy_action)
    values = jnp.mean(
        model.drawn_values(q, noise.policy_q, latents, drawn.action, noise.policy_keep), axis=0
    )
    running_scale = scale.update(running_scale, jax.lax.stop_gradient(values[0]), tau=c.tau)
    gain = c.entropy_coef * drawn.entropy + values / running_scale
    steps = -jnp.mean(gain, axis=-1)
    total = jnp.mean(step_weights(c.rho, c.horizon + 1) * steps)
    return PolicyLoss(drawn, values, running_scale, steps, total)


def step_weights(rho: float, steps: int) -> Float[Array, " steps"]:
    """ρᵗ for t = 0, 1, ..."""
    return jnp.asarray([rho**t for t in range(steps)])
