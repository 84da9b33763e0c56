"""DreamerV3 (Hafner et al., 2023) for vector observations.

    from core.dreamerv3 import Config, TrainConfig, make_train

    train = make_train(TrainConfig(Config.of_size("1m")), make_environment("CartPole-v1"))
    state = jax.jit(train.init)(keys)
    state, metrics = jax.jit(train.chunk, donate_argnums=0)(state, ticks)

or, with logs and checkpoints, `python -m core.dreamerv3 --help`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from core.dreamerv3.agent import Agent
    from core.dreamerv3.config import Config, ConfigError
    from core.dreamerv3.outside import load, run
    from core.dreamerv3.train import make_train
    from core.dreamerv3.train_config import TrainConfig
    from core.training.run_config import RunConfig

__all__ = [
    "Agent",
    "Config",
    "ConfigError",
    "RunConfig",
    "TrainConfig",
    "load",
    "make_train",
    "run",
]

_MODULES = {
    "Agent": "core.dreamerv3.agent",
    "Config": "core.dreamerv3.config",
    "ConfigError": "core.dreamerv3.config",
    "RunConfig": "core.training.run_config",
    "TrainConfig": "core.dreamerv3.train_config",
    "load": "core.dreamerv3.outside",
    "make_train": "core.dreamerv3.train",
    "run": "core.dreamerv3.outside",
}


def __getattr__(name: str) -> Any:
    # Only what is asked for is imported: the numerics are used where flax, orbax and the
    # environments would cost seconds.
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_MODULES[name]), name)
