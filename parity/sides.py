"""The two sides of a claim, so that a failure is laid at the right door."""

from __future__ import annotations

from typing import Any

import numpy as np

from parity.implementations import AnswerError, Implementation
from parity.operations import Answer, Inputs, OperationMismatchError


class SubjectAnswerError(AnswerError):
    """The subject failed to answer `inputs`."""

    def __init__(self, message: str, inputs: Inputs):
        super().__init__(message)
        self.inputs = inputs


class ReferenceAnswerError(AnswerError):
    """The reference failed to answer."""


class SubjectSide(Implementation):
    """The subject, whose failures are its own, and who may not change what it was given."""

    def __init__(self, inner: Implementation):
        self.name = inner.name
        self._inner = inner

    def answer(self, operation: str, inputs: Inputs) -> Answer:
        """See `Implementation.answer`."""
        return self._inner.answer(operation, inputs)

    def __call__(self, operation: str, **inputs: object) -> Answer:
        """See `Implementation.__call__`."""
        given: dict[str, Any] = {
            name: value.copy() if isinstance(value, np.ndarray) else value
            for name, value in inputs.items()
        }
        try:
            answer = self._inner(operation, **given)
            for name, value in given.items():
                before = inputs[name]
                if isinstance(before, np.ndarray) and before.tobytes() != value.tobytes():
                    raise AnswerError(
                        f"{self.name} changed its input {name!r} while answering {operation}; "
                        f"operations leave their inputs as they are"
                    )
        except AnswerError as error:
            raise SubjectAnswerError(str(error), inputs) from error
        return answer


class ReferenceSide(Implementation):
    """The reference, whose failures are not the subject's."""

    def __init__(self, inner: Implementation):
        self.name = inner.name
        self._inner = inner

    def answer(self, operation: str, inputs: Inputs) -> Answer:
        """See `Implementation.answer`."""
        return self._inner.answer(operation, inputs)

    def __call__(self, operation: str, **inputs: object) -> Answer:
        """See `Implementation.__call__`."""
        try:
            return self._inner(operation, **inputs)
        except AnswerError as error:
            raise ReferenceAnswerError(str(error)) from error


class Unasked(Implementation):
    """Stands where the claim says that nobody is asked."""

    def __init__(self, name: str):
        self.name = name

    def answer(self, operation: str, inputs: Inputs) -> Answer:
        """See `Implementation.answer`."""
        del inputs
        raise OperationMismatchError(
            f"it says that it does not concern the {self.name}, yet asks it for {operation}"
        )
