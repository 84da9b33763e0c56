"""What row T24 asks, and how it measures the answers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from parity import cases
from parity.agreements.tdmpc2.twohot import (
    COUNT,
    DECODE,
    ENCODE,
    LIMIT,
    exact_bins,
    symlog64,
    values,
)
from parity.claims import Measurement, measure_bits, measure_errors
from parity.comparisons import EPSILON, gap, questions, softmax64, worst_of
from parity.implementations import Implementation
from parity.operations import Answer, Inputs

BINS, RANGE = "tdmpc2.twohot_bins", "tdmpc2.twohot_range"


def bins_cases(rng: np.random.Generator) -> Inputs:
    del rng
    return {"count": COUNT, "limit": LIMIT}


def all_bins_cases(rng: np.random.Generator) -> Inputs:
    del rng
    sizes = ((COUNT, LIMIT), (11, 3.0), (255, 20.0))
    return {"variants": [{"count": count, "limit": limit} for count, limit in sizes]}


def absolute(left: np.ndarray, right: np.ndarray, inputs: Inputs) -> np.ndarray:
    del inputs
    return gap(left, right)


def middle(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    del subject
    bin = float(reference(BINS, **inputs)["bins"][COUNT // 2])
    return Measurement(bin, bin, 1)


def rounding(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    del reference
    counted = []
    for question in questions(BINS, inputs):
        steps = np.arange(question["count"]) - question["count"] // 2
        exact = question["limit"] * steps / (question["count"] // 2)
        bins = subject(BINS, **question)["bins"]
        counted.append(measure_bits(bins, exact.astype(np.float32) + np.float32(0), question))
    return worst_of(counted)


RANGES = ((-1.0, 4.0), (-12.0, 3.0), (2.0, 9.0))  # symmetric is none of them


def ranges(rng: np.random.Generator) -> Inputs:
    """Supports that are not symmetric."""
    del rng
    return {"variants": [{"count": COUNT, "low": a, "high": b} for a, b in RANGES]}


def with_symmetric(rng: np.random.Generator) -> Inputs:
    """These, and one as wide as each that is."""
    asked = ranges(rng)["variants"]
    even = [{**one, "low": (one["low"] - one["high"]) / 2} for one in asked]
    return {"variants": [*asked, *({**one, "high": -one["low"]} for one in even)]}


def _even(answer: Answer, asked: Inputs) -> np.ndarray:
    """Errors of the bins of an even grid, in ε of the largest of them."""
    exact = np.linspace(asked["low"], asked["high"], asked["count"])
    return gap(answer["bins"], exact) / (EPSILON * np.abs(exact).max())


def even_bins(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    """What the reference's bins are off, of supports that it must not refuse."""
    del subject
    found = []
    for asked in questions(RANGE, inputs):
        answer = reference(RANGE, **asked)
        errors = _even(answer, asked) if not answer["refused"] else np.full(1, np.nan)
        found.append(measure_errors(errors, asked))
    return worst_of(found)


