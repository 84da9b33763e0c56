"""What the reports of danijar/dreamerv3 draw from, at its head.

Runs inside the side environment. The loop is the one of `loop.py`, with a clock that is
moved by hand.
"""

import sys
import types

import embodied
import numpy as np
from dreamerv3 import main

from reference_harness.dreamerv3_head.loop import (
    Logger,
    Placed,
    arguments,
    configured,
    noting,
)
from reference_harness.scratch import scratch


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
    with scratch() as folder:
        config = configured(0, folder, envs, batch, length, train_ratio, ticks)
        replay = main.make_replay(config, "replay")
        flags = noting(replay)
        agent = _Reporting(seconds, flags)

        def make_env(index):
            return Placed(index, (lambda: None) if index else agent.tick)

        stock, clock.time = clock.time, types.SimpleNamespace(time=lambda: 1e9 + agent.now)
        try:
            embodied.run.train(
                lambda: agent,
                lambda: replay,
                make_env,
                lambda made, mode: main.make_stream(config, made, mode),
                Logger,
                arguments(config, config.run.report_every),
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


OPERATIONS = {"dreamerv3.report_stream": report_stream}
