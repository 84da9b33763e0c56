"""A run that lies in a folder: what it is, and its newest state, to be looked into or played."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from core.environments import TimedEnvironment, make_environment
from core.training.checkpoint import Checkpoints
from core.training.errors import RunError
from core.training.program import RunState, Train
from core.training.run_config import RunConfig
from core.training.train_config import TrainConfig


class SavedRun(NamedTuple):
    """A run in its folder.

    Attributes:
        config: What it is.
        train: Its functions, such as `evaluate`.
        rows: How many each seed had when it was saved last.
        state: What was saved then; the agent's is `state.learners.train`, with a leading axis
            of seeds.
    """

    config: RunConfig
    train: Train
    rows: int
    state: RunState


def load(
    logdir: Path,
    make: Callable[..., TrainConfig],
    make_train: Callable[[Any, TimedEnvironment], Train],
) -> SavedRun:
    """The newest state of a run, which may be going on: nothing in its folder is touched.

    Args:
        logdir: Its folder.
        make: The agent's `TrainConfig`.
        make_train: The agent's.

    Raises:
        RunError: The folder has no run of this agent, or none that was saved.
        CheckpointError: See `Checkpoints.restore`.
        EnvironmentSetupError: See `make_environment`.
    """
    config = read_config(logdir, make)
    environment = make_environment(
        config.env, action_repeat=config.action_repeat, time_limit=config.time_limit
    )
    train = make_train(config.train, environment)
    keys = jax.vmap(jax.random.key)(np.asarray(config.seeds, np.uint32))
    checkpoints = Checkpoints(
        logdir / "checkpoints", config.identity(), config.defaults(), read_only=True
    )
    if checkpoints.latest is None:
        raise RunError(f"{logdir} has no checkpoint; choose the folder of a run that was saved")
    return SavedRun(config, train, *checkpoints.restore(jax.eval_shape(train.init, keys)))


def read_config(logdir: Path, make: Callable[..., TrainConfig]) -> RunConfig:
    """What the run in a folder is, as `RunConfig.to_json` wrote it.

    Args:
        logdir: Its folder.
        make: The agent's `TrainConfig`.

    Raises:
        RunError: See `load`.
    """
    path = logdir / "config.json"
    try:
        about = json.loads(path.read_text())
        settings = {k[6:]: v for k, v in about.items() if k.startswith("agent.")}
        default = make()
        keys = [f.name for f in dataclasses.fields(default) if f.name != "agent"]
        return RunConfig(
            train=make(
                agent=default.agent.replace(**settings), **{key: about[key] for key in keys}
            ),
            env=about["env"],
            seeds=tuple(about["seeds"]),
            logdir=logdir,
            action_repeat=about["action_repeat"],
            time_limit=about["time_limit"],
            devices=about["devices"],
        )
    except OSError as error:
        raise RunError(
            f"{path} can not be read: {error.strerror or error}; choose the folder of a run"
        ) from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise RunError(
            f"{path} is not that of a run of this agent by this version "
            f"({type(error).__name__}: {error}); choose another folder"
        ) from error
