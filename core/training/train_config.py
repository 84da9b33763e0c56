"""What every training program is, beside its environment, and how its ticks count."""

from __future__ import annotations

import dataclasses
from typing import Any

from core.config import ConfigError
from core.ranges import check_all
from core.training.ranges import RANGES


@dataclasses.dataclass(frozen=True)
class TrainConfig:
    """What a run is, beside its environment; an agent's own adds to it.

    Attributes:
        agent: The agent's configuration.
        steps: Environment rows of the whole run.
        n_envs: Environments per seed; a tick is a row of each.
        replay_capacity: Rows that a seed's replay may hold; a shorter run allocates less.
        log_every: Rows over which metrics are averaged.
        eval_episodes: Episodes of an evaluation.
    """

    agent: Any = None
    steps: int = 20_000
    n_envs: int = 16
    replay_capacity: int = 5_000_000
    log_every: int = 2_000
    eval_episodes: int = 10

    def __post_init__(self) -> None:
        check_all(RANGES, self)
        if self.steps >= 2**31 - self.n_envs:
            raise ConfigError(
                f"steps and n_envs must fit 32 bits together, and {self.steps:,} + "
                f"{self.n_envs:,} do not; choose fewer"
            )

    @property
    def ticks(self) -> int:
        """Ticks of the whole run."""
        return self.ticks_of(self.steps)

    def ticks_of(self, steps: int) -> int:
        """Whole ticks that reach a number of rows."""
        return -(-steps // self.n_envs)
