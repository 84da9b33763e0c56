"""When TD-MPC2 acts at random, when it plans, and how many updates follow a step.

With S seed steps, the first S + 1 actions are random. After the last of them S updates come at
once, and after every later step as many as are asked for: one, in the reference. That
comparison with `>`, not `≥`, is the reference's (row T8).

Several environments share the seed steps: step k of each is random up to k = S div n, or up to
the end of the first episode if that is later, because nothing is learned from a running one
(rows T7 and T28).

Source: `trainer/online_trainer.py:97-115@5f6fade`, `envs/__init__.py:79@5f6fade`.
"""

from __future__ import annotations

import dataclasses

import jax.numpy as jnp
from jaxtyping import Array, Bool, Int


def default_seed_steps(episode_length: int) -> int:
    """The reference's number of seed steps: five episodes, and 1,000 at least."""
    return max(1000, 5 * episode_length)


@dataclasses.dataclass(frozen=True)
class Schedule:
    """Counts of a run, in closed form of the steps that each environment has made.

    Attributes:
        burst: S: updates after the last random step.
        per_step: Updates after every step of all environments from then on.
        last_random: The step of each environment, counted from 0, that is the last random one.
    """

    burst: int
    per_step: int
    last_random: int

    @classmethod
    def of(
        cls, seed_steps: int, episode_length: int, n_envs: int, updates_per_step: float
    ) -> Schedule:
        """The schedule of a run.

        Args:
            seed_steps: S, of all environments together.
            episode_length: Steps per episode.
            n_envs: Environments.
            updates_per_step: Updates per step of one environment; 1 in the reference.
        """
        return cls(
            burst=seed_steps,
            per_step=updates_for(n_envs, updates_per_step),
            last_random=max(seed_steps // n_envs, episode_length),
        )

    def is_random(self, step: Int[Array, ""]) -> Bool[Array, ""]:
        """Whether the action of a step is random."""
        return step <= self.last_random

    def updates_after(self, steps: Int[Array, ""] | int) -> Int[Array, ""]:
        """Updates that have run once each environment has made so many steps."""
        later = jnp.asarray(steps) - self.last_random - 1
        return jnp.where(later < 0, 0, self.burst + later * self.per_step)


def updates_for(stepped: int, updates_per_step: float) -> int:
    """Updates after a step of so many environments: rounded, halves to even; one at least."""
    return max(1, round(stepped * updates_per_step))
