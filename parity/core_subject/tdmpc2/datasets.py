"""Which tasks an agent of several learns from in the core, and what of them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from core.tdmpc2 import mt30, pooling
from core.tdmpc2.dataset import DatasetError, Origin
from core.tdmpc2.episodes import Episodes
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


TABLE = {"tdmpc2.task_set": task_set, "tdmpc2.pooled_runs": pooled_runs}
