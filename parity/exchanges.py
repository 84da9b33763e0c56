"""What the two sides of one claim were asked, and what they answered."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Literal

import numpy as np

from parity.implementations import AnswerError, Implementation
from parity.measurements import Element
from parity.operations import Answer, Array, Inputs, catalogue
from reference_harness.recordings import request_digest

Side = Literal["subject", "reference"]


@dataclasses.dataclass(frozen=True)
class Exchange:
    """One question to one side.

    Attributes:
        side: Who was asked.
        operation: For what.
        inputs: With these.
        answer: None where there was none.
    """

    side: Side
    operation: str
    inputs: Inputs
    answer: Answer | None


@dataclasses.dataclass(frozen=True)
class Question:
    """One question with the answers of those who were asked it.

    Attributes:
        operation: What was asked for.
        inputs: With these.
        answers: By side; a side that was not asked, or failed, has none.
    """

    operation: str
    inputs: Inputs
    answers: dict[Side, Answer]


class Noting(Implementation):
    """A side whose exchanges are noted; its answers are handed on as they are."""

    def __init__(self, side: Side, inner: Implementation, notes: list[Exchange]):
        self.name = inner.name
        self.is_core = inner.is_core
        self._side: Side = side
        self._inner = inner
        self._notes = notes

    def answer(self, operation: str, inputs: Inputs) -> Answer:
        """See `Implementation.answer`."""
        return self._inner.answer(operation, inputs)

    def __call__(self, operation: str, **inputs: object) -> Answer:
        """See `Implementation.__call__`."""
        try:
            answer = self._inner(operation, **inputs)
        except AnswerError:
            self._notes.append(Exchange(self._side, operation, inputs, None))
            raise
        self._notes.append(Exchange(self._side, operation, inputs, answer))
        return answer


def describe(element: Element, notes: Sequence[Exchange]) -> str:
    """An element by its output and axes, with the two values: `y[B=3] of dreamerv3.symlog: ...`.

    Args:
        element: Where the worst figure is.
        notes: The exchanges among whose answers its arrays are. Arrays that a claim computed
            itself are in none of them; their element has an index alone.
    """
    answered, expected = (array[element.place] for array in (element.answered, element.expected))
    if answered.dtype != expected.dtype:
        answered, expected = (f"{value!s} ({value.dtype})" for value in (answered, expected))
    found = _origin(element.answered, notes)
    if found is None:
        where = f"at {list(map(int, element.place))}" if element.place else "the value"
        return f"{where}: answered {answered!s}, expected {expected!s}"
    exchange, output = found
    other = _origin(element.expected, notes)
    where = _place(exchange.operation, output, element.place)
    against = f"the {other[0].side} {expected!s}" if other else f"expected {expected!s}"
    return f"{where}: the {exchange.side} answered {answered!s}, {against}"


def first_difference(notes: Sequence[Exchange]) -> str:
    """The first count, flag or choice in which the answers to one question differ; "" if none.

    For claims whose figure is of no one element. Numbers that are rounded differ anyway.
    """
    for question in questions(notes):
        ours, theirs = (question.answers.get(side, {}) for side in ("subject", "reference"))
        for output in catalogue()[question.operation].outputs:
            left, right = ours.get(output.name), theirs.get(output.name)
            if left is None or right is None or left.shape != right.shape:
                continue
            if left.dtype.kind in "biu" and (places := np.argwhere(left != right)).size:
                place = tuple(map(int, places[0]))
                return (
                    f"{_place(question.operation, output, place)}: the subject answered "
                    f"{left[place]!s}, the reference {right[place]!s}"
                )
    return ""


def questions(notes: Sequence[Exchange], element: Element | None = None) -> list[Question]:
    """What was asked, each question once, with the answers of both sides.

    Args:
        notes: The exchanges of one measurement.
        element: Give only the question whose answer this is an element of, where that is known.
    """
    found = element and _origin(element.answered, notes)
    wanted = found and request_digest(found[0].operation, found[0].inputs)
    asked: dict[str, Question] = {}
    for note in notes:
        digest = request_digest(note.operation, note.inputs)
        if wanted in (None, digest):
            question = asked.setdefault(digest, Question(note.operation, note.inputs, {}))
            if note.answer is not None:
                question.answers[note.side] = note.answer
    return list(asked.values())


def _place(operation: str, output: Array, place: Sequence[int]) -> str:
    names = output.shape.split()
    axes = ", ".join(
        str(index) if name.isdigit() else f"{name}={index}"
        for name, index in zip(names, place, strict=True)
    )
    return f"{output.name}[{axes}] of {operation}" if axes else f"{output.name} of {operation}"


def _origin(array: np.ndarray, notes: Sequence[Exchange]) -> tuple[Exchange, Array] | None:
    """The exchange whose answer holds this very array, and which output it is."""
    for note in reversed(notes):
        for output in catalogue()[note.operation].outputs:
            if note.answer is not None and note.answer.get(output.name) is array:
                return note, output
    return None
