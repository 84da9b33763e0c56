"""Planning by model predictive path integral (MPPI) in the latent space.

A plan is a Gaussian over action sequences of H steps. Each iteration draws sequences from it,
adds those of the policy prior, rolls all of them out in the model, and fits the Gaussian to the
best, weighted by their values. Nothing here has a batch of environments: `jax.vmap` makes one.

Two savings over the reference change no value beyond the rounding of single sums: all sequences
start from one latent state, whose products are computed once; and the rollouts of the policy's
sequences, the same in every iteration, are computed once per plan (their values still depend on
the iteration, through the last action, the drawn networks and their dropout).

In the episodic mode (row T29) nothing counts that follows an end which the model predicts: neither
the rewards of later steps nor the value of the last state.

Source: paper, section 3.3; `tdmpc2.py:60-171@5f6fade`; with ends, `tdmpc2.py:123-136@e9f5932`.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from core.tdmpc2 import ends
from core.tdmpc2.config import Config
from core.tdmpc2.noise import PlanNoise
from core.tdmpc2.world_model import ModelParams, Params, WorldModel


class Gaussian(NamedTuple):
    """Mean and standard deviation of every planned action."""

    mean: Float[Array, "H actions"]
    std: Float[Array, "H actions"]


class Iteration(NamedTuple):
    """What one iteration computed; the policy's trajectories come first.

    Attributes:
        actions: Of all trajectories.
        values: Their values: discounted rewards and the value of the last state.
        elites: Indices of the best, best first.
        weights: How much each of them counts; they sum to 1.
        fitted: The Gaussian that the next iteration draws from.
    """

    actions: Float[Array, "H N actions"]
    values: Float[Array, " N"]
    elites: Int[Array, " elites"]
    weights: Float[Array, " elites"]
    fitted: Gaussian


class Rollout(NamedTuple):
    """What rolling out action sequences gives.

    Attributes:
        total: Discounted sum of the predicted rewards.
        last: The last states.
        alive: 1 where no end has been predicted by then, else 0; None outside the episodic mode.
    """

    total: Float[Array, " n"]
    last: Float[Array, "n latent"]
    alive: Float[Array, " n"] | None


class Plan(NamedTuple):
    """The outcome of planning and how it came about.

    Attributes:
        latent: The latent state that was planned from.
        policy_actions: The policy's trajectories.
        iterations: All iterations, along a leading axis.
        elite: Which of the last iteration's elites was drawn.
        action: The action to take, in [−1, 1].
        mean: What the next plan of the episode starts from, before the shift by one step.
    """

    latent: Float[Array, " latent"]
    policy_actions: Float[Array, "H P actions"]
    iterations: Iteration
    elite: Int[Array, ""]
    action: Float[Array, " actions"]
    mean: Float[Array, "H actions"]


def plan(
    model: WorldModel,
    params: Params,
    discount: float | Float[Array, ""],
    observation: Float[Array, " observation_size"],
    previous: Float[Array, "H actions"],
    t0: Bool[Array, ""],
    noise: PlanNoise,
) -> Plan:
    """Plans from one observation.

    Args:
        model: The networks, of one task.
        params: Their parameters.
        discount: γ.
        observation: In units of the environment.
        previous: `Plan.mean` of the step before.
        t0: Whether the observation is the first of its episode; `previous` is then ignored.
        noise: From `draw_plan_noise`.

    Returns:
        The plan. Its action is that of a *drawn* elite, with or without exploration around it
        (row T16).
    """
    c = model.config

    def masked(actions: Array) -> Array:
        """Actions without the ones that the task has not."""
        return actions if model.task is None else actions * model.task.mask

    latent = model.encode(params.model, observation[None])
    policy_actions = policy_trajectories(model, params, latent, noise.policy_action)
    of_policy = rollout(model, params.model, discount, latent, policy_actions)

    def iterate(
        gaussian: Gaussian, inputs: tuple[Array, Array, Array, Array | None]
    ) -> tuple[Gaussian, Iteration]:
        samples, value_action, q, q_keep = inputs
        mean, std = gaussian.mean[:, None], gaussian.std[:, None]
        sampled = masked(jnp.clip(mean + std * samples, -1.0, 1.0))
        of_samples = rollout(model, params.model, discount, latent, sampled)
        last = jnp.concatenate([of_policy.last, of_samples.last])
        final_action = model.act(params.policy, last, value_action).action
        value = jnp.mean(model.drawn_values(params.model.q, q, last, final_action, q_keep), axis=0)
        returns = jnp.concatenate([of_policy.total, of_samples.total])
        following = discount**c.horizon * value
        if of_policy.alive is not None and of_samples.alive is not None:
            following = jnp.concatenate([of_policy.alive, of_samples.alive]) * following
        values = jnp.nan_to_num(returns + following)
        actions = jnp.concatenate([policy_actions, sampled], axis=1)
        elites, weights = weigh_elites(values, c)
        fitted = Gaussian(*map(masked, fit(actions[:, elites], weights, c)))
        return fitted, Iteration(actions, values, elites, weights, fitted)

    inputs = (noise.samples, noise.value_action, noise.q, noise.q_keep)
    start = Gaussian(warm_start(previous, t0), jnp.full_like(previous, c.max_std))
    last, iterations = jax.lax.scan(iterate, start, inputs)

    # A Gumbel-max draw among the elites of the last iteration.
    elite = jnp.argmax(jnp.log(iterations.weights[-1]) + noise.elite)
    action = iterations.actions[-1, 0, iterations.elites[-1, elite]]
    action = action + last.std[0] * noise.action
    return Plan(
        latent[0], policy_actions, iterations, elite, jnp.clip(action, -1.0, 1.0), last.mean
    )


def warm_start(
    previous: Float[Array, "H actions"], t0: Bool[Array, ""]
) -> Float[Array, "H actions"]:
    """The mean that a plan starts from: the previous one a step later, or zeros."""
    shifted = jnp.concatenate([previous[1:], jnp.zeros_like(previous[:1])])
    return jnp.where(t0, 0.0, shifted)


def policy_trajectories(
    model: WorldModel,
    params: Params,
    latent: Float[Array, "1 latent"],
    noise: Float[Array, "H P actions"],
) -> Float[Array, "H P actions"]:
    """Actions of the policy prior along its own rollouts."""
    actions = []
    for t, normal in enumerate(noise):
        if t:
            latent = model.next(params.model, latent, actions[-1])
        actions.append(model.act(params.policy, latent, normal).action)
    return jnp.stack(actions)


def rollout(
    model: WorldModel,
    params: ModelParams,
    discount: float | Float[Array, ""],
    latent: Float[Array, "1 latent"],
    actions: Float[Array, "H n actions"],
) -> Rollout:
    """Discounted rewards of action sequences and their last states, as the model predicts them.

    In the episodic mode a step that leads to an end is rewarded, and none that follows.

    Args:
        model: The networks.
        params: Their parameters.
        discount: γ.
        latent: The one state that all of them start from.
        actions: The sequences.
    """
    total = jnp.zeros(actions.shape[1], latent.dtype)
    alive = jnp.ones_like(total) if model.config.episodic else None
    for t, action in enumerate(actions):
        reward = model.support.decode(model.reward_logits(params, latent, action))
        reward = discount**t * reward
        total = total + (reward if alive is None else alive * reward)
        latent = model.next(params, latent, action)
        if alive is not None:
            alive = alive * ~ends.predicted(model.termination_logits(params, latent))
    return Rollout(total, latent, alive)


def weigh_elites(
    values: Float[Array, " N"], config: Config
) -> tuple[Int[Array, " elites"], Float[Array, " elites"]]:
    """The trajectories with the largest values, and their weights softmax(τ · value)."""
    best, elites = jax.lax.top_k(values, config.num_elites)
    return elites, jax.nn.softmax(config.temperature * best)


def fit(
    actions: Float[Array, "H elites actions"], weights: Float[Array, " elites"], config: Config
) -> Gaussian:
    """Weighted mean and standard deviation of the elites' actions."""
    weights = weights[:, None]
    mean = jnp.sum(weights * actions, axis=1)
    variance = jnp.sum(weights * (actions - mean[:, None]) ** 2, axis=1)
    return Gaussian(mean, jnp.clip(jnp.sqrt(variance), config.min_std, config.max_std))
