"""In which order a run of danijar/dreamerv3 does what, at its head.

Runs inside the side environment. Loop, driver, replay, streams, prefetcher and the agent's
outer class are the reference's own, made and configured by its own `main`. In the place of
the networks stands a model with one parameter, which counts updates; in the place of the
environments, one that shows where its rows stand.
"""

import pathlib
import sys
import tempfile
import threading
import time
import types

import elements
import embodied
import embodied.jax
import jax.numpy as jnp
import ninjax as nj
import numpy as np
import ruamel.yaml
from dreamerv3 import main

_PATIENCE = 0.5  # seconds without a draw, after which the prefetcher counts as waiting
_GIVE_UP = 30.0
_NEVER = 0  # the period of a clock that never strikes


class _Placed(embodied.Env):
    """An environment that shows the number of its row and its own, in episodes of 7 steps."""

    def __init__(self, index, stepped=lambda: None):
        self._place, self._step, self._stepped = [-1, index], 0, stepped

    @property
    def obs_space(self):
        flags = dict.fromkeys(("is_first", "is_last", "is_terminal"), elements.Space(bool))
        spaces = {"place": elements.Space(np.int32, (2,)), "reward": elements.Space(np.float32)}
        return {**spaces, **flags}

    @property
    def act_space(self):
        return {"action": elements.Space(np.int32, (), 0, 2), "reset": elements.Space(bool)}

    def step(self, action):
        self._stepped()
        self._place[0] += 1
        self._step = 0 if action["reset"] else self._step + 1
        over = self._step == 7
        flags = {"is_first": self._step == 0, "is_last": over, "is_terminal": over}
        return {"place": np.array(self._place, np.int32), "reward": np.float32(0), **flags}

    def close(self):
        pass


class _Counter(embodied.jax.Agent):
    """A model with the number of updates for its one parameter."""

    policy_keys = "updates"

    def __init__(self, obs_space, act_space, config):
        self._count = nj.Variable(jnp.zeros, (), jnp.int32, name="updates")

    @property
    def ext_space(self):
        step = {"stepid": elements.Space(np.uint8, 20), "latent": elements.Space(np.int32)}
        return {"consec": elements.Space(np.int32), **step}

    def init_policy(self, batch_size):
        return jnp.zeros(batch_size)

    init_train = init_report = init_policy

    def policy(self, carry, obs, mode="train"):
        known = jnp.zeros(len(obs["is_first"]), jnp.int32)
        return carry, {"action": known}, {"latent": known + self._count.read()}

    def train(self, carry, data):
        count = self._count.read()
        self._count.write(count + 1)
        stepid = data["stepid"][:, 1:]
        latent = jnp.full(stepid.shape[:2], count)
        return carry, {"replay": {"stepid": stepid, "latent": latent}}, {"update": count}

    def report(self, carry, data):
        return carry, {"of": self._count.read()}


class _Logger:
    """A logger that keeps nothing but the count of steps."""

    def __init__(self):
        self.step = elements.Counter()

    def add(self, *args, **kwargs):
        pass

    def write(self, *args):
        pass

    def close(self):
        pass


def _configured(seed, folder, envs, batch, length, train_ratio, ticks):
    """The stock configuration, but for sizes, a seed, and a CPU to run on."""
    path = pathlib.Path(main.__file__).parent / "configs.yaml"
    stock = ruamel.yaml.YAML(typ="safe").load(path.read_text())["defaults"]
    return elements.Config(stock).update(
        {
            "seed": seed,
            "logdir": folder,
            "batch_size": batch,
            "batch_length": length,
            "report_length": length,
            "run.envs": envs,
            "run.train_ratio": train_ratio,
            "run.steps": ticks * envs,
            "run.log_every": _NEVER,
            "run.save_every": _NEVER,
            "run.debug": True,
            "jax.platform": "cpu",
            "jax.compute_dtype": "float32",
            "jax.prealloc": False,
        }
    )


def _arguments(config, report_every):
    """What the stock loop is configured with, as `main` puts it together."""
    names = "batch_size batch_length report_length consec_train consec_report replay_context"
    top = {name: config[name] for name in (*names.split(), "replica", "replicas", "logdir")}
    run = {**config.run, "report_every": report_every, "usage": {}}
    return types.SimpleNamespace(**run, **top)


def _noting(replay):
    """Has the replay tell whether a sequence was from the queue; returns where it tells."""
    told, sample = [], replay._sample

    def sampling(mode):
        found = sample(mode)
        told.append((mode, found[1]))
        return found

    replay._sample = sampling
    return told


class _Told:
    """Notes what happens, and makes each step wait until nothing more happens by itself."""

    def __init__(self):
        self.rows = self.updates = self.taken = 0
        self.acted_with, self.updates_before = [], []
        self.trained_rows, self.written, self.measured = [], [], []
        self.draws = []
        self._open = threading.Event()

    def drawing(self, stream, flags):
        """The batches of a stream, told of each."""
        batches = iter(stream)
        self._open.wait()
        while True:
            flags.clear()
            batch = next(batches)
            first = np.asarray(batch["place"])[:, 0]
            online = np.asarray([flag for _, flag in flags], bool)
            place = first[:, 1], first[:, 0], online
            self.draws.append((self.rows, self.updates, place))
            yield batch

    def settle(self, items):
        """Waits until the prefetcher has drawn all that it can."""
        if not items:
            return
        self._open.set()
        started = moved = time.perf_counter()
        seen = len(self.draws)
        while time.perf_counter() - moved < _PATIENCE:
            if len(self.draws) == self.taken + 1:
                return  # one waits in the queue
            if time.perf_counter() - started > _GIVE_UP:
                raise RuntimeError("the prefetcher does not come to rest")
            time.sleep(0.0005)
            if len(self.draws) != seen:
                seen, moved = len(self.draws), time.perf_counter()


