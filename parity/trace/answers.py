"""What recordings of traces share, whatever the agent."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

import reference_harness
from parity.trace.quantity import Arrays

# Beside the recorded answers of the catalogue, which are kept claim by claim.
FOLDER = Path(reference_harness.__file__).parent / "traces_data"


def joined(**groups: Mapping[str, np.ndarray]) -> Arrays:
    """Groups of arrays as one, named group/array."""
    return {f"{group}/{name}": v for group, arrays in groups.items() for name, v in arrays.items()}


def split(answer: Arrays, groups: tuple[str, ...]) -> dict[str, Arrays]:
    """The inverse of `joined`, for the groups that are asked for."""
    return {
        group: {
            name.partition("/")[2]: array
            for name, array in answer.items()
            if name.startswith(f"{group}/")
        }
        for group in groups
    }
