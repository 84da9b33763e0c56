"""Which parameter of the core is which of the reference's: a checked bijection.

The core's names are mapped by rule, and the rule is not trusted: every leaf of both sides
must be met exactly once, in the same shape. The one admitted difference is the column with
which the reference pads its 255 two-hot logits to 256 and which it drops again.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping

import numpy as np

from parity.trace.sides import NameMapError

Shape = tuple[int, ...]

NETWORKS = ("enc", "dyn", "dec", "rew", "con", "actor", "critic")

# Layers by name; what a layer holds follows in `_LEAVES`.
_LAYERS = (
    (r"(enc|dec)/hidden(\d+)", r"\1/mlp\2"),
    (r"(rew|con|actor|critic)/hidden(\d+)", r"\1/h\2"),
    (r"dec/out", r"dec/out_vector/out"),
    (r"actor/(out|std)", r"actor/action/\1"),
    (r"(rew|con|critic)/out", r"\1/dist/out"),
    (r"dyn/deter_in", r"dyn/dynin0"),
    (r"dyn/stoch_in", r"dyn/dynin1"),
    (r"dyn/action_in", r"dyn/dynin2"),
    (r"dyn/core_(\d+)", r"dyn/dyn\1"),
    (r"dyn/gates", r"dyn/dyncore"),
    (r"dyn/prior_hidden_(\d+)", r"dyn/img\1"),
    (r"dyn/prior_out", r"dyn/imglogit"),
    (r"dyn/posterior_hidden_(\d+)", r"dyn/obs\1"),
    (r"dyn/posterior_out", r"dyn/obslogit"),
)
_LEAVES = ((r"(?:/linear)?/(kernel|bias)", r"/\1"), (r"/scale", r"/norm/scale"))
_PADDED = re.compile(r"agent/(rew|critic)/dist/out/(kernel|bias)")


@dataclasses.dataclass(frozen=True)
class NameMap:
    """The bijection.

    Attributes:
        names: The reference's name of each of the core's leaves.
        padded: The leaves of the core whose counterpart has one more column.
        dropped: How many numbers the padding columns hold.
    """

    names: Mapping[str, str]
    padded: frozenset[str]
    dropped: int

    def to_core(self, reference: Mapping[str, np.ndarray], prefix: str = "") -> dict:
        """The reference's arrays under the core's names, without the padding columns.

        Args:
            reference: Arrays by the reference's name, of parameters or of anything that has
                their shapes; others are ignored.
            prefix: Stands before the reference's names.
        """
        return {
            ours: self._cut(ours, reference[prefix + theirs]) for ours, theirs in self.names.items()
        }

    def padding(self, reference: Mapping[str, np.ndarray], prefix: str = "") -> np.ndarray:
        """What stands in the padding columns, in one row."""
        columns = [reference[prefix + self.names[ours]][..., -1:] for ours in sorted(self.padded)]
        return np.concatenate([column.ravel() for column in columns]) if columns else np.zeros(0)

    def _cut(self, ours: str, array: np.ndarray) -> np.ndarray:
        return array[..., :-1] if ours in self.padded else array


def translate(ours: str) -> str:
    """The reference's name of a leaf of the core.

    Raises:
        NameMapError: There is no rule for it.
    """
    for layer, their_layer in _LAYERS:
        for leaf, their_leaf in _LEAVES:
            if re.fullmatch(layer + leaf, ours):
                changed = re.sub(f"^{layer}", their_layer, ours)
                return "agent/" + re.sub(f"{leaf}$", their_leaf, changed)
    raise NameMapError(f"no rule says what the core's parameter {ours} is in the reference")


def match(core: Mapping[str, Shape], reference: Mapping[str, Shape]) -> NameMap:
    """The bijection between two sets of parameters.

    Args:
        core: The core's leaves, `network/layer/leaf`, and their shapes.
        reference: The optimised leaves of the reference, `agent/network/layer/leaf`.

    Raises:
        NameMapError: Names every leaf that has no counterpart, or one of another shape.
    """
    names = {ours: translate(ours) for ours in core}
    problems = [
        f"the core's {ours} would be {theirs}, which the reference lacks"
        for ours, theirs in names.items()
        if theirs not in reference
    ]
    met = set(names.values())
    problems += [f"nothing in the core is {name}" for name in reference if name not in met]
    twice = [name for name in met if list(names.values()).count(name) > 1]
    problems += [f"two leaves of the core would be {name}" for name in twice]
    padded, dropped = set(), 0
    for ours, theirs in names.items():
        shape, their_shape = core[ours], reference.get(theirs, core[ours])
        if _PADDED.fullmatch(theirs) and their_shape == (*shape[:-1], shape[-1] + 1):
            padded.add(ours)
            dropped += int(np.prod(shape[:-1], dtype=int))
        elif shape != their_shape:
            problems.append(f"{ours} has the shape {shape}, {theirs} has {their_shape}")
    if problems:
        raise NameMapError("; ".join(problems))
    return NameMap(names, frozenset(padded), dropped)
