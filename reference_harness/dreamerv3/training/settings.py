"""What a recorded run is. Both sides import this module: it needs the standard library alone."""

from __future__ import annotations

import dataclasses

ENVIRONMENTS = 16  # that the reference steps side by side: rows of one vector step

# What the reference samples: 16 sequences of 64 rows and a row of context before them.
BATCH, LENGTH = 16, 64
TRAIN_RATIO = 512


class SettingsError(ValueError):
    """Settings that no run can have; says which and what they may be."""


@dataclasses.dataclass(frozen=True)
class Settings:
    """One seed's run.

    Attributes:
        seed: Of the parameters, the policy's draws, and the environments' resets.
        steps: Rows of the whole run, those of resets included.
        record_every: Rows between records.
        eval_episodes: Episodes of the evaluation in every record.
        size: Widths of the networks, a name in `overrides.SIZES`.

    Raises:
        SettingsError: A number is out of its range.
    """

    seed: int = 0
    steps: int = 20_000
    record_every: int = 2_000
    eval_episodes: int = 10
    size: str = "1m"

    def __post_init__(self) -> None:
        if not 0 <= self.seed < 2**32:
            raise SettingsError(f"a seed lies in 0 to {2**32 - 1}, not {self.seed}")
        if self.eval_episodes < 1:
            raise SettingsError(f"an evaluation has at least 1 episode, not {self.eval_episodes}")
        if self.record_every < 1 or self.record_every % ENVIRONMENTS:
            raise SettingsError(
                f"records are made after whole vector steps of {ENVIRONMENTS} rows: every "
                f"{self.record_every} rows is not a multiple of that"
            )
        if self.steps < 1 or self.steps % self.record_every:
            raise SettingsError(
                f"a run ends with a record: {self.steps} rows are not a multiple of "
                f"{self.record_every}"
            )

    @property
    def records(self) -> list[int]:
        """The rows at which there is a record."""
        return list(range(self.record_every, self.steps + 1, self.record_every))

    def updates_at(self, rows: int) -> int:
        """Updates that must have run after so many rows.

        The first comes with the row after which every environment holds a whole sequence (the
        gate, row 1,040); from there on the train ratio says how many.
        """
        gate = ENVIRONMENTS * (LENGTH + 1)
        return 0 if rows < gate else 1 + (rows - gate) * TRAIN_RATIO // (BATCH * LENGTH)


def smoke(seed: int, size: str) -> Settings:
    """The least run in which everything happens: the gate, updates, evaluations, the flush."""
    return Settings(seed, steps=1_200, record_every=400, eval_episodes=2, size=size)
