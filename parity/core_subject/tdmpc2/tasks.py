"""Several tasks in one agent of the core."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from core.tdmpc2 import config
from core.tdmpc2.agent import Agent
from core.tdmpc2.tasks import Tasks
from core.tdmpc2.world_model import ModelParams, WorldModel
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


TABLE = {
    "tdmpc2.multitask_widths": multitask_widths,
    "tdmpc2.evaluated_task": evaluated_task,
}
