"""What a training program is, beside its environment, and how it counts."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import jax.numpy as jnp
from jaxtyping import Array, Int

from core.config import ConfigError
from core.dreamerv3.config import Config
from core.dreamerv3.schedule import countable, gate, updates_due
from core.training import train_config


@dataclasses.dataclass(frozen=True)
class TrainConfig(train_config.TrainConfig):
    """What a run is, beside its environment. Rows count, those of resets included.

    See `core.training.train_config.TrainConfig`.
    """

    agent: Config = dataclasses.field(default_factory=Config)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.agent, Config):
            raise ConfigError(
                f"agent must be a Config, such as Config.of_size('1m'), not {self.agent!r}"
            )
        if self.agent.enc_layers < 1:
            raise ConfigError("enc_layers must be 1 or more in training, not 0")
        if self._gate >= 2**31:
            raise ConfigError(
                f"batch_length · n_envs + batch_size, the rows before the first update, must fit "
                f"32 bits; {self._gate:,} do not"
            )
        least = (self.agent.batch_length + 1) * self.n_envs
        if self.replay_capacity < least:
            raise ConfigError(
                f"replay_capacity must be {least} or more, batch_length + 1 rows of each of "
                f"{self.n_envs} environments, not {self.replay_capacity}"
            )
        self._check_schedule()

    def _check_schedule(self) -> None:
        """Refuses what `updates_due` can not count in 32 bits."""
        ratio, agent = self.updates_per_row, self.agent
        told = (
            f"train_ratio {agent.train_ratio!r} with batches of {agent.batch_size} × "
            f"{agent.batch_length} rows"
        )
        if not countable(ratio):
            raise ConfigError(
                f"{told} is {ratio} updates per row, whose terms are too large to count updates "
                f"exactly in 32 bits; choose a train_ratio with fewer digits"
            )
        updates = ratio * max(0, self.ticks * self.n_envs - self._gate)
        if updates >= 2**31 - 1:
            raise ConfigError(
                f"{told} is {float(updates):.3g} updates in {self.steps:,} steps, which 32 bits do "
                f"not count; choose a smaller train_ratio or fewer steps"
            )

    @property
    def ring_rows(self) -> int:
        """Rows of each environment that the replay holds: no row less than asked for (row D27)."""
        held = min(-(-self.replay_capacity // self.n_envs), self.ticks)
        return max(held, self.agent.batch_length + 1)

    @property
    def updates_per_row(self) -> Fraction:
        """Updates per environment row, exactly: a `train_ratio` of 33.3 is 333 / 10."""
        batch = self.agent.batch_size * self.agent.batch_length
        # The shortest decimal that is this float is what was typed.
        return Fraction(repr(self.agent.train_ratio)) / batch

    def updates_after(self, ticks: Int[Array, ""] | int) -> Int[Array, ""]:
        """Updates that have run once so many ticks have."""
        return updates_due(jnp.asarray(ticks) * self.n_envs, self._gate, self.updates_per_row)

    @property
    def ticks_without_updates(self) -> int:
        """Ticks before the one with the first update."""
        return self.ticks_of(self._gate) - 1

    @property
    def _gate(self) -> int:
        return gate(self.n_envs, self.agent.batch_size, self.agent.batch_length)
