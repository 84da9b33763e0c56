"""What is timed: two sizes on the walker, each with a batch that both sides get."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import jax

from benchmarks.program import Training
from benchmarks.stand_in import StandIn
from core.spaces import Continuous
from core.tdmpc2.agent import Agent
from core.tdmpc2.losses import Batch
from core.tdmpc2.train import make_train
from core.tdmpc2.train_config import TrainConfig
from parity.trace.tdmpc2.problem import Problem, make_batch, make_plan_inputs, make_problem


@dataclasses.dataclass(frozen=True)
class Case:
    """One size, on 24 observations and 6 actions.

    Attributes:
        size: Of the networks, in millions of parameters as the reference counts them.
        updates: In a round.
        plans: Likewise.
        pin: Short hash of the commit whose era the core takes.
    """

    size: int
    updates: int
    plans: int
    pin: str = "5f6fade"

    @property
    def name(self) -> str:
        """What tables call it."""
        return f"size {self.size}, walker"

    @property
    def problem(self) -> Problem:
        """Configuration and spaces, with the default batch of 256 sequences."""
        return make_problem(self.pin, str(self.size))

    @property
    def agent(self) -> Agent:
        """The core's agent."""
        p = self.problem
        return Agent(p.config, p.observation_size, p.action_size, p.episode_length)


CASES: Mapping[str, Case] = {"1": Case(1, 20, 20), "5": Case(5, 5, 5)}
TICKS = {"1": 40, "5": 10}  # of the training program that are timed

# So that the burst of updates after the seed phase does not last for minutes.
_EPISODE = _SEED_STEPS = 20


def training(name: str) -> Training:
    """The training program of a case: one environment, a replay of 20,000 steps."""
    problem = CASES[name].problem
    environment = StandIn(problem.observation_size, Continuous(problem.action_size), _EPISODE)
    config = TrainConfig(problem.config, steps=20_000, seed_steps=_SEED_STEPS)
    return Training(make_train(config, environment), config.n_envs, lambda replay: _bytes(replay))


def _bytes(replay: Any) -> float:
    """Memory of one step in the replay, the last observation of its episode shared out."""
    arrays = jax.tree.leaves(replay)
    return sum(x.size * x.dtype.itemsize for x in arrays) / replay.reward.size


def batch(case: Case) -> dict[str, Any]:
    """Sequences, as the harness and the core name their parts."""
    return make_batch(case.problem, step=0)


def core_batch(case: Case) -> Batch:
    """The same in the core's form."""
    return Batch(**batch(case))


def observation(case: Case) -> Any:
    """What is planned from."""
    return make_plan_inputs(case.problem, step=0)["observation"]
