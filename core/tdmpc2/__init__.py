"""TD-MPC2 (Hansen et al., 2024) for vector observations and continuous actions.

    from core.tdmpc2 import Config, TrainConfig, make_train

    train = make_train(TrainConfig(Config.of_size(1)), make_environment("Pendulum-v1"))
    state = jax.jit(train.init)(keys)
    state, metrics = jax.jit(train.chunk, donate_argnums=0)(state, ticks)

or, with logs and checkpoints, `python -m core.tdmpc2 --help`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from core.tdmpc2.agent import Agent, TrainState
    from core.tdmpc2.config import ERAS, SIZES, Config, ConfigError
    from core.tdmpc2.losses import Batch
    from core.tdmpc2.outside import load, run
    from core.tdmpc2.tasks import Tasks
    from core.tdmpc2.train import make_train
    from core.tdmpc2.train_config import TrainConfig
    from core.training.run_config import RunConfig

__all__ = [
    "ERAS",
    "SIZES",
    "Agent",
    "Batch",
    "Config",
    "ConfigError",
    "RunConfig",
    "Tasks",
    "TrainConfig",
    "TrainState",
    "load",
    "make_train",
    "run",
]

_MODULES = {
    "Agent": "core.tdmpc2.agent",
    "Batch": "core.tdmpc2.losses",
    "Config": "core.tdmpc2.config",
    "ConfigError": "core.tdmpc2.config",
    "ERAS": "core.tdmpc2.config",
    "RunConfig": "core.training.run_config",
    "SIZES": "core.tdmpc2.config",
    "Tasks": "core.tdmpc2.tasks",
    "TrainConfig": "core.tdmpc2.train_config",
    "TrainState": "core.tdmpc2.agent",
    "load": "core.tdmpc2.outside",
    "make_train": "core.tdmpc2.train",
    "run": "core.tdmpc2.outside",
}


def __getattr__(name: str) -> Any:
    # Only what is asked for is imported: the numerics are used where flax would cost seconds.
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_MODULES[name]), name)
