"""Measures and cases that the agreements of both agents share."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from parity.claims import Measurement, measure_errors
from parity.comparisons import EPSILON, Measure, Scale, gap, questions, worst_of
from parity.implementations import Implementation
from parity.operations import Inputs

Truth = Callable[[Inputs], np.ndarray]
Side = tuple[Implementation, ...]


def over(size: Callable[[Inputs], np.ndarray | float]) -> Scale:
    """The gap over ε times a size that the inputs alone determine; 0 apart is 0 of any size."""

    def scale(left: np.ndarray, right: np.ndarray, inputs: Inputs) -> np.ndarray:
        apart = gap(left, right)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(apart == 0, 0.0, apart / (EPSILON * size(inputs)))

    return scale


def compare_outputs(operation: str, scales: Mapping[str, Scale]) -> Measure:
    """Subject against reference in several outputs, each with a unit of its own."""

    def measure(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
        def one(question: Inputs) -> Measurement:
            theirs = reference(operation, **question)
            ours = subject(operation, **question)
            return worst_of(
                measure_errors(
                    scale(ours[name], theirs[name], question),
                    question,
                    answers=(ours[name], theirs[name]),
                )
                for name, scale in scales.items()
            )

        return worst_of(one(question) for question in questions(operation, inputs))

    return measure


def truths(operation: str, expected: Mapping[str, tuple[Truth, Scale]]) -> Measure:
    """Both sides against values that were computed in float64 from the formula."""

    def measure(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
        def one(question: Inputs, side: Implementation) -> Measurement:
            answer = side(operation, **question)
            found = []
            for name, (truth, scale) in expected.items():
                exact = np.asarray(truth(question), np.float64)
                errors = scale(answer[name], exact, question)
                found.append(measure_errors(errors, question, answers=(answer[name], exact)))
            return worst_of(found)

        return worst_of(
            one(question, side)
            for question in questions(operation, inputs)
            for side in (reference, subject)
        )

    return measure


def slopes(
    operation: str, value: str, slope: str, wanted: Mapping[str, int], step: float
) -> Measure:
    """A gradient against difference quotients of the subject's own values.

    Args:
        operation: Answers with the value and with its gradient.
        value: An output; the gradient is that of its sum, or of its mean if it has one more axis.
        slope: An output of the shape of the inputs, or of the inputs side by side.
        wanted: Inputs that are moved, by how many elements each row of them has.
        step: By which one is moved, a power of two.

    Returns:
        A measure of the largest error over the largest difference quotient.
    """

    def measure(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
        del reference
        given = subject(operation, **inputs)[slope]
        columns = []
        for name, count in wanted.items():
            for index in range(count):
                ends = []
                for sign in (1, -1):
                    moved = inputs[name].copy()
                    moved.reshape(len(moved), -1)[:, index] += np.float32(sign * step)
                    ends.append(subject(operation, **{**inputs, name: moved})[value])
                up, down = (end.astype(np.float64) for end in ends)
                elements = up.size if up.ndim > 1 else 1
                columns.append((up - down).reshape(len(up), -1).sum(1) / (2 * step * elements))
        quotients = np.stack(columns, 1)
        errors = np.abs(given.reshape(quotients.shape) - quotients)
        with np.errstate(divide="ignore", invalid="ignore"):
            return measure_errors(errors / np.abs(quotients).max(), inputs)

    return measure


def fixed(make: Callable[[np.random.Generator], Inputs]) -> Callable[..., Inputs]:
    """Cases that are the same for every claim, so that one recorded answer serves them all."""

    def cases(rng: np.random.Generator) -> Inputs:
        del rng
        return make(np.random.default_rng(2))

    return cases


def uniform(rng: np.random.Generator, *shape: int, within: float = 2.0) -> np.ndarray:
    """Numbers between −within and within, float32."""
    return ((2 * rng.random(shape) - 1) * within).astype(np.float32)


def flags(rng: np.random.Generator, *shape: int, share: float = 0.25) -> np.ndarray:
    """True in about this share of the places."""
    return rng.random(shape) < share
