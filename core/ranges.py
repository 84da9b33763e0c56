"""Intervals of numbers that the keys of a configuration take, and how a value is held to one."""

from __future__ import annotations

import dataclasses
import math
import struct
from collections.abc import Mapping
from typing import Any

from core.config import ConfigError, shortened

INT32_MAX = 2**31 - 1
FLOAT32_MAX = float.fromhex("0x1.fffffep+127")
_SMALLEST = 2.0**-126  # below it, processors take a float32 for 0


@dataclasses.dataclass(frozen=True)
class Range:
    """An interval of numbers.

    Attributes:
        least: Lower end.
        most: Upper end.
        whole: Whether only whole numbers count.
        below: Whether `most` itself is outside.
        odd: Whether only odd numbers count.
    """

    least: float
    most: float
    whole: bool = False
    below: bool = False
    odd: bool = False

    def __contains__(self, value: float) -> bool:
        """Whether a number is permitted; a fraction must be so in float32 as well."""
        if self.whole and (type(value) is not int or (self.odd and value % 2 == 0)):
            return False
        return all(
            self.least <= x and (x < self.most if self.below else x <= self.most)
            for x in ((value,) if self.whole else (value, _rounded(value)))
        )

    def __str__(self) -> str:
        kind = f"{'an odd' if self.odd else 'a whole'} number" if self.whole else "a number"
        least = f"{self.least:,}" if self.whole else f"{self.least:.3g}"
        if self.most == INT32_MAX:
            return f"{kind} from {least}"
        if self.most == FLOAT32_MAX:
            return f"a finite number from {least}"
        most = f"{self.most:,}" if self.whole else f"{self.most:g}"
        return f"{kind} from {least} to {'below ' if self.below else ''}{most}"


def _rounded(value: float) -> float:
    try:
        return struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        return math.inf


COUNT = Range(1, INT32_MAX, whole=True)
ANY_COUNT = Range(0, INT32_MAX, whole=True)
WIDTH = Range(1, 2**20, whole=True)
LAYERS = Range(0, 100, whole=True)
SHARE = Range(0, 1)
DECAY = Range(0, 1, below=True)
WEIGHT = Range(0, FLOAT32_MAX)
POSITIVE = Range(_SMALLEST, FLOAT32_MAX)


def check(ranges: Mapping[str, Range], key: str, value: Any) -> None:
    """Holds a value to the range of its key.

    Raises:
        ConfigError: The value is outside.
    """
    if value not in ranges[key]:
        beyond = ranges[key].most == INT32_MAX and type(value) is int and value > INT32_MAX
        end = f" to {INT32_MAX:,}" if beyond else ""
        raise ConfigError(f"{key} must be {ranges[key]}{end}, not {shortened(value)}")


def check_all(ranges: Mapping[str, Range], settings: Any) -> None:
    """Holds every field of a dataclass to its range, where it has one.

    Args:
        ranges: By key.
        settings: A dataclass.

    Raises:
        ConfigError: A value is outside; names the first.
    """
    for field in dataclasses.fields(settings):
        if field.name in ranges:
            check(ranges, field.name, getattr(settings, field.name))
