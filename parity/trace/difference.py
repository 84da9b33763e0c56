"""One array of both sides of a step, and how far each is from the exact values."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Literal

import numpy as np

from parity.claims import ulp_distance
from parity.trace.quantity import Quantity


@dataclasses.dataclass(frozen=True)
class Difference:
    """One quantity of one step, on both sides.

    Errors are relative to the largest exact magnitude of the array.

    Attributes:
        quantity: Which.
        step: Of which step, from 0.
        compared: How many numbers.
        different: How many of them are not the same bits on both sides.
        subject_error: The subject's largest distance from float64.
        reference_error: The reference's.
        apart: The largest distance between the two.
        place: The index at which the suspect is worst, relative to what is allowed there.
        values: There: the subject's, the reference's and the exact one.
        ulp: There: how many float32 numbers lie between the subject's and the reference's.
        excess: There: the suspect's distance from the exact value over what is allowed.
        suspect: Who is further from the exact values than rounding explains, if anybody; where
            it is the reference, `place` is where that is worst.
        problem: Why nothing could be compared, e.g. another shape.
    """

    quantity: Quantity
    step: int
    compared: int
    different: int = 0
    subject_error: float = 0.0
    reference_error: float = 0.0
    apart: float = 0.0
    place: tuple[int, ...] = ()
    values: tuple[float, float, float] = (0.0, 0.0, 0.0)
    ulp: float = 0.0
    excess: float = 0.0
    suspect: Literal["subject", "reference"] = "subject"
    problem: str = ""

    @property
    def diverges(self) -> bool:
        """Whether one of the two is further away than rounding explains."""
        return bool(self.problem) or not self.excess <= 1.0

    @property
    def nearer(self) -> str:
        """Which of the two is nearer to float64."""
        if self.subject_error == self.reference_error:
            return "equal"
        return "subject" if self.subject_error < self.reference_error else "reference"


def difference(
    quantity: Quantity,
    step: int,
    subject: np.ndarray,
    reference: np.ndarray,
    exact: np.ndarray,
    allowed: np.ndarray,
    allowed_of_reference: float = math.inf,
) -> Difference:
    """Compares two arrays of one shape.

    Args:
        quantity: What they are.
        step: Of which step.
        subject: The subject's, finite or not.
        reference: The reference's.
        exact: The float64 run's.
        allowed: How far the subject may be from it: one number, or one for each.
        allowed_of_reference: How far the reference may be from it.
    """
    if not subject.size:
        return Difference(quantity, step, 0, problem="there is nothing to compare")
    scale = largest(exact) or 1.0
    subject_gap, reference_gap = gap(subject, exact), gap(reference, exact)
    excess, suspect = _over(subject_gap, allowed), "subject"
    if excess.max() <= 1 and largest(reference_gap) > allowed_of_reference:
        excess, suspect = _over(reference_gap, np.asarray(allowed_of_reference)), "reference"
    place = np.unravel_index(int(np.argmax(excess)), subject.shape)
    ulp = ulp_distance(subject[place].astype(np.float32), reference[place].astype(np.float32))
    return Difference(
        quantity,
        step,
        subject.size,
        different=int((subject != reference).sum()),
        subject_error=largest(subject_gap) / scale,
        reference_error=largest(reference_gap) / scale,
        apart=largest(gap(subject, reference)) / scale,
        place=tuple(int(i) for i in place),
        values=(float(subject[place]), float(reference[place]), float(exact[place])),
        ulp=float(ulp),
        excess=float(excess[place]),
        suspect=suspect,
    )


def first_divergence(differences: Sequence[Difference]) -> Difference | None:
    """The first that diverges, in the order in which the step computes."""
    return next((found for found in differences if found.diverges), None)


def gap(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """|left − right| in float64; infinite where either is not finite and they are not equal."""
    left, right = left.astype(np.float64), right.astype(np.float64)
    with np.errstate(invalid="ignore"):
        apart = np.abs(left - right)
    return np.where(left == right, 0.0, np.where(np.isfinite(apart), apart, np.inf))


def _over(gap: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """The gap in units of what is allowed; no gap is 0 of anything."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(gap == 0, 0.0, gap / np.broadcast_to(allowed, gap.shape))


def largest(x: np.ndarray) -> float:
    """The largest magnitude; 0 of nothing."""
    return float(np.abs(x.astype(np.float64)).max(initial=0.0))
