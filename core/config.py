"""What an agent's configuration can do: immutable, typed by its defaults, strict about keys."""

from __future__ import annotations

import dataclasses
import difflib
import math
from collections.abc import Mapping
from typing import Any, Self


class ConfigError(ValueError):
    """A key that does not exist, or a value that its key does not take."""


@dataclasses.dataclass(frozen=True)
class StrictConfig:
    """A frozen dataclass of numbers, strings and switches.

    Every field needs a default: its type is what the field takes, except that an integer
    will do for a number. A subclass that has more to check extends `__post_init__`.
    """

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            object.__setattr__(self, field.name, _typed(field, getattr(self, field.name)))

    def replace(self, **overrides: Any) -> Self:
        """A copy with some keys changed.

        Raises:
            ConfigError: A key does not exist (the nearest one is named), or a value has the
                wrong type.
        """
        known = [field.name for field in dataclasses.fields(self)]
        for key in overrides:
            if key not in known:
                nearest = difflib.get_close_matches(key, known, 1, cutoff=0.5)
                meant = f"{nearest[0]!r}?" if nearest else f"it has {', '.join(known)}"
                raise ConfigError(f"unknown key {key!r} in the configuration: {meant}")
        return dataclasses.replace(self, **overrides)

    def to_dict(self) -> dict[str, Any]:
        """Every key with its value, in the order of the class."""
        return dataclasses.asdict(self)

    def __str__(self) -> str:
        return "\n".join(f"{key}: {value!r}" for key, value in self.to_dict().items())

    def require_one_of(self, choices: Mapping[str, tuple[str, ...]]) -> None:
        """Raises `ConfigError` for the first key whose value is none of its choices."""
        for key, allowed in choices.items():
            if getattr(self, key) not in allowed:
                raise ConfigError(
                    f"{key} must be one of {', '.join(map(repr, allowed))}, "
                    f"not {getattr(self, key)!r}"
                )


def _typed(field: dataclasses.Field, value: Any) -> Any:
    """The value as its default's type; an integer will do for a number."""
    wanted = type(field.default)
    if wanted is float and type(value) is int:
        try:
            return float(value)
        except OverflowError:
            return math.inf
    if type(value) is not wanted:
        raise ConfigError(
            f"{field.name} must be of type {wanted.__name__}, as its default "
            f"{field.default!r} is; got {shortened(value)}"
        )
    return value


def shortened(value: Any) -> str:
    """A value as Python writes it, cut to a length that fits into a sentence."""
    text = repr(value)
    return text if len(text) < 40 else f"{text[:30]}…"
