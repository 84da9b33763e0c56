"""What is timed: two sizes, each with a batch that both sides get."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from benchmarks.program import Training
from benchmarks.stand_in import StandIn
from core.dreamerv3 import replay
from core.dreamerv3.agent import Agent
from core.dreamerv3.train import make_train
from core.dreamerv3.train_config import TrainConfig
from core.dreamerv3.types import Context, Latent, Rows
from core.environments import make_environment
from parity.trace.dreamerv3.problem import Problem, make_problem, make_rows
from parity.trace.quantity import Arrays

ENVIRONMENTS = 16


@dataclasses.dataclass(frozen=True)
class Case:
    """One size, with the observations and actions of one environment.

    Attributes:
        name: What tables call it.
        size: Widths of the networks.
        kind: Of the actions, discrete or continuous.
        environment: What the whole training program is timed with: a real environment, or
            none, for a stand-in of the same sizes that costs nothing.
    """

    name: str
    size: str
    kind: Any
    environment: str | None

    @property
    def problem(self) -> Problem:
        """Configuration, spaces, and batches of 16 sequences of 64 rows."""
        return make_problem(self.size, self.kind, batch=16, length=64)

    @property
    def agent(self) -> Agent:
        """The core's agent."""
        problem = self.problem
        return Agent(problem.config, problem.observation_size, problem.actions)


CASES: Mapping[str, Case] = {
    "cartpole": Case("1m CartPole", "1m", "discrete", "CartPole-v1"),
    "walker": Case("12m walker", "12m", "continuous", None),
}


TICKS = {"cartpole": 2, "walker": 1}  # of the training program that are timed


def training(name: str) -> Training:
    """The training program of a case: 16 environments, and a replay of 20,000 rows."""
    case = CASES[name]
    size, actions = case.problem.observation_size, case.problem.actions
    environment = make_environment(case.environment) if case.environment else StandIn(size, actions)
    config = TrainConfig(case.problem.config, steps=20_000)
    return Training(make_train(config, environment), config.n_envs, replay.bytes_per_row)


def core_batch(columns: Arrays) -> tuple[Rows, Context]:
    """The same batch in the core's form: the first row of each sequence is its context."""
    rows = Rows(
        columns["vector"][:, 1:],
        columns["action"][:, 1:],
        columns["reward"][:, 1:],
        columns["is_first"][:, 1:],
        columns["is_last"][:, 1:],
        columns["is_terminal"][:, 1:],
    )
    latent = Latent(columns["deter"][:, 0], columns["stoch"][:, 0])
    return rows, Context(latent, columns["action"][:, 0])


def columns(case: Case) -> Arrays:
    """The batch as the reference's replay would hand it out."""
    return make_rows(case.problem, step=0)


def observations(case: Case) -> np.ndarray:
    """What the policy sees: one observation of each environment."""
    rng = np.random.default_rng(1)
    return rng.normal(size=(ENVIRONMENTS, case.problem.observation_size)).astype(np.float32)
