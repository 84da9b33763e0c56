"""The catalogue: every named computation that two implementations can be asked for.

An operation is a pure computation with named, shaped inputs and outputs. The pinned
references, the subject under audit and every seeded fault answer the same operations,
so one comparison serves them all. This module says what an operation is; the modules
beside it list them, agent by agent.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any

import numpy as np

Inputs = Mapping[str, Any]
Answer = dict[str, np.ndarray]


class OperationMismatchError(ValueError):
    """Inputs or outputs do not have the names, shapes or dtypes of the catalogue."""


@dataclasses.dataclass(frozen=True)
class Array:
    """One array of an operation's signature.

    Attributes:
        name: The keyword under which it is passed or returned.
        shape: Axis names separated by spaces, e.g. `"B N"`; `""` is a scalar. An axis
            that occurs twice has the same length both times; an integer is a fixed length.
        dtype: A numpy dtype name.
        doc: What it holds, with its unit.
        noise: Outputs only: how far two honest answers of the same code may part on two
            machines, relative to the largest magnitude in the array. A live answer that
            is further from the recording than this makes the recording stale.
        floor: Outputs only: the same, absolute; the larger of the two counts.
    """

    name: str
    shape: str
    dtype: str
    doc: str
    noise: float = 0.0
    floor: float = 0.0


@dataclasses.dataclass(frozen=True)
class Setting:
    """One plain value (a number, a string) among the inputs.

    Attributes:
        name: The keyword under which it is passed.
        type: Of the value.
        doc: What it holds, with its unit.
        choices: The admitted values, where they are few.
        axis: The axis whose length it is, if it is one.
    """

    name: str
    type: type
    doc: str
    choices: tuple[Any, ...] = ()
    axis: str = ""


@dataclasses.dataclass(frozen=True)
class Operation:
    """A named, pure, documented computation.

    Attributes:
        name: `agent.computation`.
        summary: One sentence; the equation where there is one.
        inputs: Arrays and settings, in the order in which they are documented.
        outputs: Arrays.
    """

    name: str
    summary: str
    inputs: tuple[Array | Setting, ...]
    outputs: tuple[Array, ...]

    def check_inputs(self, inputs: Inputs) -> dict[str, int]:
        """Raises `OperationMismatchError` unless `inputs` fit; returns the axis lengths."""
        axes: dict[str, int] = {}
        self._check_names("input", inputs, [field.name for field in self.inputs])
        for field in self.inputs:
            value = inputs[field.name]
            if isinstance(field, Array):
                _check_array(f"{self.name}: input", field, value, axes)
            else:
                self._check_setting(field, value)
                if field.axis:
                    axes[field.axis] = value
        return axes

    def check_outputs(self, outputs: Inputs, axes: Mapping[str, int]) -> None:
        """Raises `OperationMismatchError` unless `outputs` fit the inputs' axis lengths."""
        axes = dict(axes)
        self._check_names("output", outputs, [field.name for field in self.outputs])
        for field in self.outputs:
            _check_array(f"{self.name}: output", field, outputs[field.name], axes)

    def _check_names(self, kind: str, given: Inputs, expected: list[str]) -> None:
        if set(given) != set(expected):
            raise OperationMismatchError(
                f"{self.name}: expected the {kind}s {', '.join(expected)}, "
                f"got {', '.join(map(str, given)) or 'none'}"
            )

    def _check_setting(self, field: Setting, value: Any) -> None:
        # A bool is an int to Python, but nobody means it as a number.
        fits = isinstance(value, field.type) and isinstance(value, bool) == (field.type is bool)
        if not fits or (field.choices and value not in field.choices):
            wanted = " or ".join(map(repr, field.choices)) or field.type.__name__
            raise OperationMismatchError(
                f"{self.name}: setting {field.name!r} must be {wanted}, got {value!r}"
            )


def _check_array(where: str, field: Array, value: Any, axes: dict[str, int]) -> None:
    if not isinstance(value, np.ndarray):
        raise OperationMismatchError(
            f"{where} {field.name!r} must be a numpy array, got {type(value).__name__}"
        )
    if value.dtype != np.dtype(field.dtype):
        raise OperationMismatchError(
            f"{where} {field.name!r} must be {field.dtype}, got {value.dtype}"
        )
    names = field.shape.split()
    known = dict(axes)
    fits = value.ndim == len(names) and all(
        length == (int(name) if name.isdigit() else known.setdefault(name, length))
        for name, length in zip(names, value.shape, strict=True)
    )
    if not fits:
        wanted = ", ".join(f"{name}={axes[name]}" if name in axes else name for name in names)
        raise OperationMismatchError(
            f"{where} {field.name!r} must have the shape [{wanted}], got {list(value.shape)}"
        )
    axes.update(known)


@functools.cache
def catalogue() -> Mapping[str, Operation]:
    """Every operation by name."""
    from parity.operations import dreamerv3, environments, tdmpc2

    operations = (*dreamerv3.OPERATIONS, *environments.OPERATIONS, *tdmpc2.OPERATIONS)
    return {operation.name: operation for operation in operations}
