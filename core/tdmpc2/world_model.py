"""The networks as functions of their parameters: the one place that knows their inputs.

What distinguishes one task from another is one more part of these inputs.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from core.tdmpc2 import policy
from core.tdmpc2.config import Config
from core.tdmpc2.layers import Perceptron
from core.tdmpc2.policy import PolicySample
from core.tdmpc2.tasks import INITIAL_RANGE, Task, Tasks, shorten_rows, shortened
from core.tdmpc2.twohot import Support

NetworkParams = dict[str, Any]


class ModelParams(NamedTuple):
    """Parameters that the model's optimiser trains.

    Attributes:
        encoder: Observation to latent state.
        dynamics: Latent state and action to the next latent state.
        reward: Latent state and action to the logits of a reward.
        q: The ensemble: like one Q network, with a leading axis of networks.
        tasks: The vector of every task, where there are several.
        termination: Latent state to the logit of an end, in the episodic mode.
    """

    encoder: NetworkParams
    dynamics: NetworkParams
    reward: NetworkParams
    q: NetworkParams
    tasks: Float[Array, "tasks task_dim"] | None = None
    termination: NetworkParams | None = None


class Params(NamedTuple):
    """All parameters that gradients train: the model's and the policy prior's."""

    model: ModelParams
    policy: NetworkParams


@dataclasses.dataclass(frozen=True)
class WorldModel:
    """The networks of one configuration, observation size and number of actions.

    Methods take latent states and actions with any leading axes.

    Attributes:
        config: The configuration.
        observation_size: Length of an observation.
        action_size: Length of an action.
        tasks: Where there are several; `of_task` then says which one a state belongs to.
        task: What `of_task` has set.
    """

    config: Config
    observation_size: int
    action_size: int
    tasks: Tasks | None = None
    task: Task | None = None

    @functools.cached_property
    def support(self) -> Support:
        """Of rewards and values."""
        return Support(self.config.bins, self.config.vmax)

    @functools.cached_property
    def encoder(self) -> Perceptron:
        """Hidden layers of the encoder's own width."""
        c = self.config
        return Perceptron((c.enc_dim,) * (c.enc_layers - 1), c.latent_dim, c.simnorm_dim)

    @functools.cached_property
    def dynamics(self) -> Perceptron:
        """Ends in simplices, as the encoder does."""
        return Perceptron(self._hidden, self.config.latent_dim, self.config.simnorm_dim)

    @functools.cached_property
    def reward_head(self) -> Perceptron:
        """Starts by predicting 0."""
        return Perceptron(self._hidden, self.config.bins, zero=True)

    @functools.cached_property
    def q_network(self) -> Perceptron:
        """One of the ensemble; starts by predicting 0."""
        c = self.config
        return Perceptron(
            self._hidden,
            c.bins,
            zero=True,
            dropout=c.dropout,
            torch_init=c.q_init == "torch",
        )

    @functools.cached_property
    def termination_head(self) -> Perceptron:
        """One logit; starts like any other network, and not by predicting 0.

        Source: `common/world_model.py:28-32@e9f5932`.
        """
        return Perceptron(self._hidden, 1)

    @functools.cached_property
    def policy_network(self) -> Perceptron:
        """Mean and raw logarithm of the deviation, side by side."""
        return Perceptron(self._hidden, 2 * self.action_size)

    @property
    def _hidden(self) -> tuple[int, ...]:
        return (self.config.mlp_dim,) * 2

    def of_task(self, params: ModelParams, index: Int[Array, "*batch"] | None) -> WorldModel:
        """The same networks, told which tasks the states belong to that they will be given.

        Args:
            params: Their table of tasks is read, and shortened where it is too long.
            index: Of tasks; its axes broadcast with the leading ones of the states. None where
                there is one task.

        Raises:
            ValueError: There are several tasks, and no index.
        """
        if self.tasks is None:
            return self
        table, index = _told(params, index)
        task = Task(shortened(table[index]), jnp.asarray(self.tasks.masks)[index])
        return dataclasses.replace(self, task=task)

    def shorten(self, params: ModelParams, index: Int[Array, " batch"] | None) -> ModelParams:
        """Parameters after the vectors of these tasks have been read in training."""
        if self.tasks is None:
            return params
        return params._replace(tasks=shorten_rows(*_told(params, index)))

    def _of(self, first: Array, *others: Array) -> tuple[Array, ...]:
        """Inputs of a network, in the reference's order: the task follows the first of them."""
        return (first, *others) if self.task is None else (first, self.task.vector, *others)

    def init(self, key: Array) -> Params:
        """Draws parameters; every network and every member of the ensemble has its own key."""
        observation = jnp.zeros((1, self.observation_size))
        latent = jnp.zeros((1, self.config.latent_dim))
        action = jnp.zeros((1, self.action_size))
        keys = jax.random.split(key, 5)
        table = None
        if self.tasks is not None:
            shape, bound = (len(self.tasks), self.config.task_dim), INITIAL_RANGE
            table = jax.random.uniform(
                jax.random.fold_in(key, len(keys)), shape, minval=-bound, maxval=bound
            )
            observation, latent = (
                jnp.pad(x, ((0, 0), (0, shape[1]))) for x in (observation, latent)
            )

        def draw(network: Perceptron, key: Array, *inputs: Array) -> NetworkParams:
            return dict(network.init(key, *inputs)["params"])

        termination = None
        if self.config.episodic:
            own = jax.random.fold_in(key, len(keys) + 1)
            termination = draw(self.termination_head, own, latent)
        members = jax.random.split(keys[3], self.config.num_q)
        model = ModelParams(
            encoder=draw(self.encoder, keys[0], observation),
            dynamics=draw(self.dynamics, keys[1], latent, action),
            reward=draw(self.reward_head, keys[2], latent, action),
            q=jax.vmap(lambda k: draw(self.q_network, k, latent, action))(members),
            tasks=table,
            termination=termination,
        )
        return Params(model, draw(self.policy_network, keys[4], latent))

    def encode(
        self, params: ModelParams, observation: Float[Array, "*batch observation_size"]
    ) -> Float[Array, "*batch latent"]:
        """The latent state of an observation, in units of the environment."""
        return _apply(self.encoder, params.encoder, *self._of(observation))

    def next(
        self,
        params: ModelParams,
        latent: Float[Array, "*batch latent"],
        action: Float[Array, "*batch actions"],
    ) -> Float[Array, "*batch latent"]:
        """The latent state that an action leads to."""
        return _apply(self.dynamics, params.dynamics, *self._of(latent, action))

    def reward_logits(
        self,
        params: ModelParams,
        latent: Float[Array, "*batch latent"],
        action: Float[Array, "*batch actions"],
    ) -> Float[Array, "*batch bins"]:
        """Logits of the reward of taking an action; `support.decode` makes it a scalar."""
        return _apply(self.reward_head, params.reward, *self._of(latent, action))

    def termination_logits(
        self, params: ModelParams, latent: Float[Array, "*batch latent"]
    ) -> Float[Array, "*batch"]:
        """The logit of an episode having ended by itself with this state, in the episodic mode."""
        assert params.termination is not None
        return _apply(self.termination_head, params.termination, *self._of(latent))[..., 0]

    def act(
        self,
        params: NetworkParams,
        latent: Float[Array, "*batch latent"],
        noise: Float[Array, "*batch actions"],
    ) -> PolicySample:
        """Actions of the policy prior.

        Args:
            params: Of the policy network.
            latent: Latent states.
            noise: Standard normal.
        """
        outputs = _apply(self.policy_network, params, *self._of(latent))
        mask = None if self.task is None else self.task.mask
        return policy.sample(outputs, noise, self.config, mask)

    def q_logits(
        self,
        params: NetworkParams,
        latent: Float[Array, "*batch latent"],
        action: Float[Array, "*batch actions"],
        keep: Bool[Array, "members *batch units"] | None,
    ) -> Float[Array, "members *batch bins"]:
        """Logits of the value of taking an action, from every network in `params`.

        Args:
            params: Of the ensemble, or of some members of it.
            latent: Latent states.
            action: Actions.
            keep: Dropout masks, one per network, or None.
        """

        def one(params: NetworkParams, keep: Array | None) -> Array:
            return _apply(self.q_network, params, *self._of(latent, action), keep=keep)

        return jax.vmap(one)(params, keep)

    def drawn_values(
        self,
        params: NetworkParams,
        members: Int[Array, " two"],
        latent: Float[Array, "*batch latent"],
        action: Float[Array, "*batch actions"],
        keep: Bool[Array, "two *batch units"] | None,
    ) -> Float[Array, "two ..."]:
        """Values from two networks of the ensemble; the others are not evaluated.

        Args:
            params: Of the whole ensemble.
            members: Indices of the two networks.
            latent: Latent states.
            action: Actions.
            keep: Dropout masks of the two, or None.
        """
        drawn = jax.tree.map(lambda x: x[members], params)
        return self.support.decode(self.q_logits(drawn, latent, action, keep))


def _told(params: ModelParams, index: Array | None) -> tuple[Array, Array]:
    if params.tasks is None or index is None:
        raise ValueError("an agent of several tasks has to be told which one: `task`, its index")
    return params.tasks, index


def _apply(network: Perceptron, params: NetworkParams, *parts: Array, **options: Any) -> Array:
    """`network.apply`, of which flax's own types say too little to use."""
    return jnp.asarray(network.apply({"params": params}, *parts, **options))