def refused(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    """Supports that are refused though they are symmetric, or had though they are not."""
    del reference
    wrong = 0.0
    for asked in questions(RANGE, inputs):
        answer, symmetric = subject(RANGE, **asked), asked["low"] == -asked["high"]
        given = answer["refused"] == 0 and _even(answer, asked).max(initial=0) <= 2
        wrong += not given if symmetric else answer["refused"] != 1
    return Measurement(float(wrong), float(wrong), len(inputs["variants"]), inputs)


def encode_cases(rng: np.random.Generator) -> Inputs:
    value = np.concatenate([values(rng, 512), cases.scalars(rng, 512, 10, 15)])
    return {"value": value, "count": COUNT, "limit": LIMIT}


def _exact_weights(side: Implementation, inputs: Inputs) -> np.ndarray:
    """The exact weights of what a side takes for the symlog of each value; NaN if it is none."""
    x = side("tdmpc2.symlog", x=inputs["value"])["y"].astype(np.float64)
    x = np.where(np.abs(x - symlog64(inputs["value"])) < 1e-3, x, np.nan)
    step = 2 * inputs["limit"] / (inputs["count"] - 1)
    places = (np.clip(x, -inputs["limit"], inputs["limit"]) + inputs["limit"]) / step
    return np.maximum(0.0, 1 - np.abs(places[:, None] - np.arange(inputs["count"])))


def _weight_errors(side: Implementation, inputs: Inputs) -> np.ndarray:
    return side(ENCODE, **inputs)["weights"].astype(np.float64) - _exact_weights(side, inputs)


def weights_apart(
    subject: Implementation, reference: Implementation, inputs: Inputs
) -> Measurement:
    theirs, ours = (_weight_errors(side, inputs) for side in (reference, subject))
    return measure_errors(np.abs(ours - theirs), inputs)


def weights_exact(who: str) -> Callable:
    def measure(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
        side = subject if who == "subject" else reference
        return measure_errors(np.abs(_weight_errors(side, inputs)), inputs)

    return measure


def _single_peaks(rng: np.random.Generator, rows: int) -> np.ndarray:
    """One bin above a flat rest, whose many equal weights round the same way in every sum."""
    logits = np.zeros((rows, COUNT), np.float32)
    heights = (6 + 6 * rng.random(rows)).astype(np.float32)
    logits[np.arange(rows), rng.integers(0, COUNT, rows)] = heights
    return logits


def decode_cases(rng: np.random.Generator) -> Inputs:
    logits = [
        cases.logits(rng, 256, COUNT, -6, 6),
        cases.tilted_logits(rng, 768, COUNT),
        cases.dominated_logits(rng, 64, COUNT),
    ]
    # Few rows are summed up in another order than many.
    batches = [np.concatenate(logits), *(_single_peaks(rng, 2) for _ in range(48))]
    return {"variants": [{"logits": batch, "limit": LIMIT} for batch in batches]}


def decode_exact(who: str) -> Callable:
    def measure(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
        side = subject if who == "subject" else reference

        def one(question: Inputs) -> Measurement:
            exact = np.sum(softmax64(question["logits"]) * exact_bins(question), axis=-1)
            found = symlog64(side(DECODE, **question)["value"])
            return measure_errors(gap(found, exact), question)

        return worst_of(one(question) for question in questions(DECODE, inputs))

    return measure


def uniform_cases(rng: np.random.Generator) -> Inputs:
    levels = cases.scalars(rng, 64, -20, 20)
    return {"logits": np.repeat(levels[:, None], COUNT, axis=1), "limit": LIMIT}


def uniform_zero(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    """|value|, of many rows and of one; rows with a raised last logit must be decoded right."""
    del reference
    alone = {**inputs, "logits": inputs["logits"][:1]}
    found = [measure_errors(np.abs(subject(DECODE, **q)["value"]), q) for q in (inputs, alone)]
    raised = inputs["logits"].copy()
    raised[:, -1] = raised.max(axis=1) + np.abs(raised[:, -1]) + np.float32(1)
    control = {**inputs, "logits": raised}
    exact = np.sum(softmax64(raised) * exact_bins(inputs), axis=-1)
    off = np.abs(symlog64(subject(DECODE, **control)["value"]) - exact)
    found.append(measure_errors(np.where(off < 1e-3, 0.0, np.inf), control))
    return worst_of(found)


def log_prob_cases(rng: np.random.Generator) -> Inputs:
    """Targets that lie on a bin in any form: both ends, by clipping, and the middle."""
    logits = np.concatenate([cases.logits(rng, 192, COUNT), cases.tilted_logits(rng, 192, COUNT)])
    value = rng.choice(np.asarray([-3e8, 0.0, 3e8], np.float32), len(logits))
    return {"logits": logits, "value": value, "limit": LIMIT}


def in_epsilon_of_log_prob(left: np.ndarray, right: np.ndarray, inputs: Inputs) -> np.ndarray:
    largest = np.abs(inputs["logits"].astype(np.float64)).max(axis=-1)
    return gap(left, right) / (EPSILON * (largest + np.abs(right.astype(np.float64))))
