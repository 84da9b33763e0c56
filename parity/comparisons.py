"""Ready-made measurements: ask both sides the same, and express the gap in a unit.

A claim's `measure` is a function of (subject, reference, inputs); these build the usual
ones. An operation that can run in two modes is measured in both unless the inputs say
which.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from typing import Literal

import numpy as np

from parity.claims import Measurement, measure_bits, measure_errors, ulp_distance
from parity.implementations import Implementation
from parity.operations import Inputs, Setting, catalogue

EPSILON = float(np.finfo(np.float32).eps)

Measure = Callable[[Implementation, Implementation, Inputs], Measurement]
Scale = Callable[[np.ndarray, np.ndarray, Inputs], np.ndarray]


def gap(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """|left − right| in float64; equal infinities, and a NaN beside a NaN, are 0 apart."""
    left, right = left.astype(np.float64), right.astype(np.float64)
    same = (left == right) | (np.isnan(left) & np.isnan(right))
    with np.errstate(invalid="ignore"):
        return np.where(same, 0.0, np.abs(left - right))


def in_ulp(left: np.ndarray, right: np.ndarray, inputs: Inputs) -> np.ndarray:
    """The gap as a count of float32 numbers; below the normal range all are one.

    Compilers may flush subnormal numbers to zero, so two of them count as equal.
    """
    del inputs
    tiny = np.finfo(np.float32).tiny
    left, right = (np.where(np.abs(x) < tiny, np.float32(0), x) for x in (left, right))
    left, right = (x + np.float32(0) for x in (left, right))  # −0 is 0 here
    return ulp_distance(left, right)


def in_epsilon(left: np.ndarray, right: np.ndarray, inputs: Inputs) -> np.ndarray:
    """The gap between numbers of size 1 at most, over ε."""
    del inputs
    return gap(left, right) / EPSILON


def in_epsilon_nats(left: np.ndarray, right: np.ndarray, inputs: Inputs) -> np.ndarray:
    """The gap between log-probabilities, over ε · max(1, |value|)."""
    del inputs
    return gap(left, right) / (EPSILON * np.maximum(1.0, np.abs(right.astype(np.float64))))


def in_epsilon_of_loss(left: np.ndarray, right: np.ndarray, inputs: Inputs) -> np.ndarray:
    """The gap between cross entropies, over ε · (ln N + max|logit| + loss).

    That is the size of the terms that a cross entropy is the small difference of.
    """
    largest = np.abs(inputs["logits"].astype(np.float64)).max(axis=-1)
    size = np.log(inputs["logits"].shape[-1]) + largest + np.abs(right.astype(np.float64))
    return gap(left, right) / (EPSILON * size)


def in_epsilon_of_expectation(left: np.ndarray, right: np.ndarray, inputs: Inputs) -> np.ndarray:
    """The gap between expectations of bins, over ε·E_p|b|: the size of what cancels in one.

    The probabilities are the inputs' own, or the softmax of their logits.
    """
    probs = inputs["probs"] if "probs" in inputs else softmax64(inputs["logits"])
    magnitude = probs.astype(np.float64) @ np.abs(inputs["bins"].astype(np.float64))
    return gap(left, right) / (EPSILON * magnitude)


def softmax64(logits: np.ndarray) -> np.ndarray:
    """The softmax over the last axis, in float64."""
    wide = logits.astype(np.float64)
    weights = np.exp(wide - wide.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def in_ulp_of_exact(answer: np.ndarray, exact: np.ndarray, inputs: Inputs) -> np.ndarray:
    """The distance of float32 answers from float64 truths, in float32 spacings there.

    A subnormal may be flushed to zero; a truth beyond float32 rounds to infinity.
    """
    del inputs
    with np.errstate(over="ignore"):
        rounded = exact.astype(np.float32)
    tiny = float(np.finfo(np.float32).tiny)
    flushed = (np.abs(exact) < tiny) & (np.abs(answer) < tiny)
    with np.errstate(invalid="ignore"):
        distance = np.abs(answer.astype(np.float64) - exact) / np.spacing(np.abs(rounded))
    return np.where(flushed | (answer == rounded), 0.0, distance)


def questions(operation: str, inputs: Inputs) -> list[Inputs]:
    """What to ask: every variant of the inputs, in every mode of the operation.

    Inputs may be a single `{"variants": [inputs, ...]}`. Inputs that say their mode are
    asked in that mode alone.
    """
    settings = [f for f in catalogue()[operation].inputs if isinstance(f, Setting)]
    modes = next((setting.choices for setting in settings if setting.name == "mode"), ())
    asked: list[Inputs] = []
    for variant in inputs.get("variants", [inputs]):
        if modes and "mode" not in variant:
            asked.extend({**variant, "mode": mode} for mode in modes)
        else:
            asked.append(variant)
    return asked


def worst_of(measurements: Iterable[Measurement]) -> Measurement:
    """The worst of several measurements of errors, over all that they compared.

    One that compared nothing spoils the lot, and so does one that measured NaN.
    """
    measured = list(measurements)
    if not all(m.compared for m in measured):
        return Measurement(np.nan, np.nan, 0)
    worst = max(measured, key=lambda m: (np.isnan(m.high), m.high))
    return dataclasses.replace(worst, low=worst.high, compared=sum(m.compared for m in measured))


def compare(operation: str, output: str, scale: Scale) -> Measure:
    """Subject against reference, as errors in the unit that `scale` makes of the gap."""

    def measure(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
        def one(question: Inputs) -> Measurement:
            theirs = reference(operation, **question)[output]
            ours = subject(operation, **question)[output]
            errors = scale(ours, theirs, question)
            return measure_errors(errors, question, answers=(ours, theirs))

        return worst_of(one(question) for question in questions(operation, inputs))

    return measure


def identical(operation: str, output: str) -> Measure:
    """Subject against reference, bit by bit; the figure counts the values that differ."""

    def measure(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
        def one(question: Inputs) -> Measurement:
            theirs = reference(operation, **question)[output]
            ours = subject(operation, **question)[output]
            return measure_bits(ours, theirs, question)

        return worst_of(one(question) for question in questions(operation, inputs))

    return measure


def against_truth(
    operation: str,
    output: str,
    truth: Callable[[Inputs], np.ndarray],
    scale: Scale,
    *,
    side: Literal["subject", "reference"] = "subject",
) -> Measure:
    """One side against a float64 computation of ours.

    Args:
        operation: What to ask.
        output: Which output to compare.
        truth: The exact values, from the inputs.
        scale: Makes the error of (answer, truth, inputs).
        side: Which side is asked; the other is not.
    """

    def measure(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
        asked = subject if side == "subject" else reference

        def one(question: Inputs) -> Measurement:
            answer = asked(operation, **question)[output]
            exact = truth(question)
            errors = scale(answer, exact, question)
            return measure_errors(errors, question, answers=(answer, exact))

        return worst_of(one(question) for question in questions(operation, inputs))

    return measure
