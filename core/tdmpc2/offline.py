"""Training on a dataset of several tasks, without acting but to be evaluated.

A tick is an update, and where other runs count rows, this one counts updates.

Source: `trainer/offline_trainer.py@5f6fade`.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from core.config import ConfigError
from core.environments import TimedEnvironment, make_environment
from core.spaces import Continuous
from core.tdmpc2 import pool
from core.tdmpc2.agent import Agent, TrainState
from core.tdmpc2.config import Config
from core.tdmpc2.dataset import Dataset, DatasetError
from core.tdmpc2.evaluation import figures_of_tasks, play_tasks
from core.tdmpc2.intermediates import WATCHED
from core.tdmpc2.pool import Pool
from core.training import run as training
from core.training import train_config, windows
from core.training.program import Metrics, RunState, Train, for_seeds
from core.training.progress import ProgressBar
from core.training.run_config import RunConfig

# Which of a seed's streams of random numbers.
_INIT, _UPDATE, _EVALUATION = range(3)


@dataclasses.dataclass(frozen=True)
class OfflineConfig(train_config.TrainConfig):
    """What an offline run is; see also `core.training.train_config.TrainConfig`.

    Attributes:
        steps: Updates of the whole run.
        n_envs: None acts: a tick is one update.
        replay_capacity: Rows of the dataset.
        log_every: Updates over which metrics are averaged; an evaluation follows.
        eval_episodes: Of each task.
        dataset: Its digest: a run goes on with no other.
    """

    agent: Config = dataclasses.field(default_factory=Config)
    steps: int = 1_000_000
    n_envs: int = 1
    replay_capacity: int = 1
    log_every: int = 50_000
    eval_episodes: int = 10
    dataset: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.n_envs != 1:
            raise ConfigError(f"an offline run has no environments: n_envs is 1, not {self.n_envs}")

    @classmethod
    def on(cls, dataset: Dataset, **settings: Any) -> OfflineConfig:
        """A run on a dataset, with settings by name."""
        return cls(dataset=dataset.digest, replay_capacity=len(dataset.reward), **settings)


class Learner(NamedTuple):
    """One seed of a run. In a `RunState`, every array has a leading axis of seeds.

    Attributes:
        key: Where all of the seed's random numbers come from; never changes.
        train: Parameters, optimisers and scale.
        sums: Metrics of the window.
        fault: The first loss that was not finite.
    """

    key: PRNGKeyArray
    train: TrainState
    sums: windows.Sums
    fault: windows.Fault


def make_offline(
    config: OfflineConfig, dataset: Dataset, environments: Sequence[TimedEnvironment]
) -> Train:
    """The functions of a run, whose `chunk` has one more argument: the `Pool` of the dataset.

    Args:
        config: What the run is.
        dataset: What it learns from.
        environments: One of each task, for the evaluations.

    Raises:
        ConfigError: An episode is shorter than the sequences that an update needs.
    """
    tasks, horizon = dataset.tasks, config.agent.horizon
    for name, length in zip(tasks.names, tasks.episode_lengths, strict=True):
        if horizon > length:
            raise ConfigError(
                f"horizon must not be above the {length:,} steps of the episodes of {name}: it is "
                f"{horizon:,}"
            )
    agent = Agent.of_tasks(config.agent, tasks)

    def init_learner(key: PRNGKeyArray) -> Learner:
        return Learner(
            key=key,
            train=agent.init(jax.random.fold_in(key, _INIT)),
            sums=windows.no_sums(dict.fromkeys(WATCHED)),
            fault=windows.no_fault(),
        )

    def learn(learner: Learner, tick: Int[Array, ""], episodes: Pool) -> Learner:
        key = jax.random.fold_in(jax.random.fold_in(learner.key, _UPDATE), tick)
        for_batch, for_noise = jax.random.split(key)
        where = pool.draw(episodes, for_batch, config.agent.batch_size, horizon)
        sequences = pool.batch(episodes, where, horizon)
        noise = agent.update_noise(for_noise)
        trained, metrics = agent.update(learner.train, sequences, noise)
        sums = windows.emptied(tick % config.log_every == 0, learner.sums)
        return learner._replace(
            train=trained,
            sums=windows.add_update(sums, metrics),
            fault=windows.check(learner.fault, metrics, tick + 1, WATCHED),
        )

    def init(keys: PRNGKeyArray) -> RunState:
        return RunState(jnp.zeros((), jnp.int32), jax.vmap(init_learner)(keys))

    def chunk(state: RunState, ticks: Int[Array, ""], episodes: Pool) -> tuple[RunState, Metrics]:
        def tick(_: Any, now: RunState) -> RunState:
            update = functools.partial(learn, episodes=episodes)
            return RunState(now.tick + 1, for_seeds(update, now.learners, now.tick))

        state = jax.lax.fori_loop(0, ticks, tick, state)
        return state, jax.vmap(windows.mean_metrics)(state.learners.sums)

    def evaluate(
        state: RunState,
    ) -> tuple[Float[Array, "seeds tasks n"], Int[Array, "seeds tasks n"]]:
        n, indices = config.eval_episodes, jnp.arange(len(tasks))

        def one(learner: Learner, tick: Int[Array, ""]) -> tuple[Array, Array]:
            def act(carry: Array, observation: Array, t0: Array, key: PRNGKeyArray) -> Any:
                def of_task(its: Any) -> tuple[Array, Array]:
                    carry, observation, t0, key, index = its
                    noise = agent.acting_noise(key, n, explore=False)
                    task = jnp.full(n, index)
                    return agent.act(learner.train.params, carry, observation, t0, noise, task)

                # One task after the other: as much memory as the plans of one.
                keys = jax.random.split(key, len(tasks))
                return jax.lax.map(of_task, (carry, observation, t0, keys, indices))

            # Other initial states at every evaluation, the same in every run.
            key = jax.random.fold_in(jax.random.fold_in(learner.key, _EVALUATION), tick)
            carry = jnp.broadcast_to(
                agent.initial_carry(n), (len(tasks), *agent.initial_carry(n).shape)
            )
            return play_tasks(act, tasks, environments, carry, key, n)

        return for_seeds(one, state.learners, state.tick)

    return Train(
        init,
        chunk,
        evaluate,
        terms=WATCHED,
        loss="total_loss",
        ticks_without_updates=0,
        constants=(Pool.of(dataset),),
        figures=functools.partial(figures_of_tasks, tasks),
    )


def environments_of(dataset: Dataset) -> list[TimedEnvironment]:
    """The environments of a dataset's tasks.

    Raises:
        DatasetError: One is not as it was when its episodes were recorded.
        EnvironmentSetupError: See `make_environment`.
    """
    environments, tasks = [], dataset.tasks
    sizes = zip(tasks.observation_sizes, tasks.action_sizes, tasks.episode_lengths, strict=True)
    for name, origin, told in zip(tasks.names, dataset.origins, sizes, strict=True):
        environment = make_environment(
            origin.env, action_repeat=origin.action_repeat, time_limit=origin.time_limit
        )
        space = environment.action_space
        actions = space.size if isinstance(space, Continuous) else 0
        found = (environment.observation_size, actions, environment.episode_length)
        if found != told:
            raise DatasetError(
                f"the episodes of {name} have lengths {told} of observations, actions and "
                f"episodes, and {origin.env} has {found}; make the dataset anew"
            )
        environments.append(environment)
    return environments


def run_offline(config: RunConfig, dataset: Dataset, bar: ProgressBar | None = None) -> RunState:
    """Trains to the end; see `core.training.run.run`.

    Args:
        config: Whose `train` is an `OfflineConfig` on the dataset.
        dataset: What it learns from.
        bar: Where to show progress.

    Raises:
        ConfigError: The configuration is of another dataset; see also `make_offline`.
    """
    if not isinstance(config.train, OfflineConfig) or config.train.dataset != dataset.digest:
        raise ConfigError("the configuration is not that of a run on this dataset")
    functions = make_offline(config.train, dataset, environments_of(dataset))
    return training.run_program(config, functions, bar)
