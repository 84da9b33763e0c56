"""A run from the command line: what is trained, on what, and where it is kept."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

from core.config import ConfigError
from core.ranges import check
from core.training.ranges import RANGES
from core.training.train_config import TrainConfig


@dataclasses.dataclass(frozen=True)
class RunConfig:
    """A run from the command line.

    Attributes:
        train: What is trained.
        env: Name of the environment.
        seeds: One independent run each, side by side.
        logdir: The run's folder.
        action_repeat: Steps of the environment per action.
        time_limit: Steps after which an episode is cut off; None for the environment's own.
        eval_every: Rows between evaluations; 0 for none.
        save_every: Seconds between checkpoints, one of which always ends the run.
        chunk_seconds: How long the device works before the progress bar moves.
        tensorboard: Whether to write TensorBoard files too.
        devices: Devices that the seeds are spread over.
    """

    train: TrainConfig
    env: str
    seeds: tuple[int, ...]
    logdir: Path
    action_repeat: int = 1
    time_limit: int | None = None
    eval_every: int = 0
    save_every: float = 300.0
    chunk_seconds: float = 2.0
    tensorboard: bool = False
    devices: int = 1

    def __post_init__(self) -> None:
        if not self.seeds or len(set(self.seeds)) < len(self.seeds):
            raise ConfigError(f"seeds must be one or more different numbers, not {self.seeds}")
        if min(self.seeds) < 0 or max(self.seeds) >= 2**32:
            raise ConfigError(f"seeds must lie in 0 to {2**32 - 1}, not {self.seeds}")
        for key in ("action_repeat", "eval_every", "save_every", "chunk_seconds", "devices"):
            check(RANGES, key, getattr(self, key))
        if self.time_limit is not None:
            check(RANGES, "time_limit", self.time_limit)

    def identity(self) -> dict[str, Any]:
        """What a resumed run must have in common with the one that saved.

        Neither the length of the run is part of it nor the size of the ring, which is made
        to fit on resumption (`core.training.resumption`).
        """
        train = dataclasses.asdict(self.train)
        agent = {f"agent.{key}": value for key, value in train.pop("agent").items()}
        del train["steps"], train["replay_capacity"]
        return {
            "env": self.env,
            "seeds": list(self.seeds),
            "action_repeat": self.action_repeat,
            "time_limit": self.time_limit,
            "devices": self.devices,
            **train,
            **agent,
        }

    def defaults(self) -> dict[str, Any]:
        """What of its identity earlier versions could not say, and did: the agent's defaults."""
        agent = dataclasses.asdict(type(self.train.agent)())
        return {f"agent.{key}": value for key, value in agent.items()}

    def to_json(self) -> str:
        """All that decides the run's numbers, for people."""
        length = {"steps": self.train.steps, "replay_capacity": self.train.replay_capacity}
        return json.dumps(self.identity() | length, indent=2) + "\n"
