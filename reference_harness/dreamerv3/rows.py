"""Rows, continue targets and rescaled actions as danijar/dreamerv3 makes them, paper era.

Runs inside the side environment. Rows come out of the reference's own driver and its own
wrappers, played with a scripted environment; targets out of the stock agent's own loss, with
stand-ins for its networks that note what they are asked.
"""

import itertools

import embodied
import jax.numpy as jnp
import numpy as np
from dreamerv3 import main
from dreamerv3 import ninjax as nj

from reference_harness.dreamerv3.agent import SEED, Spaces, build, precision


class _Scripted(embodied.Env):
    """An environment whose every step is written down.

    Args:
        starts: Numbers for its episodes, one after another.
        length: The step on which an episode ends by itself.
        rewards: [S] by step.
        action_size: Length of an action.
    """

    def __init__(self, starts, length, rewards, action_size):
        self._starts, self._length, self._rewards = starts, length, rewards
        self._size = action_size
        self._step = self._start = 0

    @property
    def obs_space(self):
        return {}

    @property
    def act_space(self):
        return {
            "action": embodied.Space(np.float32, (self._size,)),
            "reset": embodied.Space(bool),
        }

    def step(self, action):
        first = bool(action["reset"])
        if first:
            self._start, self._step = next(self._starts), 0
        else:
            self._step += 1
        over = not first and self._step >= self._length
        return {
            "start": np.int64(self._start),
            "step": np.int64(self._step),
            "taken": np.zeros(self._size, np.float32) if first else np.array(action["action"]),
            "reward": np.float32(0) if first else self._rewards[self._step - 1],
            "is_first": first,
            "is_last": over,
            "is_terminal": over,
        }


def rows(lengths, rewards, actions, limit, repeat):
    """See `dreamerv3.rows`: the driver, with the wrappers in the order that `dmc` has them."""
    ticks, count, size = actions.shape
    starts = itertools.count(1)

    def make(n):
        env = _Scripted(starts, int(lengths[n]), rewards[n], size)
        if limit:
            env = embodied.wrappers.TimeLimit(env, limit)
        return embodied.wrappers.ActionRepeat(env, repeat) if repeat > 1 else env

    driver = embodied.Driver([lambda n=n: make(n) for n in range(count)], parallel=False)
    seen = [[] for _ in range(count)]
    driver.on_step(lambda row, worker: seen[worker].append(row))
    ahead = iter(actions)
    driver(lambda obs, carry: ({"action": next(ahead)}, {}, carry), steps=ticks * count)
    dtypes = {"start": np.int64, "step": np.int64, "taken": np.float32, "action": np.float32}
    dtypes |= {"reward": np.float32}
    dtypes |= dict.fromkeys(("is_first", "is_last", "is_terminal"), bool)
    return {
        name: np.stack([[row[name] for row in column] for column in seen], 1).astype(dtype)
        for name, dtype in dtypes.items()
    }


class _EnoughError(Exception):
    """What was to be seen has been seen."""


class _Asked:
    """A distribution that keeps what its probability is asked of."""

    def __init__(self):
        self.values = []

    def log_prob(self, value):
        self.values.append(value)
        return jnp.zeros(value.shape)


def continue_target(is_first, is_last, is_terminal):
    """See `dreamerv3.continue_target`: what the stock loss asks its continue head about."""
    spaces = Spaces(observation_size=1, kind="discrete", actions=2)
    asked = _Asked()

    def stop(*args, **kwargs):
        raise _EnoughError

    with precision("float32"):
        agent = build({}, spaces)
        agent.enc = lambda data: data["vector"]
        agent.dec = lambda outs: {}
        agent.dyn = type("Dynamics", (), {"observe": lambda *args: ({}, {}), "loss": stop})()
        agent.rew = lambda outs, training: _Asked()
        agent.con = lambda outs, training: asked
        flags = {"is_first": is_first, "is_last": is_last, "is_terminal": is_terminal}
        data = {name: jnp.asarray(flag) for name, flag in flags.items()}
        shape = is_first.shape
        data |= {"vector": jnp.zeros((*shape, 1)), "reward": jnp.zeros(shape)}
        data |= {"action": jnp.zeros(shape, jnp.int32)}
        carry = ({}, {"action": jnp.zeros(shape[:1], jnp.int32)})
        try:
            nj.pure(lambda: agent.loss(agent.preprocess(data), carry))({}, seed=SEED)
        except _EnoughError:
            # The label without a discount is asked about first, and its loss is dropped.
            return {"target": np.asarray(asked.values[-1], np.float32)}
    raise RuntimeError("the loss did not reach its Kullback-Leibler terms")


class _Receiving(embodied.Env):
    """An environment that keeps the actions it receives."""

    def __init__(self, low, high):
        self._space = embodied.Space(np.float32, low.shape, low, high)
        self.received = []

    @property
    def obs_space(self):
        return {}

    @property
    def act_space(self):
        return {"action": self._space, "reset": embodied.Space(bool)}

    def step(self, action):
        self.received.append(np.array(action["action"]))
        return {}


def environment_action(action, low, high):
    """See `dreamerv3.environment_action`: through all that the stock `wrap_env` puts around."""
    config = embodied.Config(wrapper={"length": 0, "reset": True, "discretize": 0, "checks": True})
    inner = _Receiving(low, high)
    env = main.wrap_env(inner, config)
    for one in action:
        env.step({"action": one, "reset": np.bool_(False)})
    return {"received": np.asarray(inner.received, np.float32)}


OPERATIONS = {
    "dreamerv3.rows": rows,
    "dreamerv3.continue_target": continue_target,
    "dreamerv3.environment_action": environment_action,
}
