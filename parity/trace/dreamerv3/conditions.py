"""How well a gradient determines LaProp's moments and what it makes of the parameters."""

from __future__ import annotations

import math

import numpy as np

from core.dreamerv3.config import Config
from parity.trace.conditions import AdaptiveConditions
from parity.trace.quantity import Quantity


class LaPropConditions(AdaptiveConditions):
    """The conditions of one run.

    Args:
        config: Of the core; step size and decay rates are read.
        first_update: How many updates there were before the first step.
    """

    def __init__(self, config: Config, first_update: int = 0):
        super().__init__(config.beta2, 1 / math.sqrt(1 - config.beta2))
        self._config = config
        self._before = first_update

    def rate(self, leaf: str, step: int) -> float:
        """The step size, with the warm-up."""
        del leaf
        c = self._config
        return c.learning_rate * min(1.0, (self._before + step) / c.warmup if c.warmup else 1.0)

    def allowed(
        self, step: int, quantity: Quantity, reference: np.ndarray, exact: np.ndarray, own: float
    ) -> np.ndarray:
        """See `Conditions`: LaProp's momentum is a mean of quotients."""
        if quantity.group == "slow_critic":
            return own + self.moved[f"critic/{quantity.leaf}"]
        if quantity.group == "momentum":
            return self.at_least_theirs(self.units[quantity.leaf], reference, exact)
        return super().allowed(step, quantity, reference, exact, own)
