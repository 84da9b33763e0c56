"""The control suite of dm_control, on MuJoCo in C.

Runs inside a side environment with nothing but the packages.
"""

import os
import tempfile

os.environ["MUJOCO_GL"] = "disable"  # nothing is drawn; before the packages look at it
# MuJoCo writes its warnings into the folder that it stands in.
_ELSEWHERE = tempfile.TemporaryDirectory()
os.chdir(_ELSEWHERE.name)

import mujoco
import numpy as np
from dm_control import suite
from dm_control.rl import control

from reference_harness.suite.tasks import DM_CONTROL


def _load(task, seed=0):
    domain, name = DM_CONTROL.get(task, task).split("/")
    return suite.load(domain, name, task_kwargs={"random": seed})


def physics_options(task):
    """See `environments.physics_options`."""
    env = _load(task)
    option = env.physics.model.opt
    return {
        "timestep": np.asarray(option.timestep, np.float64),
        "control_timestep": np.asarray(env.control_timestep(), np.float64),
        "integrator": np.asarray(option.integrator, np.int64),
        "iterations": np.asarray(option.iterations, np.int64),
        "line_search": np.asarray(option.ls_iterations, np.int64),
        "eulerdamp": np.asarray(not option.disableflags & _EULERDAMP, bool),
    }


_EULERDAMP = int(mujoco.mjtDisableBit.mjDSBL_EULERDAMP)


def suite_starts(task, seed, episodes):
    """See `environments.suite_starts`."""
    env = _load(task, seed)
    starts = []
    for _ in range(episodes):
        env.reset()
        starts.append(env.physics.data.qpos.copy())
    return {"qpos": np.stack(starts)}


def suite_ends(task, seed):
    """See `environments.suite_ends`."""
    env = _load(task, seed)
    stock = type(env.task).get_termination is control.Task.get_termination
    rng, spec = np.random.default_rng(seed), env.action_spec()
    step, length, discount = env.reset(), 0, np.nan
    if np.isfinite(env._step_limit):
        while not step.last():
            step = env.step(rng.uniform(spec.minimum, spec.maximum))
            length += 1
        discount = step.discount
    return {
        "can_terminate": np.asarray(not stock, bool),
        "length": np.asarray(length, np.int64),
        "discount": np.asarray(discount, np.float64),
    }


def trajectory(task, qpos, qvel, actions, timestep, integrator, iterations, line_search, eulerdamp):
    """See `environments.trajectory`."""
    env = _load(task)
    env.reset()
    physics, period = env.physics, env.control_timestep()
    option = physics.model.opt
    if timestep:
        option.timestep = timestep
    if integrator >= 0:
        option.integrator = integrator
    if iterations:
        option.iterations = iterations
    if line_search:
        option.ls_iterations = line_search
    if eulerdamp >= 0:
        option.disableflags = option.disableflags & ~_EULERDAMP | (0 if eulerdamp else _EULERDAMP)
    substeps = round(period / option.timestep)
    with physics.reset_context():
        if len(qpos):
            physics.data.qpos[:] = qpos
            physics.data.qvel[:] = qvel
    shown = _flat(env.task.get_observation(physics))
    sizes = {"qpos": physics.model.nq, "qvel": physics.model.nv, "observation": len(shown)}
    seen = {name: np.full((len(actions), size), np.nan) for name, size in sizes.items()}
    for i, action in enumerate(actions):
        env.task.before_step(action, physics)
        try:
            physics.step(substeps)
        except control.PhysicsError:  # with these options it diverges
            break
        seen["qpos"][i], seen["qvel"][i] = physics.data.qpos, physics.data.qvel
        seen["observation"][i] = _flat(env.task.get_observation(physics))
    return seen


def reset_observations(task, seed):
    """See `environments.reset_observations`."""
    env = _load(task, seed)
    shown = _flat(env.reset().observation)
    env.physics.forward()
    return {"shown": shown, "computed": _flat(env.task.get_observation(env.physics))}


def observation(task, qpos):
    """See `environments.observation`."""
    env = _load(task)
    env.reset()
    with env.physics.reset_context():
        env.physics.data.qpos[:] = qpos
        env.physics.data.qvel[:] = 0
    return {"observation": _flat(env.task.get_observation(env.physics))}


def _flat(observation):
    return np.concatenate([np.ravel(part) for part in observation.values()]).astype(np.float64)


def offered(task):
    """See `environments.offered`."""
    known = {f"{domain}/{name}" for domain, name in suite.ALL_TASKS}
    return {"offered": np.asarray(DM_CONTROL.get(task, task) in known, bool)}


OPERATIONS = {
    "environments.reset_observations": reset_observations,
    "environments.observation": observation,
    "environments.offered": offered,
    "environments.physics_options": physics_options,
    "environments.suite_starts": suite_starts,
    "environments.suite_ends": suite_ends,
    "environments.trajectory": trajectory,
}
