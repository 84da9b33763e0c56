"""Learning from episodes that all have the same number of steps, as in the paper."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from core.environments import rows
from core.environments.environment import TimedEnvironment
from core.tdmpc2 import episodes, terminations
from core.tdmpc2.episodes import Episodes
from core.tdmpc2.losses import Batch
from core.tdmpc2.resizing import fitted
from core.tdmpc2.schedule import Schedule
from core.tdmpc2.train_config import TrainConfig
from core.training import windows


@dataclasses.dataclass(frozen=True)
class Timed:
    """How environments are stepped, what is stored of it, and what is due.

    Environments begin and end their episodes together. One that does not is counted, and what
    is learned from then on is worth nothing (row T10).

    Attributes:
        config: What the run is.
        environment: One environment.
        schedule: When to learn.
    """

    config: TrainConfig
    environment: TimedEnvironment
    schedule: Schedule

    @property
    def capacity(self) -> int:
        """Rounds of episodes that can be sampled (row T26)."""
        c = self.config
        steps = min(c.replay_capacity, c.steps)
        return episodes.rounds(steps, self.environment.episode_length, c.n_envs, c.replay_rounding)

    def replay(self, action_size: int) -> Episodes:
        """An empty replay."""
        e, n_envs = self.environment, self.config.n_envs
        length, observation_size = e.episode_length, e.observation_size
        return episodes.init(self.capacity, n_envs, length, observation_size, action_size)

    def step(
        self,
        learner: Any,
        seen: rows.Observed,
        action: Float[Array, "n_envs actions"],
        tick: Int[Array, ""],
    ) -> Any:
        """Takes the actions.

        Args:
            learner: Before.
            seen: Its environments' rows.
            action: Chosen on them.
            tick: How many there were before.
        """
        environments, entered = jax.vmap(
            lambda state, a: rows.transition(self.environment, state, a)
        )(learner.environments, action)
        replay = episodes.add(
            learner.replay, tick, seen.observation, action, entered.reward, entered.observation
        )
        began = windows.begin(learner.episodes, seen.is_first)
        never, last = (
            jnp.zeros_like(seen.is_last),
            (tick + 1) % self.environment.episode_length == 0,
        )
        return learner._replace(
            environments=environments,
            replay=replay,
            due=self.schedule.updates_after(tick + 1),
            episodes=windows.add_step(began, entered.reward, never, entered.is_last),
            terminations=terminations.add(learner.terminations, entered, last, tick + 1),
        )

    def sample(self, replay: Episodes, steps: Int[Array, ""], key: PRNGKeyArray) -> Batch:
        """Draws a batch after so many steps of each environment.

        An episode is there from the step after its last one on: the reference stores it with the
        next reset (`trainer/online_trainer.py:76-94@5f6fade`).
        """
        agent = self.config.agent
        where = episodes.draw(replay, steps - 1, key, agent.batch_size, agent.horizon)
        return episodes.batch(replay, where, agent.horizon)

    def where_due(self, after: Any, before: Any) -> Any:
        """A learner after an update, if that was due: here it is for all of them or for none."""
        del before
        return after

    def fitted(self, replay: Episodes, steps: int) -> Episodes:
        """The replay of another run's size in this one's."""
        return fitted(replay, steps, self.capacity)
