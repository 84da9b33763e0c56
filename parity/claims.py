"""Tolerances, measurements, and the verdict of one on the other."""

from __future__ import annotations

import abc
import dataclasses
import decimal
import enum
import math

from parity.measurements import (
    Measurement,
    figure,
    measure_bits,
    measure_errors,
    measure_range,
    ulp_distance,
)

# What a claim is written with, from one module.
__all__ = [
    "AtLeast",
    "AtMost",
    "BitIdentical",
    "Equals",
    "Measurement",
    "Stated",
    "Tolerance",
    "Verdict",
    "Within",
    "figure",
    "measure_bits",
    "measure_errors",
    "measure_range",
    "ulp_distance",
]


class Verdict(enum.StrEnum):
    """What is known about a claim."""

    HOLDS = "HOLDS"
    BROKEN = "BROKEN"
    NOT_MEASURED = "NOT MEASURED"


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
