"""Inputs as text that a reader takes in at a glance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

_SHOWN = 6


def shortened(inputs: Mapping[str, Any]) -> dict[str, str]:
    """Each input as text: single values in full, of a large array the extreme ones."""
    return {name: text(value) for name, value in inputs.items()}


def text(value: Any) -> str:
    """One input as text.

    A single number has all the digits that its dtype needs, so that it can be pasted.
    """
    if isinstance(value, np.generic):
        value = np.asarray(value)
    if not isinstance(value, np.ndarray):
        return repr(value)
    if not value.ndim:
        return f"{value[()]!s} ({value.dtype})"
    kind = f"{value.dtype}[{', '.join(map(str, value.shape))}]"
    flat = value.reshape(-1)
    if flat.size <= _SHOWN:
        return f"{kind} {', '.join(map(str, flat))}".rstrip()
    shown = f"{kind} {', '.join(map(str, flat[: _SHOWN - 2]))}, …"
    order = np.argsort(flat, kind="stable")  # NaN comes last
    nan = int(np.count_nonzero(flat != flat))
    if nan < flat.size:
        least, greatest = order[0], order[flat.size - nan - 1]
        # `str`, because a format would write a float32 with the digits of a float64.
        shown += f" least {flat[least]!s} at {_place(least, value)}"
        shown += f", greatest {flat[greatest]!s} at {_place(greatest, value)}"
    return shown + (f", {nan} NaN" if nan else "")


def _place(index: np.integer, array: np.ndarray) -> str:
    return f"[{', '.join(str(i) for i in np.unravel_index(index, array.shape))}]"
