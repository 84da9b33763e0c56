"""What is fixed before there is a result: lengths, statistics, margin and levels."""

from __future__ import annotations

import dataclasses

from reference_harness.dreamerv3.training.settings import Settings
from reference_harness.dreamerv3.training.settings import smoke as smoke_settings

ENVIRONMENT = "CartPole-v1"
LIMIT = 500  # steps of an episode
WORKERS = 16  # environments of a seed

# Parameters by size of the networks. The reference has more: the columns of the two outputs
# of its two-hot heads that it computes and drops (row D22).
EXTRA_OUTPUTS = 2

WIDTHS = {
    "1m": {"units": 64, "hidden": 64, "deter": 512, "classes": 4},
    "tiny": {"units": 8, "hidden": 8, "deter": 64, "classes": 4},
}

# S1 is the mean of the last three evaluations, S2 of the last ten episodes of each environment.
LAST_EVALUATIONS = 3
LAST_EPISODES = 10

# Returns lie in 0 to 500. Two programs whose mean S1 differs by less than a tenth of that
# range would be called equally good by whoever reads their curves. Fixed before any run at
# full length had ended.
MARGIN = 50.0
ALPHA = 0.05  # of each one-sided test
POWER = 0.8  # for the number of seeds that would settle it
LEVEL = 0.9  # of the bootstrap interval: 1 − 2 ALPHA, as of the equivalence test's

FULL, SMOKE = "full", "smoke"


@dataclasses.dataclass(frozen=True)
class Plan:
    """Which runs a comparison is made of.

    Attributes:
        name: "full" or "smoke"; recordings are found by it.
        size: Of the networks, a name in `WIDTHS`.
        seeds: Of each side.
        steps: Rows of a run.
        record_every: Rows between records.
        eval_episodes: Episodes of an evaluation.
        neutralised: Rows of the deviation table that the reference answers as the core does.
    """

    name: str
    size: str
    seeds: tuple[int, ...]
    steps: int
    record_every: int
    eval_episodes: int
    neutralised: tuple[str, ...] = ()

    def settings(self, seed: int) -> Settings:
        """One seed's run, as both sides know it.

        Raises:
            SettingsError: No run can have these.
        """
        return Settings(seed, self.steps, self.record_every, self.eval_episodes, self.size)

    @property
    def records(self) -> list[int]:
        """The rows at which there is a record."""
        return self.settings(self.seeds[0]).records

    @property
    def last_row(self) -> int:
        """The row of an environment, from 0, that the flush step leads to."""
        return self.steps // WORKERS


def plan(seeds: tuple[int, ...], *, smoke: bool = False, neutralised: tuple[str, ...] = ()) -> Plan:
    """The protocol's runs for these seeds, at full length or as a trial of the plumbing.

    Args:
        seeds: Of each side.
        smoke: The trial.
        neutralised: As of `Plan`.

    Raises:
        SettingsError: A seed is no seed.
    """
    settings = [smoke_settings(s, "tiny") if smoke else Settings(s) for s in seeds]
    first = settings[0]
    return Plan(
        SMOKE if smoke else FULL,
        first.size,
        seeds,
        first.steps,
        first.record_every,
        first.eval_episodes,
        neutralised,
    )
