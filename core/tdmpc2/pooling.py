"""A dataset of several tasks from the episodes of runs of one task each."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import jax
import numpy as np
from jaxtyping import Float

from core.config import ConfigError
from core.environments import make_environment
from core.tdmpc2.config import Config
from core.tdmpc2.dataset import Dataset, DatasetError, Origin
from core.tdmpc2.episodes import Episodes
from core.tdmpc2.mt30 import MT30
from core.tdmpc2.tasks import Tasks
from core.tdmpc2.train import make_train
from core.tdmpc2.train_config import TrainConfig
from core.training.checkpoint import Checkpoints
from core.training.run_config import RunConfig


@dataclasses.dataclass(frozen=True)
class Source:
    """Episodes of one task.

    Attributes:
        origin: Its environment.
        observation: Of every step, and the one that the last step led to.
        action: Taken on it.
        reward: Received for that.
    """

    origin: Origin
    observation: Float[np.ndarray, "episodes T1 observation_size"]
    action: Float[np.ndarray, "episodes T actions"]
    reward: Float[np.ndarray, "episodes T"]

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Lengths of observations, actions and episodes."""
        return self.observation.shape[-1], self.action.shape[-1], self.reward.shape[-1]


def source_of_replay(origin: Origin, replay: Episodes, steps: int) -> Source:
    """All episodes of a run, the oldest first, those of all its seeds and environments.

    Args:
        origin: Its environment.
        replay: Of several seeds: [seeds, places, n_envs, ...].
        steps: Of each environment so far. An episode that is not complete is left out.

    Raises:
        DatasetError: There is no complete episode, or some have been overwritten.
    """
    seeds, places, n_envs, length = replay.reward.shape
    complete = steps // length
    if not complete:
        raise DatasetError(f"there is no whole episode of {length:,} steps in {steps:,}")
    if complete >= places:
        raise DatasetError(
            f"of {complete:,} episodes per environment, the replay has overwritten all but "
            f"{places - 1:,}; take a run whose --replay-capacity is {steps * n_envs} or more"
        )

    def flat(part: Any) -> np.ndarray:
        kept = np.asarray(part)[:, :complete].swapaxes(0, 1)
        return kept.reshape(complete * seeds * n_envs, *kept.shape[3:])

    return Source(origin, *(flat(part) for part in replay))


def source_of_run(logdir: Path) -> Source:
    """All episodes that the newest checkpoint of a run holds.

    Raises:
        DatasetError: The folder has no run with a checkpoint, or see `source_of_replay`.
        CheckpointError: See `Checkpoints.restore`.
        EnvironmentSetupError: See `make_environment`.
    """
    config = _config_of(logdir)
    train = cast(TrainConfig, config.train)
    origin = Origin(config.env, config.action_repeat, config.time_limit)
    environment = make_environment(
        origin.env, action_repeat=origin.action_repeat, time_limit=origin.time_limit
    )
    keys = jax.vmap(jax.random.key)(np.asarray(config.seeds, np.uint32))
    shape = jax.eval_shape(make_train(train, environment).init, keys)
    checkpoints = Checkpoints(logdir / "checkpoints", config.identity(), config.defaults())
    if checkpoints.latest is None:
        raise DatasetError(f"{logdir} has no checkpoint; choose the folder of a run that was saved")
    _, state = checkpoints.restore(shape)
    try:
        return source_of_replay(origin, state.learners.replay, int(state.tick))
    except DatasetError as error:
        raise DatasetError(f"{logdir}: {error}") from error


def sources_of_dataset(dataset: Dataset) -> list[Source]:
    """The episodes of each task of a dataset, as they were before they were pooled."""
    found, tasks = [], dataset.tasks
    of_row = np.repeat(dataset.task, dataset.length + 1)
    sizes = zip(tasks.observation_sizes, tasks.action_sizes, tasks.episode_lengths, strict=True)
    for index, (origin, (o, a, t)) in enumerate(zip(dataset.origins, sizes, strict=True)):
        rows = slice(None) if len(tasks) == 1 else of_row == index
        observation = dataset.observation[rows].reshape(-1, t + 1, dataset.observation.shape[-1])
        action = dataset.action[rows].reshape(-1, t + 1, dataset.action.shape[-1])
        reward = dataset.reward[rows].reshape(-1, t + 1)
        found.append(Source(origin, observation[..., :o], action[:, :t, :a], reward[:, :t]))
    return found


