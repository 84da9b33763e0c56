"""How long danijar/dreamerv3, paper era, takes: its own agent, its own compiled programs.

Runs inside the side environment, as a table of operations of its own. Unlike the rest of this
folder it builds the whole `jaxagent`, because what is timed is what the reference runs: its
jitted training step with donated state, optimiser and slow critic included, called through
its own `train` and `policy`. Only its report program is left out, which training never calls.

An agent stays in the worker between questions, so that the asking side can alternate.
"""

from __future__ import annotations

import functools
import json
import resource
import time
from collections.abc import Callable, Mapping
from typing import Any

import embodied
import jax
import numpy as np
from dreamerv3 import agent as stock
from dreamerv3 import jaxagent

from reference_harness.dreamerv3.agent import Spaces, replaced


class _NoReport:
    """Stands for the report program, which takes as long to compile as the training step."""

    def compile(self) -> None:
        return None


class _Agent:
    """The stock agent of one problem, with the time that its construction took."""

    def __init__(self, settings: Mapping[str, Any]):
        self.spaces = Spaces(**settings["spaces"])
        config = embodied.Config(stock.Agent.configs["defaults"]).update(
            {
                **settings["overrides"],
                "jax.compute_dtype": settings["dtype"],
                "batch_size": settings["batch"],
                "batch_length": settings["length"] + 1,
            }
        )
        actions = {"action": self.spaces.action(), "reset": embodied.Space(bool)}
        no_report = (
            jaxagent.JAXAgent,
            "_lower_report",
            lambda agent: setattr(agent, "_report", _NoReport()),
        )
        lowering: list[float] = []
        lower = jaxagent.JAXAgent._lower_train

        def lower_train(agent):
            lowering.append(time.perf_counter())
            lower(agent)

        with replaced(no_report, (jaxagent.JAXAgent, "_lower_train", lower_train)):
            self.agent = stock.Agent(self.spaces.observations(), actions, config)
        # The constructor ends with the compilation of the training step.
        self.compile_seconds = time.perf_counter() - lowering[0]
        self.batch, self.carry = settings["batch"], self.agent.init_train(settings["batch"])
        self.acting: dict[int, Any] = {}

    def update(self, data: Mapping[str, np.ndarray]) -> None:
        """Hands one batch to `train`, as the reference's `dataset` would."""
        sharded = self.agent.train_sharded
        batch = {**jax.device_put(data, sharded), "seed": self.agent._next_seeds(sharded)}
        _, self.carry, _ = self.agent.train(batch, self.carry)

    def act(self, observation: np.ndarray) -> None:
        """One call of `policy` for as many environments as there are observations."""
        n = len(observation)
        if n not in self.acting:
            self.acting[n] = self.agent.init_policy(n)
        zeros = np.zeros(n, bool)
        seen = {"vector": observation, "reward": np.zeros(n, np.float32)}
        flags = {"is_first": zeros, "is_last": zeros, "is_terminal": zeros}
        _, _, self.acting[n] = self.agent.policy({**seen, **flags}, self.acting[n])

    def wait(self) -> None:
        """Returns once everything that was asked for is done."""
        jax.block_until_ready((self.agent.params, self.carry))


@functools.lru_cache(maxsize=1)
def _agent(settings: str) -> _Agent:
    return _Agent(json.loads(settings))


def _of(settings: Mapping[str, Any]) -> _Agent:
    return _agent(json.dumps(settings, sort_keys=True))


def _timed(agent: _Agent, call: Callable[[], None], times: int) -> dict[str, float]:
    """Seconds of one call: on the clock, and of processor time on all cores together."""
    agent.wait()
    wall, processor = time.perf_counter(), _processor_time()
    for _ in range(times):
        call()
    agent.wait()
    return {
        "seconds": (time.perf_counter() - wall) / times,
        "cpu_seconds": (_processor_time() - processor) / times,
    }


def _processor_time() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def build(settings: dict[str, Any]) -> dict[str, float]:
    """Makes the agent of a problem; how many seconds its training step took to compile.

    Args:
        settings: overrides (keys of configs.yaml), spaces (fields of `Spaces`), batch,
            length (rows without the context row), dtype (float32 or bfloat16).
    """
    agent = _of(settings)
    return {
        "compile_seconds": agent.compile_seconds,
        "parameters": sum(
            value.size
            for name, value in agent.agent.params.items()
            if name.split("/")[1] in ("enc", "dyn", "dec", "rew", "con", "actor", "critic")
        ),
    }


def update(settings: dict[str, Any], data: dict[str, np.ndarray], times: int) -> dict[str, float]:
    """Seconds per update on one batch.

    Args:
        settings: See `build`.
        data: Columns [batch, length + 1, ...] of replay, the context row first.
        times: Updates to run, one after the other.
    """
    agent = _of(settings)
    return _timed(agent, lambda: agent.update(data), times)


def act(settings: dict[str, Any], observation: np.ndarray, times: int) -> dict[str, float]:
    """Seconds per call of the policy.

    Args:
        settings: See `build`.
        observation: [environments, observation_size].
        times: Calls, one after the other.
    """
    agent = _of(settings)
    return _timed(agent, lambda: agent.act(observation), times)


OPERATIONS = {
    "dreamerv3.benchmark_build": build,
    "dreamerv3.benchmark_update": update,
    "dreamerv3.benchmark_act": act,
}
