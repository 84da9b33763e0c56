"""How far the two sides of a step are apart, and whether that is more than rounding.

Both run in the same precision; a third run, of the reference in float64, says where the
exact values are. What is asked of the subject is that it is not much further from them than the
reference itself, so the tolerance of each quantity is measured in the same run, not chosen.
Where the reference is very much further from them than the subject, the two part as well, and
the reference is the suspect.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from core.dreamerv3.config import Config
from parity.trace.difference import Difference, difference, gap, largest
from parity.trace.problem import Arrays
from parity.trace.quantities import Quantity

FACTOR = 4.0  # times the reference's own distance from float64
LOSS_RELATIVE = 1e-5

# Two compilers' roundings differ by less than FACTOR nearly always; what D22 does to a
# decoded reward is a hundred thousand times a rounding.
REFERENCE_FACTOR = 100.0

_EPSILON = {"float32": float(np.finfo(np.float32).eps), "bfloat16": 2.0**-7}


class Comparator:
    """Compares the steps of one run, in order; tolerances of later ones build on earlier ones.

    Args:
        config: Of the core; step size and decay rates are read.
        dtype: The compute dtype of both sides.
        first_update: How many updates there were before the first step.
    """

    def __init__(self, config: Config, dtype: str, first_update: int = 0):
        self._config = config
        self._epsilon = _EPSILON[dtype]
        self._parameter_epsilon = _EPSILON["float32"]  # parameters are float32 either way
        self._before = first_update
        self._step = 0
        self._typical = 0.0
        self._gradient_errors: dict[str, float] = {}
        self._relative: dict[str, float] = {}
        self._second_moments: Arrays = {}
        self._units: Arrays = {}
        self._moved: Arrays = {}

    def step(
        self,
        quantities: Sequence[Quantity],
        subject: Mapping[str, np.ndarray],
        reference: Mapping[str, np.ndarray],
        exact: Mapping[str, np.ndarray],
    ) -> list[Difference]:
        """Compares one step.

        Args:
            quantities: What, in order: the gradients before the moments and the parameters.
            subject: Arrays by name.
            reference: Likewise.
            exact: Likewise, of the float64 run.
        """
        self._measure_conditions(quantities, reference, exact)
        found = [
            self._compare(quantity, subject.get(quantity.name), reference, exact)
            for quantity in quantities
        ]
        self._step += 1
        return found

    def _compare(
        self,
        quantity: Quantity,
        subject: np.ndarray | None,
        references: Mapping[str, np.ndarray],
        exacts: Mapping[str, np.ndarray],
    ) -> Difference:
        reference, exact = references[quantity.name], exacts[quantity.name]
        if subject is None or subject.shape != reference.shape:
            problem = f"there is no such array; the reference's has the shape {reference.shape}"
            if subject is not None:
                problem = f"it has the shape {subject.shape}, the reference's {reference.shape}"
            return Difference(quantity, self._step, 0, problem=problem)
        allowed, theirs = np.asarray(0.0), math.inf
        if quantity.kind != "count":
            allowed = self._allowed(quantity, reference, exact)
        if quantity.kind in ("intermediate", "loss", "gradient"):
            rounding = max(largest(gap(subject, exact)), self._epsilon * largest(exact))
            theirs = REFERENCE_FACTOR * rounding
        return difference(quantity, self._step, subject, reference, exact, allowed, theirs)

    def _allowed(self, quantity: Quantity, reference: np.ndarray, exact: np.ndarray) -> np.ndarray:
        tree, _, leaf = quantity.name.partition("/")
        own = self._own_distance(quantity, reference, exact)
        if tree == "second_moment":  # of the size of the gradient's square
            return np.asarray(max(own, 2 * self._relative[leaf] * largest(exact)))
        if tree == "slow_critic":
            return own + self._moved[f"critic/{leaf}"]
        if tree == "momentum":
            bound = self._units[leaf]
        elif tree == "parameter":
            rounding = FACTOR * self._parameter_epsilon * (self._step + 1)
            bound = self._moved[leaf] + rounding * np.abs(exact)
        else:
            return np.asarray(own)
        # Where a second moment underflows in float32, the reference itself is far from exact.
        return np.maximum(bound, FACTOR * gap(reference, exact))

    def _own_distance(self, quantity: Quantity, reference: np.ndarray, exact: np.ndarray) -> float:
        """Some times the reference's own distance from float64, or a rounding if it has none.

        A gradient of a few numbers can be close to exact by chance, so each is granted what
        the median of all gradients has, relative to its size.
        """
        scale = largest(exact)
        typical = self._typical if quantity.kind == "gradient" else 0.0
        own = max(largest(gap(reference, exact)), max(typical, self._epsilon) * scale)
        allowed = FACTOR * own
        return max(allowed, LOSS_RELATIVE * scale) if quantity.kind == "loss" else allowed

    def _measure_conditions(
        self,
        quantities: Sequence[Quantity],
        reference: Mapping[str, np.ndarray],
        exact: Mapping[str, np.ndarray],
    ) -> None:
        """How well each number of the optimiser's step is determined by its gradient.

        LaProp divides a gradient by the root of its second moment. Where that root is not
        much larger than the gradient's error, the quotient is anything between −1 and 1 in
        any float32 program; elsewhere its error is the gradient's over the root. Besides,
        1 − β₂ᵗ, by which the second moment is divided, is a small difference in float32.
        """
        c, step = self._config, self._step
        leaves = [q.name.partition("/")[2] for q in quantities if q.kind == "gradient"]
        errors = []
        for leaf in leaves:
            gradient = exact[f"gradient/{leaf}"]
            apart = largest(gap(reference[f"gradient/{leaf}"], gradient))
            errors.append(apart / (largest(gradient) or 1.0))
        self._typical = float(np.median(errors)) if errors else 0.0
        rate = c.learning_rate * min(1.0, (self._before + step) / c.warmup if c.warmup else 1.0)
        for leaf in leaves:
            gradient = exact[f"gradient/{leaf}"].astype(np.float64)
            moment = exact[f"second_moment/{leaf}"].astype(np.float64)
            kept = c.beta2 * self._second_moments.get(leaf, np.zeros_like(moment))
            clipped = math.sqrt(max(0.0, float((moment - kept).sum())) / (1 - c.beta2))
            norm = float(np.linalg.norm(gradient))
            quantity = Quantity(f"gradient/{leaf}", "gradient")
            error = self._own_distance(quantity, reference[quantity.name], gradient)
            relative = error / (largest(gradient) or 1.0)
            self._relative[leaf] = max(relative, self._relative.get(leaf, 0.0))
            error *= clipped / norm if norm else 1.0
            self._gradient_errors[leaf] = max(error, self._gradient_errors.get(leaf, 0.0))
            correction = 1 - c.beta2 ** (step + 1)
            root = np.sqrt(moment / correction)
            unit = 2 * self._gradient_errors[leaf] / np.maximum(root, 1e-300)
            unit = np.minimum(unit, 2 / math.sqrt(1 - c.beta2))  # no quotient is larger
            unit = unit + self._parameter_epsilon / correction
            self._units[leaf] = np.maximum(unit, self._units.get(leaf, 0.0))
            self._moved[leaf] = self._moved.get(leaf, 0.0) + rate * (self._units[leaf])
            self._second_moments[leaf] = moment
