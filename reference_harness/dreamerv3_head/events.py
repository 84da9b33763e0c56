"""In which order a run of danijar/dreamerv3 does what, at its head.

Runs inside the side environment. Loop, driver, replay, streams, prefetcher and the agent's
outer class are the reference's own, made and configured by its own `main`. In the place of
the networks stands a model with one parameter, which counts updates; in the place of the
environments, one that shows where its rows stand.
"""

import tempfile
import threading
import time

import elements
import embodied
import embodied.jax
import jax.numpy as jnp
import ninjax as nj
import numpy as np
from dreamerv3 import main

from reference_harness.dreamerv3_head.loop import (
    NEVER,
    Logger,
    Placed,
    arguments,
    configured,
    noting,
)

_PATIENCE = 0.5  # seconds without a draw, after which the prefetcher counts as waiting
_GIVE_UP = 30.0


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
    env = Placed(0)
    actions = {name: space for name, space in env.act_space.items() if name != "reset"}
    # All that the agent's wrapper reads of the configuration, beside what is the networks'.
    read = "jax seed logdir replica replicas batch_size batch_length replay_context report_length"
    settings = elements.Config({name: getattr(config, name) for name in read.split()})
    return _Counter(env.obs_space, actions, settings)


def run_events(seed, envs, batch, length, train_ratio, ticks):
    """See `dreamerv3.run_events`."""
    told = _Told()
    with tempfile.TemporaryDirectory() as folder:
        config = configured(seed, folder, envs, batch, length, train_ratio, ticks)
        replay = main.make_replay(config, "replay")
        flags = noting(replay)
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
            Placed,
            lambda made, mode: main.make_stream(config, made, mode),
            Logger,
            arguments(config, NEVER),
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
