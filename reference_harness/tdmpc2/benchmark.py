"""How long nicklashansen/tdmpc2 takes: its own agent, on as many threads as it is told to use.

Runs inside the side environment, as a table of operations of its own. What is timed is the stock
`TDMPC2.update` and `TDMPC2.act`, run without compilation, on random numbers of its own; only the
replay is replaced, by one batch that is always the same.

An agent stays in the worker between questions, so that the asking side can alternate.
"""

from __future__ import annotations

import functools
import json
import resource
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch

from reference_harness.tdmpc2 import agent as agents
from reference_harness.tdmpc2.surroundings import given, tensor


class _Batch:
    """In the place of the replay."""

    def __init__(self, batch: Mapping[str, np.ndarray]):
        b = {name: tensor(value) for name, value in batch.items()}
        parts = [b["observation"], b["action"], b["reward"][..., None]]
        if agents.EPISODIC:
            parts.append(b["terminated"][..., None])
        self._parts = (*parts, None)

    def sample(self) -> tuple[Any, ...]:
        """What the pin's buffer returns."""
        return self._parts


@functools.lru_cache(maxsize=1)
def _agent(settings: str) -> Any:
    chosen = json.loads(settings)
    torch.manual_seed(0)
    return agents.build(
        agents.config(chosen["observation_size"], chosen["action_size"], **chosen["overrides"])
    )


def _timed(call: Callable[[], Any], times: int, threads: int) -> dict[str, float]:
    """Seconds of one call: on the clock, and of processor time on all cores together."""
    torch.set_num_threads(threads)
    with given():
        wall, processor = time.perf_counter(), _processor_time()
        for _ in range(times):
            call()
        return {
            "seconds": (time.perf_counter() - wall) / times,
            "cpu_seconds": (_processor_time() - processor) / times,
        }


def _processor_time() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def update(
    settings: dict[str, Any], batch: dict[str, np.ndarray], times: int, threads: int
) -> dict[str, float]:
    """Seconds per update on one batch.

    Args:
        settings: overrides (keys of config.yaml), observation_size, action_size.
        batch: observation [H + 1, B, ...], action, reward, terminated [H, B, ...].
        times: Updates to run, one after the other.
        threads: That torch may use.
    """
    agent = _agent(json.dumps(settings, sort_keys=True))
    replay = _Batch(batch)
    return _timed(lambda: agent.update(replay), times, threads)


def plan(
    settings: dict[str, Any], observation: np.ndarray, times: int, threads: int
) -> dict[str, float]:
    """Seconds per planned action, in the middle of an episode and with exploration.

    Args:
        settings: See `update`.
        observation: One.
        times: Actions, one after the other.
        threads: That torch may use.
    """
    agent = _agent(json.dumps(settings, sort_keys=True))
    seen = tensor(observation)
    agent.act(seen, t0=True)
    return _timed(lambda: agent.act(seen, t0=False), times, threads)


OPERATIONS = {
    "tdmpc2.benchmark_update": update,
    "tdmpc2.benchmark_plan": plan,
}
