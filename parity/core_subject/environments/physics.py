"""The control suite as the core simulates it: mujoco_playground's, where that is installed."""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from core.environments import environment_names
from core.environments.environment import EnvironmentSetupError
from core.environments.playground_adapter import PlaygroundEnvironment
from parity.implementations import NotHereError
from parity.operations import Answer


@cache
def _environment(task: str) -> PlaygroundEnvironment:
    try:
        return PlaygroundEnvironment(task)
    except EnvironmentSetupError as error:
        raise NotHereError(str(error)) from None


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
    if not len(qpos):
        model = environment._environment.mj_model
        qpos, qvel = model.qpos0, np.zeros(model.nv)
    state, _ = environment.reset(key)
    dtype = state.data.qpos.dtype
    data = state.data.replace(qpos=jnp.asarray(qpos, dtype), qvel=jnp.asarray(qvel, dtype))
    state, seen = state.replace(data=data), []
    for action in actions:
        state, observation, *_ = _step(task)(key, state, jnp.asarray(action, jnp.float32))
        seen.append((state.data.qpos, state.data.qvel, observation))
    parts = (np.asarray(part, np.float64) for part in map(jnp.stack, zip(*seen, strict=True)))
    return dict(zip(("qpos", "qvel", "observation"), parts, strict=True))


def physics_options(task) -> Answer:
    """See `environments.physics_options`."""
    environment = _environment(task)._environment
    option = environment.mj_model.opt
    # Not imported above: it comes with mujoco_playground, which may not be installed.
    flags = importlib.import_module("mujoco").mjtDisableBit
    disabled = option.disableflags & int(flags.mjDSBL_EULERDAMP)
    return {
        "timestep": np.asarray(environment.sim_dt, np.float64),
        "control_timestep": np.asarray(environment.dt, np.float64),
        "integrator": np.asarray(option.integrator, np.int64),
        "iterations": np.asarray(option.iterations, np.int64),
        "line_search": np.asarray(option.ls_iterations, np.int64),
        "eulerdamp": np.asarray(not disabled, bool),
    }


def offered(task) -> Answer:
    """See `environments.offered`."""
    return {"offered": np.asarray(task in environment_names(), bool)}


TABLE = {
    "environments.trajectory": trajectory,
    "environments.physics_options": physics_options,
    "environments.offered": offered,
}
