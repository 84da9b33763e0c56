"""In which order the core's training loop does what: told by the loop itself as it runs."""

from __future__ import annotations

import contextlib
import types
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import io_callback

from core.dreamerv3 import replay as ring
from core.dreamerv3 import train
from core.dreamerv3.config import Config
from core.dreamerv3.train import TrainConfig, make_train
from core.dreamerv3.types import Latent, Rows
from core.training import windows
from parity.core_subject.dreamerv3.rows import Scripted
from parity.core_subject.dreamerv3.runs import TINY
from parity.core_subject.dreamerv3.stand_in import StandIn
from parity.core_subject.running import quick_jit
from parity.operations import Answer


class Numbered(StandIn):
    """A stand-in whose parameters, latents and metrics say which update they are of."""

    def act(self, params, carry, observation, is_first, noise):
        """A latent that says how many updates the parameters have seen."""
        del observation, is_first, noise
        n = carry.action.shape[0]
        return carry, jnp.zeros((n, self.action_space.size)), self._said(params, n)

    def update(self, state, rows: Rows, context, noise):
        """Counts in the parameters, and leaves everything else."""
        del context, noise
        latent = self._said(state.params, *rows.is_first.shape)
        number = state.params["core"]["out"][0]
        params = jax.tree.map(lambda leaf: leaf + 1, state.params)
        return state._replace(params=params), latent, {"opt_loss": number}

    def init(self, key: Any):
        """Parameters that have seen no update."""
        state = super().init(key)
        return state._replace(params=jax.tree.map(jnp.zeros_like, state.params))

    def _said(self, params, *shape: int) -> Latent:
        deter = jnp.zeros((*shape, self.config.deter)) + params["core"]["out"][0]
        return Latent(deter, jnp.zeros((*shape, self.config.stoch), jnp.int32))


class Loop(NamedTuple):
    """What the loop is made of; a seeded fault replaces a part.

    Attributes:
        agent: Stands in for the agent.
        config: From the arguments of `TrainConfig` to the configuration of the run.
        sample: Draws a batch.
        write_back: Stores what training inferred.
        add_update: Adds the metrics of an update.
        key: From the seed to the key of the run.
    """

    agent: type[Numbered] = Numbered
    config: Callable[..., TrainConfig] = TrainConfig
    sample: Callable = ring.sample
    write_back: Callable = ring.write_back
    add_update: Callable = windows.add_update
    key: Callable[[int], jax.Array] = jax.random.key


class _Told:
    """Stands in the place of the replay and of the metrics, and notes what they are asked."""

    def __init__(self, loop: Loop):
        self._loop = loop
        self.events: list[tuple[str, list[np.ndarray]]] = []
        self.replay = types.SimpleNamespace(
            **{**vars(ring), "add": self._add, "sample": self._sample, "write_back": self._write}
        )
        self.windows = types.SimpleNamespace(**{**vars(windows), "add_update": self._measure})

    def _note(self, kind: str, *values: jax.Array) -> None:
        def note(*arrays: np.ndarray) -> None:
            self.events.append((kind, [np.array(array) for array in arrays]))

        io_callback(note, None, *values, ordered=True)

    def _add(self, state, rows, latent):
        self._note("act", latent.deter[0, 0])
        return ring.add(state, rows, latent)

    def _sample(self, state, key, batch_size, length):
        rows, context, where = self._loop.sample(state, key, batch_size, length)
        # As many rows as are there, not as many as were counted.
        filled = jnp.sum(jnp.any(state.rows.observation != 0, -1))
        self._note("draw", filled, where.environment, where.first - 1, where.online)
        return rows, context, where

    def _write(self, state, where, latent):
        after = self._loop.write_back(state, where, latent)
        capacity = state.rows.reward.shape[1]
        self._note("write", after.latents.deter[where.environment[-1], where.first[-1] % capacity])
        return after

    def _measure(self, sums, metrics):
        after = self._loop.add_update(sums, metrics)
        self._note("measure", after.totals["opt_loss"] - sums.totals["opt_loss"])
        return after

    def all_of(self, kind: str, part: int = 0) -> np.ndarray:
        """One value of every event of a kind."""
        return np.asarray([values[part] for found, values in self.events if found == kind])

    def before(self, kind: str, counted: str) -> np.ndarray:
        """How many events of another kind came before each of a kind."""
        kinds = [found for found, _ in self.events]
        return np.asarray([kinds[:i].count(counted) for i, k in enumerate(kinds) if k == kind])


@contextlib.contextmanager
def _in_place(told: _Told, agent: type[Numbered]) -> Iterator[None]:
    names = {"replay": told.replay, "windows": told.windows, "Agent": agent}
    stock = {name: getattr(train, name) for name in names}
    try:
        for name, value in names.items():
            setattr(train, name, value)
        yield
    finally:
        for name, value in stock.items():
            setattr(train, name, value)


def run_events(
    seed,
    envs,
    batch,
    length,
    train_ratio,
    ticks,
    loop: Loop = Loop(),  # noqa: B008
) -> Answer:
    """See `dreamerv3.run_events`."""
    sizes = (envs, batch, length, train_ratio, ticks)
    return {name: value.copy() for name, value in _ran(seed, *sizes, loop).items()}


@cache  # several claims ask the same, and compiling the loop takes seconds
def _ran(seed, envs, batch, length, train_ratio, ticks, loop: Loop) -> Answer:
    agent = Config(batch_size=batch, batch_length=length, train_ratio=train_ratio, **TINY)
    config = loop.config(agent, steps=ticks * envs, n_envs=envs)
    told = _Told(loop)
    with _in_place(told, loop.agent):
        functions = make_train(config, Scripted(5, jnp.ones(5), 1))

        def run(keys):
            return functions.chunk(functions.init(keys), jnp.int32(ticks))[0].tick

        jax.block_until_ready(quick_jit(run)(loop.key(seed)[None]))
        jax.effects_barrier()
    drawn = told.all_of("draw").astype(np.int64)
    answers = {
        "acted_with": told.all_of("act"),
        "updates": told.before("act", "measure"),
        "rows": drawn,
        "drawn_rows": drawn,  # nothing is drawn ahead: an update begins with its batch
        "drawn_after": told.before("draw", "measure"),
        "environment": told.all_of("draw", 1),
        "start": told.all_of("draw", 2),
        "written": told.all_of("write")[:, 0],
        "measured": told.all_of("measure"),
    }
    shapes = {"environment": (-1, batch), "start": (-1, batch)}
    return {
        "online": told.all_of("draw", 3).reshape(-1, batch).astype(bool),
        **{
            name: value.astype(np.int64).reshape(shapes.get(name, (-1,)))
            for name, value in answers.items()
        },
    }


def report_stream(envs, batch, length, train_ratio, ticks, seconds, loop: Loop = Loop()) -> Answer:  # noqa: B008
    """See `dreamerv3.report_stream`: there is none, so that no time matters."""
    del seconds
    events = run_events(0, envs, batch, length, train_ratio, ticks, loop)
    entered = envs * (max(0, ticks - 1) // (length + 1))
    trained = int(events["online"].sum())
    return {
        "reported_at": np.zeros(0),
        "taken": np.zeros(0, np.int64),
        "trained": np.asarray(trained, np.int64),
        "waiting": np.asarray(entered - trained, np.int64),
    }


TABLE = {"dreamerv3.run_events": run_events, "dreamerv3.report_stream": report_stream}
