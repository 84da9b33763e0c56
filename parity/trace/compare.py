"""How far the two sides of a step are apart, and whether that is more than rounding.

Both run in the same precision; a third run, of the reference in float64, says where the
exact values are. What is asked of the subject is that it is not much further from them than the
reference itself, so the tolerance of each quantity is measured in the same run, not chosen.
Where the reference is very much further from them than the subject, the two part as well, and
the reference is the suspect.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import numpy as np

from parity.trace.difference import Difference, difference, gap, largest
from parity.trace.quantity import Arrays, Quantity

FACTOR = 4.0  # times the reference's own distance from float64
LOSS_RELATIVE = 1e-5

# Two compilers' roundings differ by less than FACTOR nearly always; what D22 does to a
# decoded reward is a hundred thousand times a rounding.
REFERENCE_FACTOR = 100.0

# What a layer multiplies by, by the name of what it adds.
FACTORS = {"bias": "kernel", "offset": "scale"}

EPSILON = {"float32": float(np.finfo(np.float32).eps), "bfloat16": 2.0**-7}

# From a quantity and its arrays, the reference's and the exact one, to what it may be off by.
Own = Callable[[Quantity, np.ndarray, np.ndarray], float]


class Conditions(Protocol):
    """How well a gradient determines what an optimiser makes of it."""

    def measure(
        self, step: int, leaves: Sequence[str], reference: Arrays, exact: Arrays, own: Own
    ) -> None:
        """Takes note of a step, before anything of it is compared.

        Args:
            step: From 0.
            leaves: Of the gradients.
            reference: Arrays by name.
            exact: Likewise, of the float64 run.
            own: How far a gradient may be from the exact one.
        """
        ...

    def allowed(
        self, step: int, quantity: Quantity, reference: np.ndarray, exact: np.ndarray, own: float
    ) -> np.ndarray:
        """How far each number of a moment or a parameter may be from the exact one.

        Args:
            step: From 0.
            quantity: Which.
            reference: The reference's.
            exact: The float64 run's.
            own: What any other quantity would be allowed.
        """
        ...


class Comparator:
    """Compares the steps of one run, in order; tolerances of later ones build on earlier ones.

    Args:
        conditions: Of the agent's optimisers.
        dtype: The compute dtype of both sides.
    """

    def __init__(self, conditions: Conditions, dtype: str):
        self._conditions = conditions
        self._epsilon = EPSILON[dtype]
        self._step = 0
        self._typical = 0.0
        self._granted: dict[str, float] = {}

    def step(
        self,
        quantities: Sequence[Quantity],
        subject: Mapping[str, np.ndarray],
        reference: Mapping[str, np.ndarray],
        exact: Mapping[str, np.ndarray],
    ) -> list[Difference]:
        """Compares one step.

        Args:
            quantities: What, in order.
            subject: Arrays by name.
            reference: Likewise.
            exact: Likewise, of the float64 run.
        """
        leaves = [quantity.leaf for quantity in quantities if quantity.kind == "gradient"]
        self._typical = _typical_error(leaves, reference, exact)
        self._granted = _errors_of_factors(leaves, reference, exact)
        self._granted |= _errors_of_norms(quantities, reference, exact)
        self._conditions.measure(
            self._step, leaves, dict(reference), dict(exact), self._own_distance
        )
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
            own = self._own_distance(quantity, reference, exact)
            allowed = np.asarray(own)
            if quantity.kind in ("moment", "parameter"):
                inputs = (self._step, quantity, reference, exact, own)
                allowed = self._conditions.allowed(*inputs)
        if quantity.kind in ("intermediate", "loss", "gradient", "norm"):
            rounding = max(largest(gap(subject, exact)), self._epsilon * largest(exact))
            theirs = REFERENCE_FACTOR * rounding
        return difference(quantity, self._step, subject, reference, exact, allowed, theirs)

    def _own_distance(self, quantity: Quantity, reference: np.ndarray, exact: np.ndarray) -> float:
        """Some times the reference's own distance from float64, or a rounding if it has none.

        A gradient of a few numbers can be close to exact by chance, so each is granted what
        the median of all gradients has, relative to its size, and a bias's what its layer's
        kernel has: it sums the terms that the kernel's weighs with inputs of about 1, so its
        error is as large, however small the sum that they cancel to. An offset after a
        normalisation is to its scale what a bias is to its kernel. A norm is granted what it
        is made of: it can be off by the norm of the gradients' errors.
        """
        scale = largest(exact)
        own = max(largest(gap(reference, exact)), self._epsilon * scale)
        if quantity.kind == "gradient":
            own = max(own, self._typical * scale)
        own = max(own, self._granted.get(quantity.name, 0.0))
        allowed = FACTOR * own
        return max(allowed, LOSS_RELATIVE * scale) if quantity.kind == "loss" else allowed


def _errors_of_factors(
    leaves: Sequence[str], reference: Mapping[str, np.ndarray], exact: Mapping[str, np.ndarray]
) -> dict[str, float]:
    """By each summand's gradient, the largest error of the reference's gradient of its factor."""
    errors = {}
    for leaf in leaves:
        layer, _, last = leaf.rpartition("/")
        factor = f"gradient/{layer}/{FACTORS.get(last)}"
        if factor in exact:
            errors[f"gradient/{leaf}"] = largest(gap(reference[factor], exact[factor]))
    return errors


def _errors_of_norms(
    quantities: Sequence[Quantity],
    reference: Mapping[str, np.ndarray],
    exact: Mapping[str, np.ndarray],
) -> dict[str, float]:
    """By each norm, that of the errors of the reference's gradients that it is made of."""
    errors, squares = {}, 0.0
    for quantity in quantities:
        if quantity.kind == "gradient":
            apart = gap(reference[quantity.name], exact[quantity.name])
            squares += float(np.square(apart).sum())
        elif quantity.kind == "norm":
            errors[quantity.name], squares = math.sqrt(squares), 0.0
    return errors


def _typical_error(
    leaves: Sequence[str], reference: Mapping[str, np.ndarray], exact: Mapping[str, np.ndarray]
) -> float:
    """The median of the relative errors of the reference's gradients.

    Where nothing has reached a leaf, 0 is no sign of how accurate the others are: most of a fresh
    agent's are such, because its heads start at 0.
    """
    errors = []
    for leaf in leaves:
        gradient = exact[f"gradient/{leaf}"]
        if size := largest(gradient):
            errors.append(largest(gap(reference[f"gradient/{leaf}"], gradient)) / size)
    return float(np.median(errors)) if errors else 0.0
