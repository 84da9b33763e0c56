"""How the claims about networks, latent dynamics and acting are measured."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from parity.claims import Measurement, measure_bits, measure_errors
from parity.comparisons import EPSILON, Measure, Scale, gap
from parity.implementations import Implementation
from parity.operations import Answer, Inputs

# What a subject gets that can not have computed anything.
NOTHING = Measurement(math.inf, math.inf, 1)

# One answer of one side, as a measurement.
Property = Callable[[Implementation, Inputs], Measurement]


def bound(layers: int) -> int:
    """How far two sides may part after a chain of layers, in ε · max(1, |value|)."""
    return 8 * math.ceil(math.sqrt(layers))


def why(layers: int) -> str:
    """Where `bound` comes from."""
    return (
        f"A layer's sums of up to 37 products, its norm and its SiLU put about 1 ε, root mean "
        f"square, on an activation of the size 1. Over the {layers} layers that count (what a step "
        f"leaves of older errors fades with the old state) these add up as a random walk to "
        f"√{layers}; the worst of a thousand values is at 4 "
        f"times that, and there are two sides: 4 · √2 · √{layers} = "
        f"{4 * math.sqrt(2 * layers):.0f}, below {bound(layers)}."
    )


def count(wrong: Mapping[str, Any], inputs: Inputs, compared: int) -> Measurement:
    """How many things are wrong, by what they are; the note names them."""
    numbers = {what: int(np.count_nonzero(found)) for what, found in wrong.items()}
    total = float(sum(numbers.values()))
    note = ", ".join(f"{number} {what}" for what, number in numbers.items() if number)
    return Measurement(total, total, compared, shown(inputs) if total else {}, note)


def shown(inputs: Inputs) -> Inputs:
    """What a reader wants to see of inputs: all but the parameters of networks."""
    leaves = ("kernel", "bias", "scale")
    return {k: v for k, v in inputs.items() if k.rpartition("_")[-1] not in leaves}


def against_reference(operation: str, output: str, scale: Scale) -> Measure:
    """Subject against reference, as errors in the unit that `scale` makes of the gap."""

    def measure(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
        theirs = reference(operation, **inputs)[output]
        ours = subject(operation, **inputs)[output]
        return measure_errors(scale(ours, theirs, inputs), shown(inputs), answers=(ours, theirs))

    return measure


def same_draws(operation: str, output: str) -> Measure:
    """Subject against reference, draw by draw; the figure counts those that differ."""

    def measure(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
        theirs = reference(operation, **inputs)[output]
        return measure_bits(subject(operation, **inputs)[output], theirs, shown(inputs))

    return measure


def onehot(classes: np.ndarray, count: int) -> np.ndarray:
    """The classes as vectors; one that is no class is all zeros."""
    return (classes[..., None] == np.arange(count)).astype(np.float32)


def of_both(one_side: Property) -> Measure:
    """A property that subject and reference both have: the figures of both."""

    def measure(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
        theirs, ours = one_side(reference, inputs), one_side(subject, inputs)
        if not (theirs.compared and ours.compared):
            return Measurement(math.nan, math.nan, 0)
        # NaN comes out wherever it stands.
        low, high = np.minimum(theirs.low, ours.low), np.maximum(theirs.high, ours.high)
        compared, note = theirs.compared + ours.compared, ours.note or theirs.note
        return Measurement(float(low), float(high), compared, ours.worst_input, note)

    return measure


def of_subject(one_side: Property) -> Measure:
    """A property of the subject."""

    def measure(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
        del reference
        return one_side(subject, inputs)

    return measure


def changed(before: Answer, after: Answer, axes: int, *outputs: str) -> np.ndarray:
    """Whether any bit of a row differs in any of the outputs; rows are the first axes."""
    found = None
    for name in outputs:
        left, right = before[name], after[name]
        differs = (left != right) | (np.signbit(left) != np.signbit(right))
        differs &= ~(np.isnan(left) & np.isnan(right))
        rows = differs.any(axis=tuple(range(axes, differs.ndim)))
        found = rows if found is None else found | rows
    assert found is not None
    return found


def untouched(
    operation: str,
    axes: int,
    perturb: Callable[[Inputs], tuple[Inputs, np.ndarray, np.ndarray]],
    *moving: str,
) -> Property:
    """Some rows of an answer do not depend on something, and others do.

    Args:
        operation: What is asked, once as it is and once perturbed.
        axes: How many axes of an output count rows.
        perturb: From the inputs to the perturbed ones, the rows that must keep every bit, and
            those that must not.
        moving: The outputs of which one must change where something must.
    """

    def one_side(side: Implementation, inputs: Inputs) -> Measurement:
        other, still, moves = perturb(inputs)
        before, after = side(operation, **inputs), side(operation, **other)
        every = [name for name, value in before.items() if value.shape[:axes] == still.shape]
        wrong = {
            "rows that must not change do": changed(before, after, axes, *every) & still,
            "rows that must change do not": ~changed(before, after, axes, *moving) & moves,
        }
        return count(wrong, inputs, int(still.sum() + moves.sum()))

    return one_side


def least_probability(operation: str, outputs: Mapping[str, float]) -> Property:
    """What the unlikely classes of confident distributions have, over what unimix gives them.

    Args:
        operation: What is asked.
        outputs: Log-probabilities, and the share that unimix gives each class.
    """

    def one_side(side: Implementation, inputs: Inputs) -> Measurement:
        answer = side(operation, **inputs)
        figures = []
        for name, share in outputs.items():
            log_probs = np.sort(answer[name].astype(np.float64), axis=-1)[..., :-1]
            figures.append(np.exp(log_probs).ravel() / share)
        figure = np.concatenate(figures)
        return Measurement(float(figure.min()), float(figure.max()), figure.size)

    return one_side


def chained(
    side: Implementation, operation: str, rows: list[Inputs], carry: Callable[[Answer], Inputs]
) -> list[Answer]:
    """The answers to one question after the other, each with what the one before left."""
    answers: list[Answer] = []
    for row in rows:
        answers.append(side(operation, **{**row, **(carry(answers[-1]) if answers else {})}))
    return answers


def apart(left: np.ndarray, right: np.ndarray) -> Measurement:
    """Two arrays: integers are infinitely far apart unless equal, others in ε · max(1, |x|)."""
    if left.shape != right.shape:
        return NOTHING
    errors = gap(left, right)
    if left.dtype.kind == "f":
        errors = errors / (EPSILON * np.maximum(1.0, np.abs(right.astype(np.float64))))
    else:
        errors = np.where(errors != 0, np.inf, 0.0)
    return measure_errors(errors, {}, answers=(left, right))
