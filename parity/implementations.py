"""Whoever answers operations: the core, a reference, somebody's port, a seeded fault.

An implementation is asked by name and answers with arrays. Whatever stands behind it
(this process, a worker in a side environment, a recording) looks the same to a claim.
"""

from __future__ import annotations

import abc
import traceback
from collections.abc import Callable, Mapping

from parity.operations import Answer, Inputs, OperationMismatchError, catalogue
from reference_harness.worker_errors import OperationFailedError

OperationTable = Mapping[str, Callable[..., Mapping]]


class CannotMeasureError(Exception):
    """No answer can be had here, and that is nobody's fault: NOT MEASURED, with the reason."""


class NotHereError(CannotMeasureError):
    """It can be answered, only not on this machine: what it needs is not installed or not there."""


class AnswerError(Exception):
    """The implementation was asked for an operation that it offers, and failed to answer it."""


class Implementation(abc.ABC):
    """Answers the operations of the catalogue.

    Attributes:
        name: What reports call it.
        is_core: Whether it is the core, or a seeded fault of it. Only the core answers for
            what the core chose.
    """

    name: str
    is_core: bool = False

    @abc.abstractmethod
    def answer(self, operation: str, inputs: Inputs) -> Answer:
        """Answers one operation, unchecked.

        Raises:
            CannotMeasureError: It does not offer this operation, or can not answer it here.
            AnswerError: It tried and failed.
        """

    def __call__(self, operation: str, **inputs: object) -> Answer:
        """Answers one operation; both sides of the exchange are held to the catalogue.

        Raises:
            OperationMismatchError: The caller's inputs do not fit the operation.
            AnswerError: The answer does not fit it, or there is none.
            CannotMeasureError: See `answer`.
        """
        try:
            signature = catalogue()[operation]
        except KeyError:
            raise OperationMismatchError(f"no operation is called {operation!r}") from None
        axes = signature.check_inputs(inputs)
        outputs = self.answer(operation, inputs)
        try:
            signature.check_outputs(outputs, axes)
        except OperationMismatchError as error:
            raise AnswerError(f"{self.name} gave an answer that does not fit: {error}") from None
        return outputs


class InProcess(Implementation):
    """A table of functions in this process."""

    def __init__(self, name: str, table: OperationTable, *, is_core: bool = False):
        self.name = name
        self.is_core = is_core
        self._table = table

    def answer(self, operation: str, inputs: Inputs) -> Answer:
        """See `Implementation.answer`."""
        if operation not in self._table:
            raise CannotMeasureError(f"{self.name} does not offer {operation}")
        try:
            return dict(self._table[operation](**inputs))
        except CannotMeasureError:  # it is offered, and can not be answered
            raise
        except Exception as error:
            said = f"{self.name} failed on {operation}: {type(error).__name__}: {error}"
            raise AnswerError(str(OperationFailedError(said, _within_it(error)))) from error


def _within_it(error: Exception) -> str:
    """The traceback from the operation on; "" if it was not even entered."""
    below = error.__traceback__.tb_next if error.__traceback__ else None
    return "".join(traceback.format_exception(type(error), error, below)) if below else ""


class Overridden(Implementation):
    """An implementation with some of its operations answered otherwise."""

    def __init__(self, name: str, base: Implementation, table: OperationTable):
        self.name = name
        self._base = base
        self._override = InProcess(name, table)
        self._overridden = frozenset(table)
        self.is_core = base.is_core

    def answer(self, operation: str, inputs: Inputs) -> Answer:
        """See `Implementation.answer`."""
        source = self._override if operation in self._overridden else self._base
        return source.answer(operation, inputs)


class Absent(Implementation):
    """Stands where nobody is: every question is answered with the reason."""

    def __init__(self, name: str, reason: str):
        self.name = name
        self._reason = reason

    def answer(self, operation: str, inputs: Inputs) -> Answer:
        """See `Implementation.answer`."""
        del operation, inputs
        raise CannotMeasureError(self._reason)
