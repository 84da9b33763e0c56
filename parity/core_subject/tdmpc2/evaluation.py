"""How an agent of several tasks is evaluated by the core, and when."""

from __future__ import annotations

import contextlib
import io
import json
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from rich.console import Console

from core.spaces import Continuous
from core.tdmpc2 import offline
from core.tdmpc2.dataset import Dataset, Origin
from core.tdmpc2.offline import OfflineConfig
from core.tdmpc2.tasks import Tasks
from core.training.program import Train
from core.training.progress import ProgressBar
from core.training.run_config import RunConfig
from parity.core_subject.tdmpc2 import stage
from parity.core_subject.tdmpc2.idle import Idle, in_place_of_the_agent
from parity.implementations import CannotMeasureError
from parity.operations import Answer

# What an action says of itself, in the returns: float32 has room for all three.
_EXPLORED, _MISPLACED, _STRAYED = 1, 2**8, 2**16


class Telling(Idle):
    """An agent whose actions tell how it was asked for them."""

    def act(
        self, params: Any, carry: Any, observation: Any, t0: Any, noise: Any, task: Any = None
    ) -> Any:
        """Whether there is noise, whether it is an episode's first, and of which task."""
        del params, observation
        return carry, jnp.stack([noise, t0, task], axis=-1).astype(jnp.float32)


class Ledger:
    """An environment that pays what the actions tell; or what its reset has drawn, at once."""

    observation_size = 1
    action_space = Continuous(3)

    def __init__(self, task: int, length: int, *, drawn: bool = False):
        self._task, self.episode_length, self._drawn = task, length, drawn

    def reset(self, key: Any) -> Any:
        """See `Environment`."""
        start = jax.random.uniform(key)
        return (jnp.zeros((), jnp.int32), start), start[None]

    def step(self, key: Any, state: Any, action: Any) -> Any:
        """See `Environment`."""
        del key
        time, start = state
        explored, first, task = action
        told = (
            _EXPLORED * explored
            + _MISPLACED * (first != (time == 0))
            + _STRAYED * (task != self._task)
        )
        paid = jnp.where(time == 0, start, 0.0) if self._drawn else told
        over = time + 1 >= self.episode_length
        return (time + 1, start), start[None], paid, jnp.zeros((), bool), over


def _dataset(lengths: Sequence[int]) -> Dataset:
    """An episode of each task, in which nothing happens."""
    count = len(lengths)
    names = tuple(f"task{i}" for i in range(count))
    rows = int(sum(lengths)) + count
    return Dataset(
        Tasks(names, (1,) * count, (3,) * count, tuple(map(int, lengths))),
        tuple(Origin(name) for name in names),
        np.zeros((rows, 1), np.float32),
        np.zeros((rows, 3), np.float32),
        np.zeros(rows, np.float32),
        np.arange(count, dtype=np.int32),
    )


def _functions(
    lengths: Sequence[int], *, drawn: bool = False, **settings: Any
) -> tuple[OfflineConfig, Train]:
    dataset = _dataset(lengths)
    config = OfflineConfig.on(
        dataset, agent=stage.config(horizon=1, batch_size=2, task_dim=3), **settings
    )
    environments = [Ledger(i, length, drawn=drawn) for i, length in enumerate(lengths)]
    with in_place_of_the_agent(offline, Telling):
        return config, offline.make_offline(config, dataset, environments)


def _only_the_trainer(program: str) -> None:
    if program != "trainer":
        raise CannotMeasureError("the core has no script that evaluates checkpoints")


def multitask_score(returns: np.ndarray, program: str) -> Answer:
    """See `tdmpc2.multitask_score`."""
    _only_the_trainer(program)
    count, _ = returns.shape
    _, functions = _functions([1] * count)
    figures = functions.figures(returns[None], np.ones((1, *returns.shape), np.int32))
    means = [figures[f"eval/return/task{i}"][0] for i in range(count)]
    found = {"means": means, "score": figures["eval/score"][0]}
    return {name: np.asarray(value, np.float64) for name, value in found.items()}


def _played(lengths: tuple[int, ...], keys: Any) -> Any:
    _, functions = _functions(lengths)
    return functions.evaluate(functions.init(keys))


def _keys(seed: int) -> jax.Array:
    return jax.vmap(jax.random.key)(np.asarray([seed], np.uint32))


def evaluation_actions(lengths: np.ndarray, program: str) -> Answer:
    """See `tdmpc2.evaluation_actions`."""
    _only_the_trainer(program)
    scores, played = stage.compiled(_played, tuple(lengths.tolist()))(_keys(0))
    told = np.asarray(scores[0]).astype(np.int64)
    found = {
        "episodes": told.shape[1],
        "actions": np.asarray(played).sum(),
        "explored": (told % _MISPLACED).sum(),
        "misplaced": (told % _STRAYED // _MISPLACED).sum(),
        "strayed": (told // _STRAYED).sum(),
    }
    return {name: np.asarray(value, np.int64) for name, value in found.items()}


@contextlib.contextmanager
def _environments(made: Sequence[Ledger]) -> Iterator[None]:
    """A run finds these where it would make those of its dataset."""
    stock = offline.environments_of
    offline.environments_of = lambda dataset: list(made)  # type: ignore[assignment]
    try:
        yield
    finally:
        offline.environments_of = stock


def offline_evaluations(updates: int, every: int) -> Answer:
    """See `tdmpc2.offline_evaluations`: from the log of a run from beginning to end."""
    dataset = _dataset([1])
    config = OfflineConfig.on(
        dataset,
        agent=stage.config(horizon=1, batch_size=2, task_dim=3),
        steps=updates,
        log_every=every,
        eval_episodes=1,
    )
    unseen = ProgressBar(updates, Console(file=io.StringIO()))
    with (
        tempfile.TemporaryDirectory() as folder,
        _environments([Ledger(0, 1)]),
        in_place_of_the_agent(offline, Telling),
    ):
        run = RunConfig(config, "task0", (0,), Path(folder), eval_every=every)
        offline.run_offline(run, dataset, unseen)
        lines = (Path(folder) / "metrics.jsonl").read_text().splitlines()
    evaluated = np.zeros(updates, np.int64)
    for line in map(json.loads, lines):
        evaluated[line["updates"] - 1] = "eval/score" in line
    return {"evaluated": evaluated}


def _starts(count: int, episodes: int, keys: Any, ticks: Any) -> Any:
    _, functions = _functions([1] * count, drawn=True, eval_episodes=episodes)
    state = functions.init(keys)
    return jax.lax.map(lambda tick: functions.evaluate(state._replace(tick=tick))[0][0], ticks)


def evaluation_starts(updates: np.ndarray, tasks: int, episodes: int, seed: int) -> Answer:
    """See `tdmpc2.evaluation_starts`."""
    play = stage.compiled(_starts, tasks, episodes)
    return stage.answers({"starts": play(_keys(seed), jnp.asarray(updates, jnp.int32))})


TABLE = {
    "tdmpc2.multitask_score": multitask_score,
    "tdmpc2.evaluation_actions": evaluation_actions,
    "tdmpc2.offline_evaluations": offline_evaluations,
    "tdmpc2.evaluation_starts": evaluation_starts,
}
