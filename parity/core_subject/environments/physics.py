"""The control suite as the core simulates it: mujoco_playground's, where that is installed."""

from __future__ import annotations

from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from core.environments.environment import EnvironmentSetupError
from core.environments.playground_adapter import PlaygroundEnvironment
from parity.implementations import CannotMeasureError
from parity.operations import Answer


@cache
def _environment(task: str) -> PlaygroundEnvironment:
    try:
        return PlaygroundEnvironment(task)
    except EnvironmentSetupError as error:
        raise CannotMeasureError(str(error)) from None


@cache
def _step(task: str) -> Any:
    return jax.jit(_environment(task).step)


def trajectory(
    task, qpos, qvel, actions, timestep, integrator, iterations, line_search, eulerdamp
) -> Answer:
    """See `environments.trajectory`: with the task's own options alone."""
    if timestep or iterations or line_search or max(integrator, eulerdamp) >= 0:
        raise ValueError("the core simulates a task with the task's own options")
    environment, key = _environment(task), jax.random.key(0)
    state, _ = environment.reset(key)
    dtype = state.data.qpos.dtype
    data = state.data.replace(qpos=jnp.asarray(qpos, dtype), qvel=jnp.asarray(qvel, dtype))
    state, seen = state.replace(data=data), []
    for action in actions:
        state, observation, *_ = _step(task)(key, state, jnp.asarray(action, jnp.float32))
        seen.append((state.data.qpos, state.data.qvel, observation))
    parts = (np.asarray(part, np.float64) for part in map(jnp.stack, zip(*seen, strict=True)))
    return dict(zip(("qpos", "qvel", "observation"), parts, strict=True))


TABLE = {"environments.trajectory": trajectory}
