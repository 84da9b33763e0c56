"""Which parameter of the core is which of the harness's: a checked bijection.

The harness names the reference's parameters, and turns its kernels, in `named_parameters`. The
core's names are mapped to those by rule, and the rule is not trusted: every leaf of both sides
must be met exactly once, in the same shape.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping

import numpy as np

from parity.trace.quantity import Arrays
from parity.trace.sides import NameMapError

Shape = tuple[int, ...]

NETWORKS = {
    "encoder": "enc",
    "dynamics": "dyn",
    "reward": "rew",
    "termination": "term",
    "q": "q",
    "policy": "pi",
}
TABLE = "tasks"
_LAYER = re.compile(r"(\w+)/(hidden\d+|out)/(?:affine/)?(kernel|bias|scale|offset)")


@dataclasses.dataclass(frozen=True)
class NameMap:
    """The bijection.

    Attributes:
        names: The harness's name of each of the core's leaves.
        dropped: Nothing of the reference is.
    """

    names: Mapping[str, str]
    dropped: int = 0

    def to_core(self, reference: Mapping[str, np.ndarray], prefix: str = "") -> Arrays:
        """The harness's arrays under the core's names.

        Args:
            reference: Arrays by the harness's name; others are ignored.
            prefix: Stands before the harness's names.
        """
        return {
            ours: reference[prefix + theirs]
            for ours, theirs in self.names.items()
            if prefix + theirs in reference
        }


def translate(ours: str) -> str:
    """The harness's name of a leaf of the core.

    Raises:
        NameMapError: There is no rule for it.
    """
    if ours == TABLE:
        return TABLE
    found = _LAYER.fullmatch(ours)
    if found is None or found[1] not in NETWORKS:
        raise NameMapError(f"no rule says what the core's parameter {ours} is in the reference")
    return f"{NETWORKS[found[1]]}_{found[2]}_{found[3]}"


def match(core: Mapping[str, Shape], reference: Mapping[str, Shape]) -> NameMap:
    """The bijection between two sets of parameters.

    Args:
        core: The core's leaves, `network/layer/leaf`, and their shapes.
        reference: The harness's, without the target networks.

    Raises:
        NameMapError: Names every leaf that has no counterpart, or one of another shape.
    """
    names = {ours: translate(ours) for ours in core}
    met = list(names.values())
    problems = [
        f"the core's {ours} would be {theirs}, which the reference lacks"
        for ours, theirs in names.items()
        if theirs not in reference
    ]
    problems += [f"nothing in the core is {name}" for name in reference if name not in met]
    problems += [
        f"two leaves of the core would be {name}" for name in set(met) if met.count(name) > 1
    ]
    problems += [
        f"{ours} has the shape {core[ours]}, {theirs} has {reference[theirs]}"
        for ours, theirs in names.items()
        if theirs in reference and core[ours] != reference[theirs]
    ]
    if problems:
        raise NameMapError("; ".join(problems))
    return NameMap(names)
