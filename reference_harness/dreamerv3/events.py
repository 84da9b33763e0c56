"""In which order a run of danijar/dreamerv3 does what, paper era.

Runs inside the side environment. Loop, driver, replay, prefetcher and `JAXAgent` are the
reference's own, made and configured by its own `main`. In the place of the networks stands
an agent with one parameter, which counts updates; in the place of the environments, one that
shows where its rows stand.
"""

import embodied
import jax.numpy as jnp
import numpy as np
from dreamerv3 import agent as stock
from dreamerv3 import main
from dreamerv3 import ninjax as nj
from dreamerv3.jaxagent import JAXAgent

from reference_harness.dreamerv3.agent import precision
from reference_harness.dreamerv3.runs import _arguments, _Logger
from reference_harness.loop_order import LoopOrder
from reference_harness.scratch import scratch

_AHEAD = 2  # one batch waits in the queue, one in the prefetcher's hands


class Placed(embodied.Env):
    """An environment that shows the number of its row and its own, in episodes of 7 steps."""

    def __init__(self, index, stepped=lambda: None):
        self._place, self._step, self._stepped = [-1, index], 0, stepped

    @property
    def obs_space(self):
        """What it shows."""
        flags = dict.fromkeys(("is_first", "is_last", "is_terminal"), embodied.Space(bool))
        spaces = {"place": embodied.Space(np.int32, (2,)), "reward": embodied.Space(np.float32)}
        return {**spaces, **flags}

    @property
    def act_space(self):
        """What it takes."""
        return {"action": embodied.Space(np.int32, (), 0, 2), "reset": embodied.Space(bool)}

    def step(self, action):
        """The next row."""
        self._stepped()
        self._place[0] += 1
        self._step = 0 if action["reset"] else self._step + 1
        over = self._step == 7
        flags = {"is_first": self._step == 0, "is_last": over, "is_terminal": over}
        return {"place": np.array(self._place, np.int32), "reward": np.float32(0), **flags}


class _Counter(nj.Module):
    """What `JAXAgent` asks of an agent, with the number of updates for its one parameter."""

    policy_keys = "/updates/"

    def __init__(self, obs_space, act_space, config):
        self._count = nj.Variable(jnp.zeros, (), jnp.int32, name="updates")

    @property
    def aux_spaces(self):
        return {"stepid": embodied.Space(np.uint8, 20), "latent": embodied.Space(np.int32)}

    def init_policy(self, batch_size):
        return jnp.zeros(batch_size)

    init_train = init_report = init_policy

    def policy(self, obs, carry, mode):
        known = jnp.zeros(len(obs["is_first"]), jnp.int32)
        return {"action": known}, {"latent": known + self._count.read()}, carry

    def train(self, data, carry):
        count = self._count.read()
        self._count.write(count + 1)
        stepid = data["stepid"][:, 1:]
        latent = jnp.full(stepid.shape[:2], count)
        return {"replay": {"stepid": stepid, "latent": latent}}, carry, {"update": count}

    def report(self, data, carry=None):
        return {"of": self._count.read()} if carry is None else ({"of": self._count.read()}, carry)


def configured(seed, folder, envs, batch, length, train_ratio):
    """The stock configuration, but for sizes, a seed, and a CPU to run on."""
    defaults = embodied.Config(stock.Agent.configs["defaults"])
    sizes = {
        "seed": seed,
        "logdir": folder,
        "batch_size": batch,
        "batch_length": length + 1,
        "batch_length_eval": length + 1,
        "replay_length": length + 1,
        "run.num_envs": envs,
        "run.train_ratio": train_ratio,
        "jax.platform": "cpu",
        "jax.compute_dtype": "float32",
        "jax.transfer_guard": False,
        "jax.prealloc": True,
    }
    known = {key: value for key, value in sizes.items() if key in defaults.flat}
    return defaults.update(known)


def place(batch):
    """Environment, tick of the context, and origin of the sequences of a batch."""
    first = np.asarray(batch["place"])[:, 0]
    return first[:, 1], first[:, 0], np.asarray(batch["is_online"])[:, 0]


def _drawing(order, generator):
    """A source of batches like `generator`'s, told of each."""

    def source():
        batches = generator()
        order.wait()
        while True:
            batch = next(batches)
            order.drawn(place(batch))
            yield batch

    return source


class _Agent(JAXAgent):
    """The stock agent around a counter, told of what it does."""

    def __init__(self, order, config):
        env = Placed(0)
        super().__init__(_Counter, env.obs_space, env.act_space, config)
        self._order, self._streams = order, 0

    def dataset(self, generator):
        self._streams += 1
        if self._streams > 1:  # of the reports, which are looked at elsewhere
            return generator()
        return super().dataset(_drawing(self._order, generator))

    def policy(self, obs, carry, mode="train"):
        acts, outs, carry = super().policy(obs, carry, mode)
        self._order.acted(outs)
        return acts, outs, carry

    def train(self, data, carry):
        self._order.taking()
        outs, carry, metrics = super().train(data, carry)
        self._order.trained(outs, metrics)
        return outs, carry, metrics


def run_events(seed, envs, batch, length, train_ratio, ticks):
    """See `dreamerv3.run_events`."""
    order = LoopOrder(_AHEAD)
    with scratch() as folder, precision("float32"):
        config = configured(seed, folder, envs, batch, length, train_ratio)
        agent = _Agent(order, config)
        replay = main.make_replay(config)
        add = replay.add

        def adding(row, worker):
            order.rows += 1
            add(row, worker)
            order.settle(len(replay))

        replay.add = adding
        embodied.run.train(
            lambda: agent,
            lambda: replay,
            Placed,
            _Logger,
            _arguments(folder, envs, batch, length, train_ratio, ticks * envs),
        )
    return order.answer(ticks, envs)


OPERATIONS = {"dreamerv3.run_events": run_events}
