"""What a claim measures: the worst figure, and the element and the input that attain it."""

from __future__ import annotations

import dataclasses
import decimal
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from parity.operations import Inputs


@dataclasses.dataclass(frozen=True)
class Element:
    """One element of an answer, beside what was expected there.

    Attributes:
        place: Its index.
        answered: The whole array that was answered.
        expected: The whole array that it was held against, of the same shape.
    """

    place: tuple[int, ...]
    answered: np.ndarray
    expected: np.ndarray


@dataclasses.dataclass(frozen=True)
class Measurement:
    """What a claim measured.

    Attributes:
        low: The least measured figure.
        high: The greatest; the same as `low` where there is only one figure.
        compared: How many values it was measured over. A measurement over none holds nothing.
        worst_input: The inputs that attain the worst figure.
        note: Further figures worth printing, in one line.
        element: Where in the answers the worst figure is, if it is that of one element.
    """

    low: float
    high: float
    compared: int
    worst_input: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    note: str = ""
    element: Element | None = dataclasses.field(default=None, repr=False, compare=False)

    @property
    def text(self) -> str:
        """The figure, or the range of figures."""
        if self.low == self.high or (math.isnan(self.low) and math.isnan(self.high)):
            return figure(self.high)
        return f"{figure(self.low)} to {figure(self.high)}"


def measure_range(figures: Sequence[float], compared: int = 0, note: str = "") -> Measurement:
    """The least and the greatest of some figures; NaN if any of them is, wherever it stands.

    Args:
        figures: One at least. Python's own `min` and `max` lose a NaN that does not come first.
        compared: How many values they were measured over; by default as many as there are.
        note: See `Measurement`.
    """
    low, high = float(np.min(figures)), float(np.max(figures))
    return Measurement(low, high, compared or len(figures), note=note)


def figure(value: float, rounding: str = decimal.ROUND_HALF_EVEN) -> str:
    """A number with the four digits that a reader compares.

    Args:
        value: The number.
        rounding: A rounding mode of `decimal`, for a figure that must not be understated.
    """
    value = float(value)
    if value.is_integer() and abs(value) < 1e7:
        return f"{int(value):,}"
    if math.isfinite(value):
        value = float(decimal.Context(prec=4, rounding=rounding).create_decimal(repr(value)))
    return f"{value:.4g}".replace("e-0", "e-").replace("e+0", "e").replace("e+", "e")


def measure_errors(
    errors: np.ndarray,
    inputs: Inputs,
    *,
    rows: int | None = None,
    note: str = "",
    answers: tuple[np.ndarray, np.ndarray] | None = None,
) -> Measurement:
    """The worst of many errors, with the input row that attains it.

    An error that is not a number is worse than any number.

    Args:
        errors: [B, ...] non-negative errors in the unit of the tolerance.
        inputs: The inputs; arrays whose first axis has length B are cut to the worst row.
        rows: B, where another axis of `errors` than the first runs over the input rows.
        note: See `Measurement`.
        answers: What the errors are errors of: what was answered, and what was expected, of
            the shape of `errors`; an error that is not 0 names its element of them.
    """
    errors = np.where(np.isnan(errors), np.inf, np.asarray(errors, np.float64))
    if errors.size == 0:
        return Measurement(math.nan, math.nan, 0, note=note)
    index = int(np.argmax(errors))
    row = None
    if errors.ndim:
        axis = 0 if rows is None else errors.shape.index(rows)
        rows = errors.shape[axis]
        row = np.unravel_index(index, errors.shape)[axis]
    worst = {
        name: value[row]
        if isinstance(value, np.ndarray) and value.ndim and row is not None and len(value) == rows
        else value
        for name, value in inputs.items()
    }
    peak, element = float(errors.reshape(-1)[index]), None
    if answers is not None and peak and all(answer.shape == errors.shape for answer in answers):
        element = Element(tuple(int(i) for i in np.unravel_index(index, errors.shape)), *answers)
    return Measurement(peak, peak, errors.size, worst, note, element)


def measure_bits(left: np.ndarray, right: np.ndarray, inputs: Inputs) -> Measurement:
    """How many values differ in any bit; a NaN equals a NaN, and 0 differs from −0.

    Args:
        left: [B, ...] one side.
        right: [B, ...] the other, of the same shape and dtype.
        inputs: The inputs, as in `measure_errors`.

    Raises:
        ValueError: The shapes or dtypes differ, so that there is nothing to compare bit by bit.
    """
    if left.shape != right.shape or left.dtype != right.dtype:
        raise ValueError(
            f"bits can only be compared between arrays of one shape and dtype, got "
            f"{left.dtype}{list(left.shape)} and {right.dtype}{list(right.shape)}"
        )
    same = left == right
    single = left.dtype == np.float32
    if np.issubdtype(left.dtype, np.floating):
        same &= np.signbit(left) == np.signbit(right)
        same |= np.isnan(left) & np.isnan(right)
    # Other dtypes have no ULP of float32: every value that differs is as bad as another.
    distance = ulp_distance(left, right) if single else ~same
    worst = measure_errors(distance, inputs, answers=(left, right))
    count = float(np.count_nonzero(~same))
    note = f"at most {figure(worst.high)} ULP apart" if count and single else ""
    return dataclasses.replace(worst, low=count, high=count, compared=same.size, note=note)


def ulp_distance(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """How many steps of float32 lie between two arrays, element by element.

    0 and −0 are one apart, so that a difference in sign alone is seen. A NaN is
    infinitely far from any number, and not at all from another NaN.
    """
    bits = [np.asarray(x, np.float32).view(np.int32).astype(np.int64) for x in (left, right)]
    # Maps the sign-magnitude patterns to a line; −0 stays one below 0.
    line = [np.where(b < 0, -(b & 0x7FFFFFFF) - 1, b) for b in bits]
    distance = np.abs(line[0] - line[1]).astype(np.float64)
    nan = [np.isnan(left), np.isnan(right)]
    return np.where(nan[0] & nan[1], 0.0, np.where(nan[0] | nan[1], np.inf, distance))
