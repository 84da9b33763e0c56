"""What an action may be: the part of an environment that an agent's networks depend on."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Discrete:
    """Actions are int32 scalars in [0, n)."""

    n: int


@dataclass(frozen=True)
class Continuous:
    """Actions are float32 vectors in [−1, 1]."""

    size: int


ActionSpace = Discrete | Continuous
