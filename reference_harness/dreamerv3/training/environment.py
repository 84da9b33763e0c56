"""CartPole as an environment of the reference's own kind. Runs inside the side environment."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import embodied
import numpy as np

from reference_harness.dreamerv3.training.cartpole import CartPole


class CartPoleEnvironment(embodied.Env):
    """What the stock driver steps; see `CartPole` for the arguments."""

    def __init__(self, rng: np.random.Generator, ended: Callable[[dict], None] | None = None):
        self._pole = CartPole(rng, ended)

    @property
    def obs_space(self) -> dict[str, embodied.Space]:
        """One vector of four numbers, and the flags that every environment has."""
        flags = {name: embodied.Space(bool) for name in ("is_first", "is_last", "is_terminal")}
        vector = embodied.Space(np.float32, (4,))
        return {"vector": vector, "reward": embodied.Space(np.float32), **flags}

    @property
    def act_space(self) -> dict[str, embodied.Space]:
        """Left or right."""
        action = embodied.Space(np.int32, (), 0, 2)
        return {"action": action, "reset": embodied.Space(bool)}

    def step(self, action: Mapping[str, Any]) -> dict[str, Any]:
        """The next row."""
        return self._pole.step(int(action["action"]), bool(action["reset"]))
