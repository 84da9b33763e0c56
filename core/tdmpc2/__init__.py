"""TD-MPC2 (Hansen et al., 2024) for vector observations and continuous actions.

from core.tdmpc2 import Agent, Config

agent = Agent(Config.of_size(1), observation_size=24, action_size=6, episode_length=500)
state = jax.jit(agent.init)(key)
state, metrics = jax.jit(agent.update)(state, batch, agent.update_noise(key))
carry, action = jax.jit(agent.act)(state.params, carry, observation, t0, noise)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from core.tdmpc2.agent import Agent, TrainState
    from core.tdmpc2.config import ERAS, SIZES, Config, ConfigError
    from core.tdmpc2.losses import Batch
    from core.tdmpc2.tasks import Tasks

__all__ = ["ERAS", "SIZES", "Agent", "Batch", "Config", "ConfigError", "Tasks", "TrainState"]

_MODULES = {
    "Agent": "agent",
    "Batch": "losses",
    "Config": "config",
    "ConfigError": "config",
    "ERAS": "config",
    "SIZES": "config",
    "Tasks": "tasks",
    "TrainState": "agent",
}


def __getattr__(name: str) -> Any:
    # Only what is asked for is imported: the numerics are used where flax would cost seconds.
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
