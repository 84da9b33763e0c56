"""The control suite of mujoco_playground, and the wrappers that it is trained with.

Runs inside a side environment with nothing but the packages.
"""

import os
import tempfile

os.environ["MUJOCO_GL"] = "disable"  # nothing is drawn; before the packages look at it
# MuJoCo writes its warnings into the folder that it stands in.
_ELSEWHERE = tempfile.TemporaryDirectory()
os.chdir(_ELSEWHERE.name)

import functools
import inspect

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
from brax.envs import base
from brax.envs.wrappers.training import EpisodeWrapper
from mujoco import mjx
from mujoco_playground import dm_control_suite, wrapper
from mujoco_playground._src import mjx_env

_EULERDAMP = int(mujoco.mjtDisableBit.mjDSBL_EULERDAMP)


@functools.cache
def _load(task):
    return dm_control_suite.load(task, config_overrides={"impl": "jax"})


@functools.cache
def _step(task):
    return jax.jit(_load(task).step)


def trajectory(task, qpos, qvel, actions, timestep, integrator, iterations, line_search, eulerdamp):
    """See `environments.trajectory`: with the task's own options alone."""
    if timestep or iterations or line_search or max(integrator, eulerdamp) >= 0:
        raise ValueError("a task is simulated with the task's own options")
    if not len(qpos):
        qpos, qvel = _load(task).mj_model.qpos0, np.zeros(_load(task).mj_model.nv)
    state = _load(task).reset(jax.random.PRNGKey(0))
    data = state.data.replace(qpos=jnp.asarray(qpos, jnp.float32), qvel=jnp.float32(qvel))
    state, seen = state.replace(data=data), []
    for action in actions:
        state = _step(task)(state, jnp.asarray(action, jnp.float32))
        seen.append((state.data.qpos, state.data.qvel, state.obs))
    parts = (np.asarray(part, np.float64) for part in map(jnp.stack, zip(*seen, strict=True)))
    return dict(zip(("qpos", "qvel", "observation"), parts, strict=True))


def reset_observations(task, seed):
    """See `environments.reset_observations`."""
    env = _load(task)
    state = jax.jit(env.reset)(jax.random.PRNGKey(seed))
    data = mjx.get_data(env.mj_model, state.data)
    computed = _observed(env, data, state.info)
    return {"shown": np.asarray(state.obs, np.float64), "computed": computed}


def _observed(env, data, info):
    """What the environment shows of a state, once all that follows from it is computed."""
    mujoco.mj_forward(env.mj_model, data)
    put = mjx.put_data(env.mj_model, data, impl="jax")
    return np.asarray(env._get_obs(put, info), np.float64)


def observation(task, qpos):
    """See `environments.observation`."""
    env = _load(task)
    data = mujoco.MjData(env.mj_model)
    data.qpos[:] = qpos
    return {"observation": _observed(env, data, {})}


def offered(task):
    """See `environments.offered`."""
    return {"offered": np.asarray(task in dm_control_suite.ALL_ENVS, bool)}


def physics_options(task):
    """See `environments.physics_options`."""
    env = _load(task)
    option = env.mj_model.opt
    return {
        "timestep": np.asarray(env.sim_dt, np.float64),
        "control_timestep": np.asarray(env.dt, np.float64),
        "integrator": np.asarray(option.integrator, np.int64),
        "iterations": np.asarray(option.iterations, np.int64),
        "line_search": np.asarray(option.ls_iterations, np.int64),
        "eulerdamp": np.asarray(not option.disableflags & _EULERDAMP, bool),
    }


class _Scripted(base.Env):
    """A brax environment whose every reward, and whose end, is written down."""

    observation_size = action_size = 1
    backend = "none"

    def __init__(self, rewards, ends):
        self._rewards, self._ends = jnp.asarray(rewards), ends

    def reset(self, rng):
        del rng
        zero = jnp.zeros(())
        return base.State(jnp.int32(0), zero[None], zero, zero, {}, {})

    def step(self, state, action):
        del action
        step = state.pipeline_state + 1
        done = (step == self._ends).astype(jnp.float32)
        return state.replace(pipeline_state=step, reward=self._rewards[step - 1], done=done)


def action_repeat(actions, repeat, ends, limit, rewards):
    """See `environments.action_repeat`: brax's wrapper, which mujoco_playground trains with."""
    env = EpisodeWrapper(_Scripted(rewards, ends), limit, repeat)
    state, seen = env.reset(jax.random.PRNGKey(0)), []
    for _ in range(actions):
        state = env.step(state, jnp.zeros(1))
        over, cut = bool(state.done), bool(state.info["truncation"])
        seen.append((float(state.reward), int(state.pipeline_state), over, over and not cut))
    reward, steps, ended, terminated = zip(*seen, strict=True)
    return {
        "reward": np.asarray(reward, np.float32),
        "steps": np.asarray(steps, np.int64),
        "ended": np.asarray(ended, bool),
        "terminated": np.asarray(terminated, bool),
    }


class _Drawing(mjx_env.MjxEnv):
    """An environment that draws a number at a reset, and shows it."""

    def __init__(self):
        pass

    xml_path, action_size, mj_model, mjx_model = "", 1, None, None

    def reset(self, rng):
        start = jax.random.randint(rng, (1,), 0, 1 << 24).astype(jnp.float32)
        zero = jnp.zeros(())
        return mjx_env.State(start, start, zero, zero, {}, {})

    def step(self, state, action):
        del action
        return state.replace(done=jnp.zeros_like(state.done))


def episode_starts(episodes, length, full_reset):
    """See `environments.episode_starts`: the wrappers of `wrap_for_brax_training`."""
    env = wrapper.wrap_for_brax_training(
        _Drawing(), episode_length=length, action_repeat=1, full_reset=full_reset
    )
    state = env.reset(jax.random.PRNGKey(0)[None])
    starts, cut = [int(state.obs[0, 0])], []
    for _ in range(episodes):
        for _ in range(length):
            state = env.step(state, jnp.zeros((1, 1)))
        if not bool(state.done[0]):
            raise RuntimeError("the episode goes on")
        starts.append(int(state.obs[0, 0]))
        cut.append(bool(state.info["truncation"][0]))
    return {"start": np.asarray(starts[:-1], np.int64), "truncated": np.asarray(cut, bool)}


def reset_options():
    """See `environments.reset_options`."""
    known = inspect.signature(wrapper.wrap_for_brax_training).parameters
    config = dm_control_suite.get_default_config("CartpoleBalance")
    return {
        "full_reset": np.asarray("full_reset" in known, bool),
        "fresh_reset": np.asarray("fresh_reset" in known or "fresh_reset" in config, bool),
    }


OPERATIONS = {
    "environments.physics_options": physics_options,
    "environments.trajectory": trajectory,
    "environments.reset_observations": reset_observations,
    "environments.observation": observation,
    "environments.offered": offered,
    "environments.action_repeat": action_repeat,
    "environments.episode_starts": episode_starts,
    "environments.reset_options": reset_options,
}
