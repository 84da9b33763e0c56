"""What the reports of danijar/dreamerv3 draw from and leave behind, paper era.

Runs inside the side environment. The loop is the one of `events.py`, with a clock that is
moved by hand; the report is the stock agent's own, at a tiny size.
"""

import functools
import sys
import types

import embodied
import jax
import jax.numpy as jnp
import numpy as np
from dreamerv3 import main
from dreamerv3 import ninjax as nj

from reference_harness.dreamerv3.agent import (
    SEED,
    Spaces,
    build,
    initial_state,
    precision,
    replaced,
)
from reference_harness.dreamerv3.events import Placed, configured, place
from reference_harness.dreamerv3.runs import _arguments, _Counting, _Logger
from reference_harness.scratch import scratch


class _Reporting(_Counting):
    """An agent that notes which sequences of the queue an update or a report was given."""

    def __init__(self, seconds):
        super().__init__()
        self.now = -seconds
        self._seconds = seconds
        self.trained_new, self.reports = 0, []

    def tick(self):
        self.now += self._seconds

    def dataset(self, generator):
        return generator()

    def train(self, data, carry):
        self.trained_new += int(place(data)[2].sum())
        return super().train(data, carry)

    def report(self, data, *carry):
        self.reports.append((self.now, int(place(data)[2].sum())))
        return ({}, *carry) if carry else {}


def report_stream(envs, batch, length, train_ratio, ticks, seconds):
    """See `dreamerv3.report_stream`: with the stock period and the stock clock."""
    agent = _Reporting(seconds)
    clock = types.SimpleNamespace(time=lambda: 1e9 + agent.now)
    when = sys.modules[embodied.when.Clock.__module__]

    def make_env(index):
        return Placed(index, (lambda: None) if index else agent.tick)

    with scratch() as folder, replaced((when, "time", clock)):
        config = configured(0, folder, envs, batch, length, train_ratio)
        replay = main.make_replay(config)
        arguments = _arguments(folder, envs, batch, length, train_ratio, ticks * envs)
        arguments.eval_every = config.run.eval_every
        embodied.run.train(lambda: agent, lambda: replay, make_env, _Logger, arguments)
    at, taken = zip(*agent.reports, strict=True) if agent.reports else ((), ())
    return {
        "reported_at": np.asarray(at, np.float64),
        "taken": np.asarray(taken, np.int64),
        "trained": np.asarray(agent.trained_new, np.int64),
        "waiting": np.asarray(len(replay.queue), np.int64),
    }


_TINY = {
    r"dyn\.rssm\.deter": 8,
    r"dyn\.rssm\.(hidden|classes)": 4,
    r"dyn\.rssm\.(stoch|blocks)": 2,
    r".*\.units": 4,
    r".*\.layers": 1,
    "imag_length": 1,
}


_ROWS = 10  # the earlier of the two looks at what follows the eighth

# The programs run once, and no claim is about their rounding.
_QUICK = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}


@functools.cache
def _losses():
    """Two programs from a state to the next: a report, and the loss of an update."""
    spaces = Spaces(observation_size=1, kind="discrete", actions=2)
    with precision("float32"):
        agent = build(_TINY, spaces)
        shapes = jax.eval_shape(lambda: initial_state(agent, spaces, 1, _ROWS))
        carry = nj.pure(agent.init_train)({}, 1, seed=SEED)[1]
    columns = {**spaces.observations(), "action": spaces.action(), **agent.aux_spaces}
    data = {k: jnp.zeros((1, _ROWS, *v.shape), v.dtype) for k, v in columns.items()}
    data["reward"] += 1
    # The earlier of the two makes a carry of its own.
    given = (data, carry) if hasattr(agent, "init_report") else (data,)

    def report(state):
        return nj.pure(agent.report)(state, *given, seed=SEED)[0]

    def loss(state):
        def once():
            return agent.loss(agent.preprocess(data), carry)[0]

        return nj.pure(once)(state, seed=SEED)[0]

    state = jax.tree.map(lambda like: jnp.zeros(like.shape, like.dtype), shapes)
    with precision("float32"):
        programs = [
            jax.jit(program).lower(state).compile(compiler_options=_QUICK)
            for program in (report, loss)
        ]
    return state, programs


def report_normaliser(low, high):
    """See `dreamerv3.report_normaliser`: with all parameters 0, and so all returns."""
    names = ("agent/retnorm/low/value", "agent/retnorm/high/value")
    state, programs = _losses()
    state = state | dict(zip(names, map(jnp.float32, (low, high)), strict=True))
    after = [program(state) for program in programs]
    return {
        key: np.asarray([one[name] for name in names], np.float32)
        for key, one in zip(("reported", "trained"), after, strict=True)
    }


OPERATIONS = {
    "dreamerv3.report_stream": report_stream,
    "dreamerv3.report_normaliser": report_normaliser,
}
