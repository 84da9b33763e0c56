"""What a run of TD-MPC2 is given to tell its order: scripted episodes, and an agent that notes."""

from __future__ import annotations

import types
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import io_callback
from jaxtyping import Array

from core.spaces import Continuous
from core.tdmpc2 import episodes, planner, rings
from core.tdmpc2.agent import Agent
from core.tdmpc2.intermediates import watched
from parity.operations import Answer
from parity.operations.tdmpc2.events import AT_ZERO, OF_EVALUATION, OF_NOBODY, RANDOM


class _Clock(NamedTuple):
    start: Array
    time: Array


class Scripted:
    """The environment of `tdmpc2.run_events`; it shows the start and the steps since."""

    observation_size, action_space = 2, Continuous(1)

    def __init__(self, length: int, ends: int, doomed: float):
        self.episode_length, self._ends, self._doomed = length, ends, doomed

    def reset(self, key: Array) -> tuple[_Clock, Array]:
        """Draws a start."""
        return self._seen(_Clock(jax.random.uniform(key), jnp.zeros(())))

    def step(self, key: Array, state: _Clock, action: Array) -> Any:
        """Any action will do."""
        del key, action
        state = state._replace(time=state.time + 1)
        terminated = (state.start >= self._doomed) & (state.time >= self._ends)
        truncated = state.time >= self.episode_length
        return *self._seen(state), jnp.zeros(()), terminated, truncated

    def _seen(self, state: _Clock) -> tuple[_Clock, Array]:
        return state, jnp.stack([state.start, state.time])


class _Counted(NamedTuple):
    params: Array
    updates: Array


class Counting(Agent):
    """The agent without networks: it counts updates, and tells of its plans.

    What it carries says which plan left it; whose mean a plan starts from is the planner's own
    `warm_start` to say.
    """

    told: Told

    def init(self, key: Array) -> Any:
        """No parameters."""
        del key
        return _Counted(jnp.zeros(()), jnp.zeros((), jnp.int32))

    def acting_noise(self, key: Array, n: int, *, explore: bool = True) -> Any:
        """None; but whether to explore."""
        del key
        return jnp.full(n, explore)

    def update_noise(self, key: Array) -> Any:
        """None."""
        del key
        return jnp.zeros(())

    def act(self, params, carry, observation, t0, noise, task=None) -> Any:
        """The number of this plan in the place of its mean."""
        del params, task
        start = jax.vmap(planner.warm_start)(carry, t0)
        carry = io_callback(
            self.told.planned, _like(carry), observation, t0, noise, start, ordered=True
        )
        return carry, jnp.zeros((len(carry), self.action_size))

    def update(self, state, batch, noise) -> Any:
        """Counts."""
        del batch, noise
        io_callback(self.told.updated, None, ordered=True)
        counted = state._replace(updates=state.updates + 1)
        return counted, dict.fromkeys(watched(self.config), jnp.zeros(()))


def _like(array: Array) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(array.shape, array.dtype)


class Told:
    """Notes of one run."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Before a run."""
        self.ticks: list[dict[str, Any]] = []
        self.evaluated: list[int] = []
        self.eval_starts: list[np.ndarray] = []
        self._evaluating = False
        self._plan: dict[str, Any] = {}

    def planned(self, observation, t0, explore, start) -> np.ndarray:
        """A plan is made; gives the mean that it leaves."""
        seen, t0, start = (np.array(x) for x in (observation, t0, start))
        numbers = 1 + len(self.ticks) * len(t0) + np.arange(len(t0))
        if bool(np.all(explore)):
            self._plan = {"planned": 1, "t0": t0.astype(np.int64), "before": origins(start)}
        else:
            numbers = -numbers
            if not self._evaluating:
                self._evaluating = True
                self.eval_starts.append(seen[:, 0])
        left = np.zeros_like(start)
        left[:] = numbers[:, None, None]
        return left

    def updated(self) -> None:
        """An update is made."""
        self.ticks[-1]["updates"] += 1

    def stepped(self, observation, is_last) -> None:
        """A row of every environment is stored."""
        seen = np.array(observation)
        n = len(seen)
        nothing = {"planned": 0, "t0": np.full(n, -1), "before": np.full(n, RANDOM)}
        where = {"start": seen[:, 0], "step": seen[:, 1].astype(np.int64)}
        stepping = int(np.sum(~np.array(is_last)))
        plan = self._plan or nothing
        self.ticks.append({**where, **plan, "stepped": stepping, "updates": 0, "held": -1})
        self._plan = {}

    def drawn(self, held) -> None:
        """A batch is drawn, from so many episodes."""
        self.ticks[-1]["held"] = int(held)

    def evaluating(self, rows: int) -> None:
        """An evaluation begins."""
        self._evaluating = False
        self.evaluated.append(rows)

    def replay(self) -> tuple[types.SimpleNamespace, types.SimpleNamespace]:
        """Both kinds of replay, told of."""

        def add(state, steps, observation, action, reward, following):
            running = jnp.zeros(len(observation), bool)
            io_callback(self.stepped, None, observation, running, ordered=True)
            return episodes.add(state, steps, observation, action, reward, following)

        def draw(state, steps, *rest):
            n_envs = state.reward.shape[1]
            io_callback(self.drawn, None, n_envs * episodes.held(state, steps), ordered=True)
            return episodes.draw(state, steps, *rest)

        def add_row(state, row, seen, action, horizon):
            io_callback(self.stepped, None, seen.observation, seen.is_last, ordered=True)
            return rings.add(state, row, seen, action, horizon)

        def draw_rows(state, *rest):
            held = jnp.sum(state.listed.count - state.listed.gone)
            io_callback(self.drawn, None, held, ordered=True)
            return rings.draw(state, *rest)

        of_episodes = {**vars(episodes), "add": add, "draw": draw}
        of_rows = {**vars(rings), "add": add_row, "draw": draw_rows}
        return types.SimpleNamespace(**of_episodes), types.SimpleNamespace(**of_rows)


def origins(start: np.ndarray) -> np.ndarray:
    """Which tick left the means that plans start from, in the same environment."""
    n = len(start)
    numbers = start[:, 0, 0].astype(np.int64)
    shifted = np.concatenate([np.ones_like(start[:, 1:]), np.zeros_like(start[:, :1])], axis=1)
    ticks, owners = np.divmod(numbers - 1, n)
    found = np.where(owners == np.arange(n), ticks, OF_NOBODY)
    found = np.where(numbers < 0, OF_EVALUATION, np.where(numbers == 0, AT_ZERO, found))
    whole = (start == numbers[:, None, None] * shifted).all((1, 2))
    return np.where(whole, found, OF_NOBODY)


def answer(told: Told, envs: int, eval_episodes: int, error: int) -> Answer:
    """The notes of a run, as `tdmpc2.run_events` answers."""
    ticks = told.ticks

    def column(name: str, *shape: int) -> np.ndarray:
        return np.asarray([tick[name] for tick in ticks], np.int64).reshape(-1, *shape)

    starts = np.asarray([tick["start"] for tick in ticks], np.float32)
    return {
        "start": starts.reshape(-1, envs),
        **{name: column(name, envs) for name in ("step", "t0", "before")},
        **{name: column(name) for name in ("stepped", "planned", "updates", "held")},
        "evaluated": np.asarray(told.evaluated, np.int64),
        "eval_start": np.asarray(told.eval_starts, np.float32).reshape(
            len(told.evaluated), eval_episodes
        ),
        "error": np.asarray(error, np.int64),
    }