def _telling(agent, told, flags):
    """The agent, whose methods tell what they do."""
    policy, train, stream = agent.policy, agent.train, agent.stream

    def acting(*args, **kwargs):
        carry, acts, outs = policy(*args, **kwargs)
        told.acted_with.append(int(outs["latent"][0]))
        told.updates_before.append(told.updates)
        return carry, acts, outs

    def training(carry, data):
        told.taken += 1
        told.settle(True)
        told.trained_rows.append(told.rows)
        carry, outs, metrics = train(carry, data)
        latent = outs["replay"]["latent"][0, 0] if "replay" in outs else -1
        told.written.append(int(latent))
        told.measured.append(int(metrics.get("update", -1)))
        told.updates += 1
        return carry, outs, metrics

    streams = []

    def streaming(source):
        streams.append(source)
        if len(streams) > 1:  # of the reports, which are looked at elsewhere
            return source
        return stream(told.drawing(source, flags))

    agent.policy, agent.train, agent.stream = acting, training, streaming
    return agent


def _agent(config):
    env = _Placed(0)
    actions = {name: space for name, space in env.act_space.items() if name != "reset"}
    settings = elements.Config(
        seed=config.seed,
        jax=config.jax,
        batch_size=config.batch_size,
        batch_length=config.batch_length,
        replay_context=config.replay_context,
        report_length=config.report_length,
        logdir=config.logdir,
        replica=config.replica,
        replicas=config.replicas,
    )
    return _Counter(env.obs_space, actions, settings)


def run_events(seed, envs, batch, length, train_ratio, ticks):
    """See `dreamerv3.run_events`."""
    told = _Told()
    with tempfile.TemporaryDirectory() as folder:
        config = _configured(seed, folder, envs, batch, length, train_ratio, ticks)
        replay = main.make_replay(config, "replay")
        flags = _noting(replay)
        agent = _telling(_agent(config), told, flags)
        add = replay.add

        def adding(row, worker):
            told.rows += 1
            add(row, worker)
            told.settle(len(replay))

        replay.add = adding
        embodied.run.train(
            lambda: agent,
            lambda: replay,
            _Placed,
            lambda made, mode: main.make_stream(config, made, mode),
            _Logger,
            _arguments(config, _NEVER),
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


class _Reporting:
    """An agent that does nothing, for a loop whose clock is moved by hand."""

    def __init__(self, seconds, flags):
        self.now, self._seconds, self._flags = -seconds, seconds, flags
        self.reports, self.trained_new = [], 0

    def tick(self):
        self.now += self._seconds

    def init_train(self, batch_size):
        return ()

    init_report = init_policy = init_train

    def stream(self, source):
        return source

    def policy(self, carry, obs, mode="train"):
        known = np.zeros(len(obs["is_first"]), np.int32)
        return carry, {"action": known}, {}

    def train(self, carry, data):
        self.trained_new += self._drawn()
        return carry, {}, {}

    def report(self, carry, data):
        self.reports.append((self.now, self._drawn()))
        return carry, {}

    def _drawn(self):
        """New sequences in the batch that was just drawn."""
        count = sum(flag for _, flag in self._flags)
        self._flags.clear()
        return count

    def save(self):
        return {}

    def load(self, data):
        raise RuntimeError("there is nothing to resume")


def report_stream(envs, batch, length, train_ratio, ticks, seconds):
    """See `dreamerv3.report_stream`: with the stock period and the stock clock."""
    clock = sys.modules[embodied.LocalClock.__module__]
    with tempfile.TemporaryDirectory() as folder:
        config = _configured(0, folder, envs, batch, length, train_ratio, ticks)
        replay = main.make_replay(config, "replay")
        flags = _noting(replay)
        agent = _Reporting(seconds, flags)

        def make_env(index):
            return _Placed(index, (lambda: None) if index else agent.tick)

        stock, clock.time = clock.time, types.SimpleNamespace(time=lambda: 1e9 + agent.now)
        try:
            embodied.run.train(
                lambda: agent,
                lambda: replay,
                make_env,
                lambda made, mode: main.make_stream(config, made, mode),
                _Logger,
                _arguments(config, config.run.report_every),
            )
        finally:
            clock.time = stock
    at, taken = zip(*agent.reports, strict=True) if agent.reports else ((), ())
    return {
        "reported_at": np.asarray(at, np.float64),
        "taken": np.asarray(taken, np.int64),
        "trained": np.asarray(agent.trained_new, np.int64),
        "waiting": np.asarray(len(replay.queue), np.int64),
    }


OPERATIONS = {
    "dreamerv3.run_events": run_events,
    "dreamerv3.report_stream": report_stream,
}
