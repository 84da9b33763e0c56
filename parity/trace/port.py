"""Somebody's port as the subject of a trace: one function that takes a whole training step."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from parity.implementations import AnswerError, Implementation
from parity.trace.quantity import Arrays, Quantity


class Port:
    """What the ports of all agents share.

    Attributes:
        name: What reports call it.
        partial: It need not answer with every quantity.
        operation: What its function is called.
    """

    partial = True

    def __init__(self, operation: str, port: Implementation):
        self.name = port.name
        self.operation = operation
        self._port = port

    def ask(self, inputs: Mapping[str, Any], quantities: Iterable[Quantity]) -> Arrays:
        """The port's answer.

        Args:
            inputs: What it is given; it gets arrays of its own.
            quantities: What it may answer with.

        Raises:
            CannotMeasureError: The port takes no training step.
            AnswerError: It failed, or answered with what is no quantity of a step.
        """
        answer = self._port.answer(self.operation, _copied(inputs))
        known = [quantity.name for quantity in quantities]
        for name, value in answer.items():
            if name not in known:
                near = difflib.get_close_matches(str(name), known, n=1)
                hint = f"; did you mean {near[0]}?" if near else ""
                raise AnswerError(
                    f"{self.name} answers {self.operation} with {name!r}, which is no quantity of "
                    f"a step{hint} (`--quantities` lists them)"
                )
            known_dtype = isinstance(value, np.ndarray | np.generic)
            if not known_dtype or value.dtype.kind not in "biuf":
                what = value.dtype if known_dtype else type(value).__name__
                raise AnswerError(
                    f"{self.name} answers {self.operation} with {name!r} as {what}; give a numpy "
                    f"array of numbers"
                )
        if not answer:
            raise AnswerError(f"{self.name} answers {self.operation} with nothing at all")
        return {name: np.asarray(value) for name, value in answer.items()}

    def describe(
        self,
        title: str,
        inputs: Mapping[str, Any],
        quantities: Iterable[Quantity],
        offered: Mapping[str, Any],
        meanings: Mapping[str, str],
    ) -> list[str]:
        """What the function is given, and what it may answer with, by name and shape.

        Args:
            title: Sizes that shapes are made of.
            inputs: See `ask`.
            quantities: Likewise.
            offered: What the reference answers with, by the port's names.
            meanings: What a quantity is, or the leaves of a tree are.
        """
        lines = [f"{self.operation}, {title}; it is given"]
        for keyword, value in inputs.items():
            if isinstance(value, Mapping):
                lines.append(f"  {keyword}: a dictionary of")
                lines += [f"    {name}: {_kind(item)}" for name, item in value.items()]
            else:
                lines.append(f"  {keyword}: {_kind(value)}")
        lines.append("and answers with any of these, in the order of computation")
        told = set()
        for quantity in quantities:
            # What a tree holds is said at its first leaf.
            meaning = "" if quantity.group in told else f"; {meanings[quantity.group]}"
            told.add(quantity.group)
            lines.append(f"  {quantity.name}: {_kind(offered[quantity.name])}{meaning}")
        return lines


def _copied(value: Any) -> Any:
    """The value with arrays of its own, which a port may change as it likes."""
    if isinstance(value, Mapping):
        return {name: _copied(item) for name, item in value.items()}
    return value.copy() if isinstance(value, np.ndarray) else value


def _kind(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {list(value.shape)}"
    return repr(value)
