"""Which tasks an agent of several learns from in the core, and what of them."""

from __future__ import annotations

from collections.abc import Iterable

import jax
import numpy as np

from core.tdmpc2 import mt30, pool, pooling
from core.tdmpc2.agent import Agent
from core.tdmpc2.dataset import Dataset, DatasetError, Origin
from core.tdmpc2.episodes import Episodes
from core.tdmpc2.tasks import Tasks
from parity.core_subject.tdmpc2 import stage
from parity.core_subject.tdmpc2.replay import count
from parity.implementations import CannotMeasureError
from parity.operations import Answer


def task_set(tasks: str) -> Answer:
    """See `tdmpc2.task_set`."""
    if tasks != "mt30":
        raise CannotMeasureError(f"the core has no tasks of {tasks}")
    return {"names": _text(mt30.MT30)}


def _text(names: Iterable[str]) -> np.ndarray:
    return np.frombuffer("\n".join(names).encode(), np.uint8).copy()


def _replay(index: int, rounds: int, seeds: int, envs: int, length: int) -> Episodes:
    """The replay of a finished run; the last place is the one that is written in."""
    count = rounds + index % 2
    s, r, e, t = np.ogrid[:seeds, : count + 1, :envs, :length]
    reward = (((s * 8 + r) * 8 + e) * 8 + t + 4096 * index).astype(np.float32)
    observation = np.zeros((seeds, count + 1, envs, length + 1, 1), np.float32)
    return Episodes(observation, np.zeros((*reward.shape, 1), np.float32), reward)  # type: ignore


def pooled_runs(order: np.ndarray, rounds: int, seeds: int, envs: int, length: int) -> Answer:
    """See `tdmpc2.pooled_runs`."""
    environments = list(pooling.MT30.values())
    sources = []
    for index in order.tolist():
        replay = _replay(index, rounds, seeds, envs, length)
        steps = (rounds + index % 2) * length
        origin = Origin(environments[index])
        sources.append(pooling.source_of_replay(origin, replay, steps))
    made = pooling.pooled(sources, mt30=True)
    try:
        replay = _replay(0, rounds, seeds, envs, length)
        pooling.source_of_replay(Origin(environments[0]), replay, (rounds + 1) * length)
        refused = 0
    except DatasetError:
        refused = 1
    return {
        "names": _text(made.tasks.names),
        "environments": _text(origin.env for origin in made.origins),
        "task": made.task.astype(np.int64),
        "reward": made.reward,
        "refused": np.asarray(refused, np.int64),
    }


_SCALE = 64  # of actions, which a dataset takes from −1 to 1


def _dataset(lengths: np.ndarray, task: np.ndarray) -> Dataset:
    """Episodes whose rows have numbers of their own."""
    steps, names = lengths[task], tuple(f"task{i}" for i in range(len(lengths)))
    row = np.concatenate([np.arange(n + 1) for n in steps])
    episode = np.repeat(np.arange(len(task)), steps + 1)
    paid = row < steps[episode]
    ones = (1,) * len(lengths)
    return Dataset(
        Tasks(names, tuple(2 * n for n in ones), ones, tuple(lengths.tolist())),
        tuple(map(Origin, names)),
        np.stack([episode, row], axis=-1).astype(np.float32),
        np.where(paid, 2 * (row + 1) / _SCALE, 0).astype(np.float32)[:, None],
        np.where(paid, 16 * episode + row + 1, 0).astype(np.float32),
        task.astype(np.int32),
    )


def _drawn(horizon: int, batch: int, episodes: pool.Pool, key):
    return pool.batch(episodes, pool.draw(episodes, key, batch, horizon), horizon)


def dataset_slices(lengths, task, rows, horizon, batch, seed) -> Answer:
    """See `tdmpc2.dataset_slices`."""
    call = stage.compiled(_drawn, horizon, batch)
    found = call(pool.Pool.of(_dataset(lengths, task)), jax.random.key(seed))
    observation, action, reward = map(np.asarray, (found.observation, found.action, found.reward))
    counted = count(len(task), rows, observation, _SCALE * action[..., 0], reward)
    strayed = np.count_nonzero(task[observation[0, :, 0].astype(int)] != np.asarray(found.task))
    return {**counted, "torn": np.asarray(counted["torn"] + strayed, np.int64)}


def task_discounts(episode_lengths) -> Answer:
    """See `tdmpc2.task_discounts`."""
    count = len(episode_lengths)
    names, ones = tuple(f"task{i}" for i in range(count)), (1,) * count
    agent = Agent.of_tasks(
        stage.config(), Tasks(names, ones, ones, tuple(episode_lengths.tolist()))
    )
    found = agent.discount_of(np.arange(count))  # type: ignore[arg-type]
    return {"discounts": np.broadcast_to(np.asarray(found, np.float32), count).copy()}


TABLE = {
    "tdmpc2.task_set": task_set,
    "tdmpc2.pooled_runs": pooled_runs,
    "tdmpc2.dataset_slices": dataset_slices,
    "tdmpc2.task_discounts": task_discounts,
}
