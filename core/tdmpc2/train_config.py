"""What a training program of TD-MPC2 is, beside its environment."""

from __future__ import annotations

import dataclasses

from core.config import ConfigError
from core.environments.environment import TimedEnvironment
from core.ranges import COUNT, POSITIVE, check
from core.tdmpc2.config import Config
from core.tdmpc2.episodes import ROUNDINGS
from core.tdmpc2.schedule import Schedule, default_seed_steps, updates_for
from core.training import train_config

RANGES = {"seed_steps": COUNT, "updates_per_step": POSITIVE}
_LARGEST = 2**31 - 1


@dataclasses.dataclass(frozen=True)
class TrainConfig(train_config.TrainConfig):
    """What a run is, beside its environment. A row is a step of an environment, as upstream.

    See also `core.training.train_config.TrainConfig`.

    Attributes:
        seed_steps: Steps with random actions, and updates after them; None for the reference's
            rule, five episodes and 1,000 at least.
        updates_per_step: Updates per step after that (row T28).
        replay_rounding: To a whole number of rounds of episodes, which way `replay_capacity` is
            rounded: "ceil", or "floor" as in the reference's first commit (row T26).
        episodic: Whether episodes may end by themselves and at any time (row T29). Then a row is
            one of `core.environments.rows`: an episode of L steps has L + 1, and the
            agent's own `episodic` is set: it predicts ends, and its plans stop at them.
    """

    agent: Config = dataclasses.field(default_factory=Config)
    steps: int = 1_000_000
    n_envs: int = 1
    replay_capacity: int = 1_000_000
    log_every: int = 1_000
    seed_steps: int | None = None
    updates_per_step: float = 1.0
    replay_rounding: str = "ceil"
    episodic: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.agent, Config):
            raise ConfigError(
                f"agent must be a Config, such as Config.of_size(5), not {self.agent!r}"
            )
        if self.episodic:
            object.__setattr__(self, "agent", self.agent.replace(episodic=True))
        elif self.agent.episodic:
            raise ConfigError(
                "agent.episodic belongs to a run whose episodes may end by themselves: choose "
                "--episodic, which sets it"
            )
        if self.seed_steps is not None:
            check(RANGES, "seed_steps", self.seed_steps)
        check(RANGES, "updates_per_step", self.updates_per_step)
        if self.replay_rounding not in ROUNDINGS:
            raise ConfigError(
                f"replay_rounding must be one of {', '.join(map(repr, ROUNDINGS))}, "
                f"not {self.replay_rounding!r}"
            )

    def schedule(self, environment: TimedEnvironment) -> Schedule:
        """When to act at random, and when to learn.

        Raises:
            ConfigError: There are more updates than 32 bits count.
        """
        length = environment.episode_length
        seed_steps = default_seed_steps(length) if self.seed_steps is None else self.seed_steps
        updates = seed_steps + self.ticks * updates_for(self.n_envs, self.updates_per_step)
        if updates > _LARGEST:
            raise ConfigError(
                f"{self.steps:,} steps with updates_per_step {self.updates_per_step!r} are "
                f"{updates:.3g} updates, which 32 bits do not count; choose fewer"
            )
        return Schedule.of(seed_steps, length, self.n_envs, self.updates_per_step)
