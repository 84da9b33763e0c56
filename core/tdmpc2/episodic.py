"""Learning from episodes of any length, which may end by themselves (row T29)."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from core.environments import rows
from core.environments.environment import TimedEnvironment
from core.tdmpc2 import rings
from core.tdmpc2.losses import Batch
from core.tdmpc2.resizing import fitted_rings
from core.tdmpc2.rings import Rings
from core.tdmpc2.schedule import Schedule, updates_for
from core.tdmpc2.train_config import TrainConfig
from core.training import windows


@dataclasses.dataclass(frozen=True)
class Episodic:
    """How environments are stepped, what is stored of it, and what is due.

    A tick is a row of each environment, that of an episode's last observation included, which
    no action follows: see `core.environments.rows`. An update is due for every environment that
    stepped, once there is an episode to learn from; the burst waits for one too.

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
        """Rows per environment."""
        held = min(self.config.replay_capacity, self.config.steps)
        return max(-(-held // self.config.n_envs), self.config.agent.horizon + 1)

    def replay(self, action_size: int) -> Rings:
        """An empty replay."""
        c = self.config
        observation_size = self.environment.observation_size
        return rings.init(self.capacity, c.n_envs, observation_size, action_size, c.agent.horizon)

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
            action: Chosen on them; ignored where an episode has ended.
            tick: How many there were before.
        """
        replay = rings.add(learner.replay, tick, seen, action, self.config.agent.horizon)
        environments = jax.vmap(lambda state, a: rows.advance(self.environment, state, a))(
            learner.environments, action
        )
        entered = rows.current(environments)
        return learner._replace(
            environments=environments,
            replay=replay,
            due=self._due(learner.train.updates, replay, ~seen.is_last, tick),
            episodes=windows.add_step(
                learner.episodes, entered.reward, entered.is_first, entered.is_last
            ),
        )

    def _due(
        self, updates: Int[Array, ""], replay: Rings, stepped: Array, tick: Int[Array, ""]
    ) -> Int[Array, ""]:
        n_envs, ratio = self.config.n_envs, self.config.updates_per_step
        of_so_many = jnp.asarray([0, *(updates_for(m, ratio) for m in range(1, n_envs + 1))])
        ordinary = of_so_many[jnp.sum(stepped, dtype=jnp.int32)]
        following = jnp.where(updates == 0, self.schedule.burst, ordinary)
        learns = (tick >= self.schedule.last_random) & rings.can_sample(replay)
        return updates + jnp.where(learns, following, 0)

    def sample(self, replay: Rings, added: Int[Array, ""], key: PRNGKeyArray) -> Batch:
        """Draws a batch after so many rows of each environment."""
        agent = self.config.agent
        where = rings.draw(replay, added, key, agent.batch_size, agent.horizon)
        return rings.batch(replay, where, agent.horizon)

    def where_due(self, after: Any, before: Any) -> Any:
        """A learner after an update, if that was due: other seeds may have more to do."""
        due = before.due > before.train.updates

        def chosen(new: Any, old: Any) -> Any:
            return jax.tree.map(lambda a, b: jnp.where(due, a, b), new, old)

        return before._replace(
            train=chosen(after.train, before.train),
            sums=chosen(after.sums, before.sums),
            fault=chosen(after.fault, before.fault),
        )

    def fitted(self, replay: Rings, added: int) -> Rings:
        """The replay of another run's size in this one's."""
        return fitted_rings(replay, added, self.capacity, self.config.agent.horizon)
