"""The TD-MPC2 agent: pure functions to initialise, act, and update.

Everything that is random comes in as an argument, so that an update or a plan is a function of
its inputs and another implementation can be given the same draws.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import NamedTuple, cast

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int

from core.tdmpc2 import losses, planner, scale
from core.tdmpc2.config import Config
from core.tdmpc2.intermediates import Intermediates
from core.tdmpc2.losses import Batch
from core.tdmpc2.noise import PlanNoise, UpdateNoise, draw_plan_noise, draw_update_noise
from core.tdmpc2.optimizer import Optimizers, add, clip, make_optimizers, move_towards
from core.tdmpc2.planner import Plan
from core.tdmpc2.world_model import ModelParams, NetworkParams, Params, WorldModel

Metrics = dict[str, Float[Array, ""]]


class TrainState(NamedTuple):
    """Everything that updates change.

    Attributes:
        params: Of the model and of the policy prior.
        target_q: Moving average of the Q networks' parameters.
        model_optimizer: State of the model's optimiser.
        policy_optimizer: State of the policy's.
        scale: The running scale of the values.
        policy_gradient_norm: Of the policy's last gradient, clipped: what the paper era counts
            when it clips the model's next one.
        updates: How many there were.
    """

    params: Params
    target_q: NetworkParams
    model_optimizer: optax.OptState
    policy_optimizer: optax.OptState
    scale: Float[Array, ""]
    policy_gradient_norm: Float[Array, ""]
    updates: Int[Array, ""]


@dataclasses.dataclass(frozen=True)
class Agent:
    """The algorithm for one configuration and one task.

    Attributes:
        config: The configuration.
        observation_size: Length of an observation.
        action_size: Length of an action.
        episode_length: Steps of an episode, which the discount follows.
    """

    config: Config
    observation_size: int
    action_size: int
    episode_length: int

    @functools.cached_property
    def model(self) -> WorldModel:
        """The networks, without parameters."""
        return WorldModel(self.config, self.observation_size, self.action_size)

    @functools.cached_property
    def optimizers(self) -> Optimizers:
        """One for the model, one for the policy."""
        return make_optimizers(self.config)

    @property
    def discount(self) -> float:
        """γ of the task."""
        return self.config.discount(self.episode_length)

    def init(self, key: Array) -> TrainState:
        """Draws parameters; the target networks start as a copy of the Q networks."""
        params = self.model.init(key)
        return TrainState(
            params=params,
            target_q=jax.tree.map(jnp.copy, params.model.q),
            model_optimizer=self.optimizers.model.init(params.model),
            policy_optimizer=self.optimizers.policy.init(params.policy),
            scale=scale.initial(),
            policy_gradient_norm=jnp.zeros((), jnp.float32),
            updates=jnp.zeros((), jnp.int32),
        )

    def initial_carry(self, n: int) -> Float[Array, "n H actions"]:
        """What acting in n environments remembers: the mean of the last plan, at first zero."""
        return jnp.zeros((n, self.config.horizon, self.action_size))

    def acting_noise(self, key: Array, n: int, *, explore: bool = True) -> PlanNoise:
        """Draws the noise of one call of `act`, with a leading axis of environments.

        Args:
            key: Of the random numbers.
            n: Environments.
            explore: Whether actions are disturbed: in training, and not in an evaluation. Plans
                draw one of their elites either way; a policy that acts alone takes its mean.
        """
        draw = functools.partial(
            draw_plan_noise,
            config=self.config,
            action_size=self.action_size,
            explore=explore,
        )
        return jax.vmap(draw)(jax.random.split(key, n))

    def update_noise(self, key: Array) -> UpdateNoise:
        """Draws the noise of one update."""
        return draw_update_noise(key, self.config, self.action_size)

    def act(
        self,
        params: Params,
        carry: Float[Array, "n H actions"],
        observation: Float[Array, "n observation_size"],
        t0: Bool[Array, " n"],
        noise: PlanNoise,
    ) -> tuple[Float[Array, "n H actions"], Float[Array, "n actions"]]:
        """Chooses actions in n environments.

        Args:
            params: Of model and policy.
            carry: Of the previous step.
            observation: In units of the environment.
            t0: Whether it is the first of an episode.
            noise: From `acting_noise`.

        Returns:
            The carry of this step and the actions, in [−1, 1].
        """
        if not self.config.mpc:
            latent = self.model.encode(params.model, observation)
            return carry, self.model.act(params.policy, latent, noise.action).action
        plan = functools.partial(self.plan, params)
        plans = jax.vmap(plan)(observation, carry, t0, noise)
        return plans.mean, plans.action

    def plan(
        self,
        params: Params,
        observation: Float[Array, " observation_size"],
        previous: Float[Array, "H actions"],
        t0: Bool[Array, ""] | bool,
        noise: PlanNoise,
    ) -> Plan:
        """Plans in one environment; see `planner.plan`."""
        return planner.plan(
            self.model, params, self.discount, observation, previous, jnp.asarray(t0), noise
        )

    def update(
        self, state: TrainState, batch: Batch, noise: UpdateNoise
    ) -> tuple[TrainState, Metrics]:
        """One update of everything.

        Args:
            state: Before the update.
            batch: Sequences from the replay.
            noise: From `update_noise`.

        Returns:
            The state after the update, and metrics.
        """
        state, named = self.traced_update(state, batch, noise)
        return state, named.metrics

    def traced_update(
        self, state: TrainState, batch: Batch, noise: UpdateNoise
    ) -> tuple[TrainState, Intermediates]:
        """One update, as `update`, with every named intermediate instead of the metrics."""
        params, c = state.params, self.config
        target = losses.targets(self.model, params, state.target_q, self.discount, batch, noise)

        def model_loss(model_params: ModelParams) -> tuple[Array, losses.ModelLosses]:
            result = losses.model_losses(self.model, model_params, batch, target, noise)
            return result.total, result

        gradients, model = jax.grad(model_loss, has_aux=True)(params.model)
        counted = state.policy_gradient_norm if c.clip_with_policy else 0.0
        clipped = clip(gradients, c.grad_clip_norm, counted)
        steps, model_optimizer = self.optimizers.model.update(
            clipped.gradient, state.model_optimizer, params.model
        )
        model_params = add(params.model, steps)

        def policy_loss(policy_params: NetworkParams) -> tuple[Array, losses.PolicyLoss]:
            result = losses.policy_loss(
                self.model, policy_params, model_params.q, state.scale, model.latents, noise
            )
            return result.total, result

        policy_gradients, policy = jax.grad(policy_loss, has_aux=True)(params.policy)
        policy_clipped = clip(policy_gradients, c.grad_clip_norm)
        policy_steps, policy_optimizer = self.optimizers.policy.update(
            policy_clipped.gradient, state.policy_optimizer, params.policy
        )
        policy_params = add(params.policy, policy_steps)
        after = TrainState(
            params=Params(model_params, policy_params),
            target_q=move_towards(model_params.q, state.target_q, c.tau),
            model_optimizer=model_optimizer,
            policy_optimizer=policy_optimizer,
            scale=policy.scale,
            policy_gradient_norm=policy_clipped.own_norm,
            updates=state.updates + 1,
        )
        return after, Intermediates(
            target,
            model,
            gradients,
            clipped,
            cast(ModelParams, steps),
            policy,
            policy_gradients,
            policy_clipped,
            cast(NetworkParams, policy_steps),
        )
