"""In which order a run of danijar/dreamerv3 does what, paper era.

Runs inside the side environment. Loop, driver, replay, prefetcher and `JAXAgent` are the
reference's own, made and configured by its own `main`. In the place of the networks stands
an agent with one parameter, which counts updates; in the place of the environments, one that
shows where its rows stand.
"""

import tempfile
import threading
import time

import embodied
import jax.numpy as jnp
import numpy as np
from dreamerv3 import agent as stock
from dreamerv3 import main
from dreamerv3 import ninjax as nj
from dreamerv3.jaxagent import JAXAgent

from reference_harness.dreamerv3.agent import precision
from reference_harness.dreamerv3.runs import _arguments, _Logger

_PATIENCE = 0.5  # seconds without a draw, after which the prefetcher counts as waiting
_GIVE_UP = 30.0


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


class _Told:
    """Notes what happens, and makes each step wait until nothing more happens by itself.

    Attributes:
        rows: Rows that have been added.
        updates: Updates that have run.
        draws: Of every batch: rows and updates before it, and where its sequences begin.
    """

    def __init__(self):
        self.rows = self.updates = self.taken = 0
        self.acted_with, self.updates_before = [], []
        self.trained_rows, self.written, self.measured = [], [], []
        self.draws = []
        self._open = threading.Event()

    def drawing(self, generator):
        """A source of batches like `generator`'s, told of each."""

        def source():
            batches = generator()
            self._open.wait()
            while True:
                batch = next(batches)
                self.draws.append((self.rows, self.updates, place(batch)))
                yield batch

        return source

    def settle(self, items):
        """Waits until the prefetcher has drawn all that it can."""
        if not items:
            return
        self._open.set()
        started = moved = time.perf_counter()
        seen = len(self.draws)
        while time.perf_counter() - moved < _PATIENCE:
            if len(self.draws) == self.taken + 2:
                return  # one waits in the queue, one in the thread's hands
            if time.perf_counter() - started > _GIVE_UP:
                raise RuntimeError("the prefetcher does not come to rest")
            time.sleep(0.0005)
            if len(self.draws) != seen:
                seen, moved = len(self.draws), time.perf_counter()


def place(batch):
    """Environment, tick of the context, and origin of the sequences of a batch."""
    first = np.asarray(batch["place"])[:, 0]
    return first[:, 1], first[:, 0], np.asarray(batch["is_online"])[:, 0]


class _Agent(JAXAgent):
    """The stock agent around a counter, told of what it does."""

    def __init__(self, told, config):
        env = Placed(0)
        super().__init__(_Counter, env.obs_space, env.act_space, config)
        self._told, self._streams = told, 0

    def dataset(self, generator):
        self._streams += 1
        if self._streams > 1:  # of the reports, which are looked at elsewhere
            return generator()
        return super().dataset(self._told.drawing(generator))

    def policy(self, obs, carry, mode="train"):
        acts, outs, carry = super().policy(obs, carry, mode)
        self._told.acted_with.append(int(outs["latent"][0]))
        self._told.updates_before.append(self._told.updates)
        return acts, outs, carry

    def train(self, data, carry):
        told = self._told
        told.taken += 1
        told.settle(True)
        told.trained_rows.append(told.rows)
        outs, carry, metrics = super().train(data, carry)
        latent = outs["replay"]["latent"][0, 0] if "replay" in outs else -1
        told.written.append(int(latent))
        told.measured.append(int(metrics.get("update", -1)))
        told.updates += 1
        return outs, carry, metrics


def run_events(seed, envs, batch, length, train_ratio, ticks):
    """See `dreamerv3.run_events`."""
    told = _Told()
    with tempfile.TemporaryDirectory() as folder, precision("float32"):
        config = configured(seed, folder, envs, batch, length, train_ratio)
        agent = _Agent(told, config)
        replay = main.make_replay(config)
        add = replay.add

        def adding(row, worker):
            told.rows += 1
            add(row, worker)
            told.settle(len(replay))

        replay.add = adding
        embodied.run.train(
            lambda: agent,
            lambda: replay,
            Placed,
            _Logger,
            _arguments(folder, envs, batch, length, train_ratio, ticks * envs),
        )
    rows = np.asarray(told.trained_rows, np.int64)
    ran = int((rows <= ticks * envs).sum())  # the loop may end a few ticks later
    drawn_rows, drawn_after, places = zip(*told.draws[:ran], strict=True)
    environment, start, online = (np.stack(part) for part in zip(*places, strict=True))
    return {
        "acted_with": np.asarray(told.acted_with[:ticks], np.int64),
        "updates": np.asarray(told.updates_before[:ticks], np.int64),
        "rows": rows[:ran],
        "drawn_rows": np.asarray(drawn_rows, np.int64),
        "drawn_after": np.asarray(drawn_after, np.int64),
        "environment": environment.astype(np.int64),
        "start": start.astype(np.int64),
        "online": online,
        "written": np.asarray(told.written[:ran], np.int64),
        "measured": np.asarray(told.measured[:ran], np.int64),
    }


OPERATIONS = {"dreamerv3.run_events": run_events}
