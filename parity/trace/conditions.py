"""How well a gradient determines what an adaptive optimiser makes of it.

LaProp and Adam divide a gradient, or a mean of gradients, by the root of its second moment.
Where that root is not much larger than the gradient's error, the quotient is anything between
−1 and 1 in any float32 program; elsewhere its error is the gradient's over the root. Besides,
1 − β₂ᵗ, by which the second moment is divided, is a small difference in float32.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from parity.trace.compare import EPSILON, FACTOR, Own
from parity.trace.difference import gap, largest
from parity.trace.quantity import Arrays, Quantity

_EPSILON = EPSILON["float32"]  # parameters are float32, whatever the compute dtype


class AdaptiveConditions:
    """The conditions of one run, for trees named second_moment and parameter.

    Args:
        beta2: Decay rate of the second moment.
        largest_unit: No quotient is larger.
    """

    def __init__(self, beta2: float, largest_unit: float):
        self._beta2 = beta2
        self._largest_unit = largest_unit
        self._relative: dict[str, float] = {}
        self._second_moments: Arrays = {}
        self.errors: dict[str, float] = {}
        self.units: Arrays = {}
        self.moved: Arrays = {}

    def rate(self, leaf: str, step: int) -> float:
        """The size of a step of a parameter whose quotient is 1."""
        raise NotImplementedError

    def measure(
        self, step: int, leaves: Sequence[str], reference: Arrays, exact: Arrays, own: Own
    ) -> None:
        """See `Conditions`."""
        for leaf in leaves:
            gradient = exact[f"gradient/{leaf}"].astype(np.float64)
            moment = exact[f"second_moment/{leaf}"].astype(np.float64)
            kept = self._beta2 * self._second_moments.get(leaf, np.zeros_like(moment))
            clipped = math.sqrt(max(0.0, float((moment - kept).sum())) / (1 - self._beta2))
            norm = float(np.linalg.norm(gradient))
            quantity = Quantity(f"gradient/{leaf}", "gradient")
            error = own(quantity, reference[quantity.name], gradient)
            relative = error / (largest(gradient) or 1.0)
            self._relative[leaf] = max(relative, self._relative.get(leaf, 0.0))
            error *= clipped / norm if norm else 1.0
            self.errors[leaf] = max(error, self.errors.get(leaf, 0.0))
            correction = 1 - self._beta2 ** (step + 1)
            root = np.sqrt(moment / correction)
            unit = 2 * self.errors[leaf] / np.maximum(root, 1e-300)
            unit = np.minimum(unit, 2 * self._largest_unit) + _EPSILON / correction
            self.units[leaf] = np.maximum(unit, self.units.get(leaf, 0.0))
            rate = self.rate(leaf, step)
            self.moved[leaf] = self.moved.get(leaf, 0.0) + rate * self.units[leaf]
            self._second_moments[leaf] = moment

    def allowed(
        self, step: int, quantity: Quantity, reference: np.ndarray, exact: np.ndarray, own: float
    ) -> np.ndarray:
        """See `Conditions`."""
        if quantity.group == "second_moment":  # of the size of the gradient's square
            return np.asarray(max(own, 2 * self._relative[quantity.leaf] * largest(exact)))
        rounding = FACTOR * _EPSILON * (step + 1) * np.abs(exact)
        return self.at_least_theirs(self.moved[quantity.leaf] + rounding, reference, exact)

    @staticmethod
    def at_least_theirs(bound: np.ndarray, reference: np.ndarray, exact: np.ndarray) -> np.ndarray:
        """A bound; where a moment underflows in float32, the reference itself is far from exact."""
        return np.maximum(bound, FACTOR * gap(reference, exact))
