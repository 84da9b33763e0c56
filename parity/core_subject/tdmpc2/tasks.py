"""Several tasks in one agent of the core."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple, cast

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from core.tdmpc2 import agent as updating
from core.tdmpc2 import config
from core.tdmpc2.agent import Agent, TrainState
from core.tdmpc2.losses import Batch
from core.tdmpc2.noise import UpdateNoise
from core.tdmpc2.tasks import Tasks
from core.tdmpc2.world_model import ModelParams, Params, WorldModel
from parity.core_subject.tdmpc2 import stage
from parity.operations import Answer
from parity.operations.tdmpc2.tasks import MULTITASK_WIDTHS


def multitask_widths(tasks: str, size: int) -> Answer:
    """See `tdmpc2.multitask_widths`."""
    narrower = config.MT30_WIDTHS.get(size, {}) if tasks == "mt30" else {}
    chosen = dataclasses.asdict(config.Config.of_size(size))
    # A fault of the defaults is not one of what is set by name.
    found = dataclasses.asdict(stage.config(**chosen)) | dict(narrower)
    return {
        output.name: np.asarray(found[output.name], np.int64) for output in MULTITASK_WIDTHS.outputs
    }


@dataclasses.dataclass(frozen=True)
class _Watched(WorldModel):
    """Networks that note the vector of the task whose observation is encoded."""

    read: list[Array] = dataclasses.field(default_factory=list)

    def encode(self, params: ModelParams, observation: Array) -> Array:
        """See `WorldModel`."""
        assert self.task is not None
        self.read.append(self.task.vector)
        return super().encode(params, observation)


def evaluated_task(table: np.ndarray, task: int) -> Answer:
    """See `tdmpc2.evaluated_task`."""
    count, width = table.shape
    names = tuple(map(str, range(count)))
    tasks = Tasks(names, (4,) * count, (2,) * count, (500,) * count)
    small = stage.config(
        **{"enc_dim": 8, "mlp_dim": 8, "latent_dim": 8, "simnorm_dim": 8, "num_samples": 8},
        **{"num_elites": 4, "num_pi_trajs": 2, "iterations": 2, "task_dim": width},
    )
    agent = Agent.of_tasks(small, tasks)
    watched = _Watched(small, 4, 2, tasks)
    agent.__dict__["model"] = watched
    params = agent.init(jax.random.key(0)).params
    # Of numpy: an array that somebody could write to, as those of the reference.
    params = params._replace(model=params.model._replace(tasks=table.copy()))
    noise = jax.tree.map(lambda x: x[0], agent.acting_noise(jax.random.key(1), 1, explore=False))
    previous = agent.initial_carry(1)[0]
    agent.plan(params, jnp.zeros(4), previous, True, noise, jnp.asarray(task))
    return stage.answers({"read": watched.read[0], "table": params.model.tasks})


class _Loss(NamedTuple):
    """What an update reads of a loss."""

    total: Array
    latents: Array
    scale: Array


class _Losses:
    """Losses that are linear in the vectors of the tasks: their gradients are given."""

    ModelLosses = PolicyLoss = _Loss

    def __init__(self, of_model: Array, of_policy: Array):
        self._of_model, self._of_policy = of_model, of_policy

    def targets(self, *arguments: Any) -> tuple[()]:
        """None are needed."""
        return ()

    def model_losses(self, model: WorldModel, *rest: Any) -> _Loss:
        """Of which the gradient by the vectors is the given one, and no other is there."""
        return self._linear(model, self._of_model)

    def policy_loss(self, model: WorldModel, *rest: Any) -> _Loss:
        """Likewise."""
        return self._linear(model, self._of_policy)

    def _linear(self, model: WorldModel, gradient: Array) -> _Loss:
        assert model.task is not None
        return _Loss(jnp.sum(gradient * model.task.vector), jnp.zeros(()), jnp.ones(()))


def _moved(agent: Agent, table: Array, of_model: Array, of_policy: Array) -> dict[str, Array]:
    network = {"x": jnp.zeros(1)}
    model = ModelParams(network, network, network, network, table)
    state = TrainState(
        params=Params(model, network),
        target_q=network,
        model_optimizer=agent.optimizers.model.init(cast(Any, model)),
        policy_optimizer=agent.optimizers.policy.init(network),
        scale=jnp.ones(()),
        policy_gradient_norm=jnp.zeros(()),
        updates=jnp.zeros((), jnp.int32),
        task_gradient=jnp.zeros_like(table) if agent.config.policy_trains_tasks else None,
    )
    nothing: Any = None
    batch = Batch(*[nothing] * 4, task=jnp.arange(len(table)))
    noise = UpdateNoise(*[nothing] * 7)

    def step(state: TrainState, given: tuple[Array, Array]) -> tuple[TrainState, dict[str, Array]]:
        sound = updating.losses
        updating.losses = _Losses(*given)  # type: ignore[assignment]
        try:
            state, found = agent.traced_update(state, batch, noise)
        finally:
            updating.losses = sound
        after = state.params.model.tasks
        assert after is not None
        return state, {"table": after, "norm": found.clipped.norm}

    return jax.lax.scan(step, state, (of_model, of_policy))[1]


def task_vectors(
    table: np.ndarray,
    model_gradients: np.ndarray,
    policy_gradients: np.ndarray,
    learning_rate: float,
    limit: float,
    era: str,
) -> Answer:
    """See `tdmpc2.task_vectors`."""
    count, width = table.shape
    names = tuple(map(str, range(count)))
    tasks = Tasks(names, (4,) * count, (2,) * count, (500,) * count)
    settings = {
        **config.ERAS[{"paper": "5f6fade", "head": "e9f5932"}[era]],
        **{"learning_rate": learning_rate, "grad_clip_norm": limit, "task_dim": width},
    }
    agent = Agent.of_tasks(stage.config(**settings), tasks)
    return stage.answers(stage.compiled(_moved, agent)(table, model_gradients, policy_gradients))


TABLE = {
    "tdmpc2.task_vectors": task_vectors,
    "tdmpc2.multitask_widths": multitask_widths,
    "tdmpc2.evaluated_task": evaluated_task,
}
