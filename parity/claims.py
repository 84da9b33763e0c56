"""Tolerances, measurements, and the verdict of one on the other."""

from __future__ import annotations

import abc
import dataclasses
import decimal
import enum
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from parity.operations import Inputs


class Verdict(enum.StrEnum):
    """What is known about a claim."""

    HOLDS = "HOLDS"
    BROKEN = "BROKEN"
    NOT_MEASURED = "NOT MEASURED"


@dataclasses.dataclass(frozen=True)
class Measurement:
    """What a claim measured.

    Attributes:
        low: The least measured figure.
        high: The greatest; the same as `low` where there is only one figure.
        compared: How many values it was measured over. A measurement over none holds nothing.
        worst_input: The inputs that attain the worst figure.
        note: Further figures worth printing, in one line.
    """

    low: float
    high: float
    compared: int
    worst_input: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    note: str = ""

    @property
    def text(self) -> str:
        """The figure, or the range of figures."""
        if self.low == self.high or (math.isnan(self.low) and math.isnan(self.high)):
            return figure(self.high)
        return f"{figure(self.low)} to {figure(self.high)}"


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
            the shape of `errors`. The two at the worst place are added to the worst input.
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
    peak = float(errors.reshape(-1)[index])
    if answers is not None and peak:
        place = [int(axis) for axis in np.unravel_index(index, errors.shape)]
        got, expected = (answer.reshape(-1)[index] for answer in answers)
        worst |= {"at": str(place), "answered": got, "expected": expected}
    return Measurement(peak, peak, errors.size, worst, note)


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
    return Measurement(count, count, same.size, worst.worst_input, note)


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


class Tolerance(abc.ABC):
    """What a measurement must satisfy."""

    unit: str

    @abc.abstractmethod
    def holds(self, measurement: Measurement) -> bool:
        """Whether the measured figures satisfy it. Never true of NaN."""

    @abc.abstractmethod
    def stated(self) -> str:
        """The tolerance as a reader writes it, with its unit."""

    @abc.abstractmethod
    def least(self, measurement: Measurement) -> str:
        """The least tolerance of this kind that would have passed."""

    def margin(self, measurement: Measurement) -> str:
        """How much of the tolerance is left, where that means something."""
        del measurement
        return "—"

    def judge(self, measurement: Measurement) -> Verdict:
        """HOLDS or BROKEN. Nothing compared is BROKEN: it proves nothing, nor does a NaN."""
        ordered = measurement.low <= measurement.high
        good = measurement.compared > 0 and ordered and self.holds(measurement)
        return Verdict.HOLDS if good else Verdict.BROKEN


def _share(part: float) -> str:
    """A part of a tolerance: in percent, or as a multiple where that is long."""
    return f"{part:.0%}" if abs(part) < 10 else f"{figure(part)}×"


def _with_unit(text: str, unit: str) -> str:
    return f"{text} {unit}".rstrip()


@dataclasses.dataclass(frozen=True)
class AtMost(Tolerance):
    """No measured figure exceeds `bound`."""

    bound: float
    unit: str = ""

    def holds(self, measurement: Measurement) -> bool:
        """See `Tolerance`."""
        return measurement.high <= self.bound

    def stated(self) -> str:
        """See `Tolerance`."""
        return _with_unit(f"≤ {figure(self.bound)}", self.unit)

    def least(self, measurement: Measurement) -> str:
        """See `Tolerance`."""
        return f"≤ {figure(measurement.high, decimal.ROUND_CEILING)}"

    def margin(self, measurement: Measurement) -> str:
        """See `Tolerance`."""
        if not self.bound or not math.isfinite(measurement.high):
            return "—"
        return _share((self.bound - measurement.high) / abs(self.bound))


@dataclasses.dataclass(frozen=True)
class AtLeast(Tolerance):
    """No measured figure falls below `bound`."""

    bound: float
    unit: str = ""

    def holds(self, measurement: Measurement) -> bool:
        """See `Tolerance`."""
        return measurement.low >= self.bound

    def stated(self) -> str:
        """See `Tolerance`."""
        return _with_unit(f"≥ {figure(self.bound)}", self.unit)

    def least(self, measurement: Measurement) -> str:
        """See `Tolerance`."""
        return f"≥ {figure(measurement.low, decimal.ROUND_FLOOR)}"

    def margin(self, measurement: Measurement) -> str:
        """See `Tolerance`."""
        if not self.bound or not math.isfinite(measurement.low):
            return "—"
        return _share((measurement.low - self.bound) / abs(self.bound))


@dataclasses.dataclass(frozen=True)
class Within(Tolerance):
    """Every measured figure lies in `[low, high]`."""

    low: float
    high: float
    unit: str = ""

    def holds(self, measurement: Measurement) -> bool:
        """See `Tolerance`."""
        return self.low <= measurement.low and measurement.high <= self.high

    def stated(self) -> str:
        """See `Tolerance`."""
        return _with_unit(f"{figure(self.low)} to {figure(self.high)}", self.unit)

    def least(self, measurement: Measurement) -> str:
        """See `Tolerance`."""
        low = figure(measurement.low, decimal.ROUND_FLOOR)
        return f"{low} to {figure(measurement.high, decimal.ROUND_CEILING)}"

    def margin(self, measurement: Measurement) -> str:
        """See `Tolerance`."""
        half = (self.high - self.low) / 2
        left = min(measurement.low - self.low, self.high - measurement.high)
        finite = math.isfinite(measurement.low) and math.isfinite(measurement.high)
        return _share(left / half) if half and finite else "—"


@dataclasses.dataclass(frozen=True)
class Equals(Tolerance):
    """Every measured figure is `value`."""

    value: float
    unit: str = ""

    def holds(self, measurement: Measurement) -> bool:
        """See `Tolerance`."""
        return measurement.low == measurement.high == self.value

    def stated(self) -> str:
        """See `Tolerance`."""
        return _with_unit(f"= {figure(self.value)}", self.unit)

    def least(self, measurement: Measurement) -> str:
        """See `Tolerance`."""
        return f"= {measurement.text}"


@dataclasses.dataclass(frozen=True)
class BitIdentical(Equals):
    """Both sides have the same bits; the figure counts the values that differ."""

    value: float = 0
    unit: str = "values that differ"

    def stated(self) -> str:
        """See `Tolerance`."""
        return "bit-identical"


@dataclasses.dataclass(frozen=True)
class Stated:
    """A figure in the deviation table's own words.

    Attributes:
        text: As the table writes it.
        low: The least figure that the words admit.
        high: The greatest. At least one of the two is finite.
    """

    text: str
    low: float = -math.inf
    high: float = math.inf

    def __post_init__(self):
        if math.isinf(self.low) and math.isinf(self.high):
            raise ValueError(
                f"{self.text!r} has no bound, so every measurement would agree with it"
            )

    def agrees(self, measurement: Measurement) -> bool:
        """Whether what was measured is what the table says. Nothing compared never is."""
        within = self.low <= measurement.low <= measurement.high <= self.high
        return measurement.compared > 0 and within
