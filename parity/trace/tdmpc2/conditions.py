"""How well a gradient determines Adam's moments and what it makes of the parameters."""

from __future__ import annotations

import math

import numpy as np

from core.tdmpc2.config import Config
from parity.trace.conditions import AdaptiveConditions
from parity.trace.quantity import Quantity


class AdamConditions(AdaptiveConditions):
    """The conditions of one run.

    Args:
        config: Of the core; step sizes and decay rates are read.
    """

    def __init__(self, config: Config):
        # Of a mean of gradients over the root of the mean of their squares.
        super().__init__(config.beta2, max(1.0, (1 - config.beta1) / math.sqrt(1 - config.beta2)))
        self._config = config

    def rate(self, leaf: str, step: int) -> float:
        """The step size; the encoder has one of its own."""
        del step
        c = self._config
        return c.learning_rate * (c.enc_lr_scale if leaf.startswith("encoder/") else 1.0)

    def allowed(
        self, step: int, quantity: Quantity, reference: np.ndarray, exact: np.ndarray, own: float
    ) -> np.ndarray:
        """See `Conditions`: Adam's first moment is a mean of gradients."""
        if quantity.group == "first_moment":
            return np.asarray(max(own, self.errors[quantity.leaf]))
        if quantity.group == "target_q":
            return own + self._config.tau * (step + 1) * self.moved[quantity.leaf]
        return super().allowed(step, quantity, reference, exact, own)
