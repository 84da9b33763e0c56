"""What a trace compares: named arrays, and leaves of named trees."""

from __future__ import annotations

import dataclasses
from typing import Literal

import numpy as np

Arrays = dict[str, np.ndarray]
Kind = Literal["intermediate", "loss", "gradient", "norm", "moment", "parameter", "count"]
Dtype = Literal["float32", "bfloat16"]


@dataclasses.dataclass(frozen=True)
class Quantity:
    """One named array of a step, or one leaf of a tree.

    Attributes:
        name: As the tables show it.
        kind: Decides the tolerance; see `compare`. A norm is that of the gradients before it, from
            the last norm on.
        row: The registered deviation that acts here, if one does.
    """

    name: str
    kind: Kind = "intermediate"
    row: str = ""

    @property
    def group(self) -> str:
        """The tree that a leaf belongs to, else the name itself."""
        return self.name.partition("/")[0]

    @property
    def leaf(self) -> str:
        """The path of a leaf in its tree, else nothing."""
        return self.name.partition("/")[2]


def of_kind(kind: Kind, *names: str, row: str = "") -> tuple[Quantity, ...]:
    """Several quantities of one kind."""
    return tuple(Quantity(name, kind, row) for name in names)