def _config_of(logdir: Path) -> RunConfig:
    path = logdir / "config.json"
    try:
        about = json.loads(path.read_text())
        agent = {k[6:]: v for k, v in about.items() if k.startswith("agent.")}
        keys = [field.name for field in dataclasses.fields(TrainConfig) if field.name != "agent"]
        train = TrainConfig(Config().replace(**agent), **{key: about[key] for key in keys})
        config = RunConfig(
            train=train,
            env=about["env"],
            seeds=tuple(about["seeds"]),
            logdir=logdir,
            action_repeat=about["action_repeat"],
            time_limit=about["time_limit"],
            devices=about["devices"],
        )
    except OSError as error:
        raise DatasetError(
            f"{path} can not be read: {error.strerror or error}; choose the folder of a run"
        ) from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise DatasetError(
            f"{path} is not that of a run of TD-MPC2 by this version "
            f"({type(error).__name__}: {error}); choose another folder"
        ) from error
    if train.episodic:
        raise DatasetError(
            f"the run in {logdir} is episodic: its episodes have no common length; choose another"
        )
    return config


def pooled(sources: Sequence[Source], *, mt30: bool = False) -> Dataset:
    """The episodes of all sources together.

    Args:
        sources: Several of one environment make one task. Tasks have the order in which they
            come, and the names of their environments.
        mt30: Whether they have to be the tasks of `MT30` instead, which then have the order and
            the names of the reference, wherever they come.

    Raises:
        DatasetError: Sources of one environment differ, a task of `MT30` is missing, or there
            is another one; see also `Dataset`.
    """
    of_env: dict[str, list[Source]] = {}
    for source in sources:
        of_env.setdefault(source.origin.env, []).append(source)
    names = {name: name for name in of_env}
    if mt30:
        absent = [env for env in MT30.values() if env not in of_env]
        others = [env for env in of_env if env not in MT30.values()]
        if absent or others:
            raise DatasetError(
                f"the set of 19 tasks lacks {', '.join(absent) or 'none'} and does not have "
                f"{', '.join(others) or 'none of the others'}"
            )
        names = dict(MT30)
    groups = [of_env[env] for env in names.values()]
    for group in groups:
        first = group[0]
        for other in group[1:]:
            if (other.origin, other.sizes) != (first.origin, first.sizes):
                raise DatasetError(
                    f"episodes of {first.origin.env} are not alike: {first.origin} with lengths "
                    f"{first.sizes} of observations, actions and episodes, and {other.origin} "
                    f"with {other.sizes}"
                )
    try:
        sizes = tuple(zip(*(group[0].sizes for group in groups), strict=True)) or ((), (), ())
        tasks = Tasks(tuple(names), *sizes)
    except ConfigError as error:
        raise DatasetError(str(error)) from error
    return _joined(tasks, groups)


def _joined(tasks: Tasks, groups: list[list[Source]]) -> Dataset:
    counts = [sum(len(source.reward) for source in group) for group in groups]
    task = np.repeat(np.arange(len(tasks), dtype=np.int32), counts)
    rows = int(sum(n * (t + 1) for n, t in zip(counts, tasks.episode_lengths, strict=True)))
    # Allocated once: the parts together can be half of the memory.
    observation = np.zeros((rows, tasks.observation_size), np.float32)
    action = np.zeros((rows, tasks.action_size), np.float32)
    reward = np.zeros(rows, np.float32)
    start = 0
    for source in (source for group in groups for source in group):
        o, a, t = source.sizes
        n = len(source.reward)
        end = start + n * (t + 1)
        observation[start:end, :o] = source.observation.reshape(-1, o)
        action[start:end].reshape(n, t + 1, -1)[:, :t, :a] = source.action
        reward[start:end].reshape(n, t + 1)[:, :t] = source.reward
        start = end
    origins = tuple(group[0].origin for group in groups)
    return Dataset(tasks, origins, observation, action, reward, task)
