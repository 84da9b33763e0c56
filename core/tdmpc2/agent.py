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
import numpy as np
import optax
from jaxtyping import Array, Bool, Float, Int

from core.tdmpc2 import losses, planner, scale
from core.tdmpc2.config import Config, ConfigError
from core.tdmpc2.intermediates import Intermediates
from core.tdmpc2.losses import Batch
from core.tdmpc2.noise import PlanNoise, UpdateNoise, draw_plan_noise, draw_update_noise
from core.tdmpc2.optimizer import Optimizers, add, clip, make_optimizers, move_towards
from core.tdmpc2.planner import Plan
from core.tdmpc2.tasks import Tasks
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
        task_gradient: Of the last policy's loss, by the vectors of the tasks, where the next
            update of the model counts it too.
    """

    params: Params
    target_q: NetworkParams
    model_optimizer: optax.OptState
    policy_optimizer: optax.OptState
    scale: Float[Array, ""]
    policy_gradient_norm: Float[Array, ""]
    updates: Int[Array, ""]
    task_gradient: Float[Array, "tasks task_dim"] | None = None


@dataclasses.dataclass(frozen=True)
class Agent:
    """The algorithm for one configuration and one task, or several.

    Attributes:
        config: The configuration.
        observation_size: Length of an observation.
        action_size: Length of an action.
        episode_length: Steps of an episode, which the discount follows.
        tasks: Where there are several; see `of_tasks`.
    """

    config: Config
    observation_size: int
    action_size: int
    episode_length: int
    tasks: Tasks | None = None

    @classmethod
    def of_tasks(cls, config: Config, tasks: Tasks) -> Agent:
        """The agent of several tasks: batches, plans and actions then say which one.

        Raises:
            ConfigError: Ends of episodes are to be predicted, which is for one task only
                (`common/world_model.py:132-136@e9f5932`).
        """
        if config.episodic:
            raise ConfigError(
                "agent.episodic is for agents of one task: leave it out, or train on one task with "
                "--episodic"
            )
        return cls(
            config, tasks.observation_size, tasks.action_size, max(tasks.episode_lengths), tasks
        )

    @functools.cached_property
    def model(self) -> WorldModel:
        """The networks, without parameters."""
        return WorldModel(self.config, self.observation_size, self.action_size, self.tasks)

    @functools.cached_property
    def optimizers(self) -> Optimizers:
        """One for the model, one for the policy."""
        return make_optimizers(self.config)

    @property
    def discount(self) -> float:
        """γ of the one task."""
        return self.config.discount(self.episode_length)

    def discount_of(self, task: Int[Array, "*batch"] | None) -> float | Float[Array, "*batch"]:
        """γ of the tasks with these indices, where there are several."""
        if self.tasks is None:
            return self.discount
        every = [self.config.discount(length) for length in self.tasks.episode_lengths]
        return jnp.asarray(np.asarray(every, np.float32))[task]

    def init(self, key: Array) -> TrainState:
        """Draws parameters; the target networks start as a copy of the Q networks."""
        params = self.model.init(key)
        return TrainState(
            params=params,
            target_q=jax.tree.map(jnp.copy, params.model.q),
            model_optimizer=self.optimizers.model.init(cast(optax.Params, params.model)),
            policy_optimizer=self.optimizers.policy.init(params.policy),
            scale=scale.initial(),
            policy_gradient_norm=jnp.zeros((), jnp.float32),
            updates=jnp.zeros((), jnp.int32),
            task_gradient=jax.tree.map(jnp.zeros_like, params.model.tasks) if self._leaks else None,
        )

    @property
    def _leaks(self) -> bool:
        """Whether the policy's loss reaches the next update of the tasks' vectors."""
        return self.tasks is not None and self.config.policy_trains_tasks

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
        task: Int[Array, " n"] | None = None,
    ) -> tuple[Float[Array, "n H actions"], Float[Array, "n actions"]]:
        """Chooses actions in n environments.

        Args:
            params: Of model and policy.
            carry: Of the previous step.
            observation: In units of the environment.
            t0: Whether it is the first of an episode.
            noise: From `acting_noise`.
            task: Index of the task in each, where there are several.

        Returns:
            The carry of this step and the actions, in [−1, 1].
        """
        if not self.config.mpc:
            model = self.model.of_task(params.model, task)
            latent = model.encode(params.model, observation)
            return carry, model.act(params.policy, latent, noise.action).action
        plan = functools.partial(self.plan, params)
        plans = jax.vmap(plan)(observation, carry, t0, noise, task)
        return plans.mean, plans.action

    def plan(
        self,
        params: Params,
        observation: Float[Array, " observation_size"],
        previous: Float[Array, "H actions"],
        t0: Bool[Array, ""] | bool,
        noise: PlanNoise,
        task: Int[Array, ""] | None = None,
    ) -> Plan:
        """Plans in one environment; see `planner.plan`.

        The vectors of the tasks are read and not shortened in place: planning writes no
        parameters (row T15).
        """
        model, discount = self.model.of_task(params.model, task), self.discount_of(task)
        return planner.plan(model, params, discount, observation, previous, jnp.asarray(t0), noise)

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
        c, task = self.config, batch.task
        params = state.params._replace(model=self.model.shorten(state.params.model, task))
        networks, discount = self.model.of_task(params.model, task), self.discount_of(task)
        target = losses.targets(networks, params, state.target_q, discount, batch, noise)

        def model_loss(model_params: ModelParams) -> tuple[Array, losses.ModelLosses]:
            networks = self.model.of_task(model_params, task)
            result = losses.model_losses(networks, model_params, batch, target, noise)
            return result.total, result

        gradients, model = jax.grad(model_loss, has_aux=True)(params.model)
        if self._leaks:
            gradients = gradients._replace(tasks=gradients.tasks + state.task_gradient)
        counted = state.policy_gradient_norm if c.clip_with_policy else 0.0
        clipped = clip(gradients, c.grad_clip_norm, counted)
        steps, model_optimizer = self.optimizers.model.update(
            clipped.gradient, state.model_optimizer, cast(optax.Params, params.model)
        )
        model_params = self.model.shorten(add(params.model, steps), task)

        def policy_loss(
            policy_params: NetworkParams, table: Float[Array, "tasks task_dim"] | None
        ) -> tuple[Array, losses.PolicyLoss]:
            networks = self.model.of_task(model_params._replace(tasks=table), task)
            result = losses.policy_loss(
                networks, policy_params, model_params.q, state.scale, model.latents, noise
            )
            return result.total, result

        (policy_gradients, task_gradient), policy = jax.grad(
            policy_loss, argnums=(0, 1), has_aux=True
        )(params.policy, model_params.tasks)
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
            task_gradient=task_gradient if self._leaks else None,
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
