"""The replay, answered by nicklashansen/tdmpc2 at all four pins.

Runs inside the side environment.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from types import SimpleNamespace

import numpy as np
import torch
from common import buffer as stock
from tensordict import TensorDict

from reference_harness.tdmpc2 import agent
from reference_harness.tdmpc2.surroundings import Facade, array, replaced


def _cpu_replay(**settings):
    """Memory is pinned for a GPU alone."""
    return torch_replay(**{**settings, "pin_memory": False})


torch_replay = stock.ReplayBuffer

COUNTS_ROWS = hasattr(stock, "SliceSampler")


@contextlib.contextmanager
def on_the_cpu() -> Iterator[None]:
    """A replay that is made and filled within it is in the memory of the CPU."""
    facade = Facade(
        torch,
        device=lambda *wanted: torch.device("cpu"),
        # Too little for the storage, which then is in the memory of the CPU.
        cuda=SimpleNamespace(mem_get_info=lambda: (0, 0)),
    )
    with replaced((stock, "torch", facade), (stock, "ReplayBuffer", _cpu_replay)):
        yield


def replay_slices(given, capacity, rows, horizon, batch, batches, seed):
    # The first commit counts the steps of an episode, later ones its rows.
    size = capacity * (rows if COUNTS_ROWS else rows - 1)
    settings = agent.config(
        **{"horizon": horizon, "batch_size": batch, "buffer_size": size, "steps": size},
        episode_length=rows - 1,
    )
    torch.manual_seed(seed)
    np.random.seed(seed)
    starts, torn = np.zeros((given, rows), np.int64), 0
    with on_the_cpu():
        replay = stock.Buffer(settings)
        for episode in range(given):
            row = torch.arange(rows)
            columns = {
                "obs": torch.stack([torch.full_like(row, episode), row], dim=-1).float(),
                "action": 2.0 * row[:, None],
                "reward": 16.0 * episode + row,
            }
            if agent.EPISODIC:
                columns["terminated"] = torch.zeros(rows)
            replay.add(TensorDict(columns, batch_size=(rows,)))
        for _ in range(batches):
            observation, action, reward, *_ = map(_read, replay.sample())
            first = observation[0].astype(np.int64)
            np.add.at(starts, (first[:, 0], first[:, 1]), 1)
            row = first[:, 1] + np.arange(horizon + 1)[:, None]
            episode = np.broadcast_to(first[:, 0], row.shape)
            torn += np.count_nonzero(observation != np.stack([episode, row], axis=-1))
            torn += np.count_nonzero(action[..., 0] != 2 * row[1:])
            torn += np.count_nonzero(reward[..., 0] != 16 * episode[1:] + row[1:])
    return {"starts": starts, "torn": np.asarray(torn, np.int64)}


def _read(column):
    return None if column is None else array(column)


def replay_capacity(buffer_size, steps, length, envs):
    if envs != 1:
        raise ValueError(f"the reference has one environment, not {envs}")
    settings = agent.config(buffer_size=buffer_size, steps=steps, episode_length=length)
    facade = Facade(torch, device=lambda *wanted: torch.device("cpu"))
    with replaced((stock, "torch", facade)):
        capacity = stock.Buffer(settings).capacity
    # The first commit stores episodes; later ones rows, of which an episode has one more.
    rows = length + 1 if COUNTS_ROWS else 1
    episodes, rest = divmod(capacity, rows)
    found = {"episodes": episodes, "rest": rest, "staged": 0}
    return {name: np.asarray(value, np.int64) for name, value in found.items()}


OPERATIONS = {"tdmpc2.replay_slices": replay_slices, "tdmpc2.replay_capacity": replay_capacity}
