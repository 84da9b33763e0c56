"""What row D22 asks, and how it measures the answers."""

from __future__ import annotations

import functools
from decimal import Decimal, localcontext

import numpy as np

from parity import cases
from parity.claims import Measurement, measure_bits, measure_errors
from parity.comparisons import (
    EPSILON,
    gap,
    in_epsilon_of_expectation,
    questions,
    softmax64,
    worst_of,
)
from parity.implementations import CannotMeasureError, Implementation
from parity.operations import Inputs

BINS = 255

# The rounding of one product p·b is uniform within half a ULP of it. A contracted pair
# sum rounds one of its two products and not the other, so this is what is left of each
# mirror pair at p = 1/255, in units of the value.
_PRODUCT_ULP = np.spacing(
    (np.expm1(np.linspace(0.0, 20.0, BINS // 2 + 1)[1:]) / BINS).astype(np.float32)
).astype(np.float64)
NOISE_STD = float(np.sqrt(np.sum(_PRODUCT_ULP**2) / 12))
NOISE_MAX = float(np.sum(_PRODUCT_ULP) / 2)


COUNTS = (BINS, 41)  # a support of any odd size is built by the same rule


@functools.cache
def rounded_bins(count: int = BINS) -> np.ndarray:
    """The float32 rounding of the exact bins, by decimal arithmetic with 40 digits."""
    with localcontext() as context:
        context.prec = 40
        steps = count // 2
        upper = [(Decimal(20 * k) / steps).exp() - 1 for k in range(1, steps + 1)]
    positive = np.asarray([float(value) for value in upper], np.float64).astype(np.float32)
    return np.concatenate([-positive[::-1], np.zeros(1, np.float32), positive])


def relative_to_bin(ours: np.ndarray, theirs: np.ndarray, inputs: Inputs) -> np.ndarray:
    exact = np.abs(rounded_bins(inputs["count"]).astype(np.float64))
    apart = gap(ours, theirs)
    return np.where(exact > 0, apart / np.where(exact > 0, exact, 1), np.where(apart, np.inf, 0))


def bins_cases(rng: np.random.Generator) -> Inputs:
    del rng
    return {"variants": [{"count": count} for count in COUNTS]}


def rounding(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    del reference
    counted = []
    for question in questions("dreamerv3.twohot_bins", inputs):
        exact = rounded_bins(question["count"])
        bins = subject("dreamerv3.twohot_bins", **question)["bins"]
        counted.append(measure_bits(bins, exact, {**question, "bin": np.arange(len(exact))}))
    return worst_of(counted)


def expectation_cases(rng: np.random.Generator) -> Inputs:
    return {"probs": cases.probabilities(rng, 512, BINS), "bins": rounded_bins()}


def decode_cases(rng: np.random.Generator) -> Inputs:
    logits = [cases.logits(rng, 512, BINS, -6, 7), cases.tilted_logits(rng, 2048, BINS)]
    return {"logits": np.concatenate(logits), "bins": rounded_bins()}


def decode_search():
    logits = cases.search_logits(64, BINS)
    return logits.map(lambda drawn: {"logits": drawn, "bins": rounded_bins()})


def encode_cases(rng: np.random.Generator) -> Inputs:
    bins = rounded_bins()
    return {"value": cases.targets(rng, 1024, bins), "bins": bins}


def encode_search():
    values = cases.search_scalars(1e9)
    return values.map(lambda drawn: {"value": drawn, "bins": rounded_bins()})


def loss_cases(rng: np.random.Generator) -> Inputs:
    inputs = encode_cases(rng)
    return {**inputs, "logits": cases.dominated_logits(rng, len(inputs["value"]), BINS)}


def any_loss_cases(rng: np.random.Generator) -> Inputs:
    inputs = encode_cases(rng)
    return {**inputs, "logits": cases.logits(rng, len(inputs["value"]), BINS)}


def uniform_cases(rng: np.random.Generator) -> Inputs:
    levels = cases.scalars(rng, 64, -20, 20)
    return {"logits": np.repeat(levels[:, None], BINS, axis=1), "bins": rounded_bins()}


def mirror_cases(rng: np.random.Generator) -> Inputs:
    probs = cases.probabilities(rng, 512, BINS)
    half = BINS // 2
    probs[:, -half:] = probs[:, :half][:, ::-1]
    return {"probs": probs, "bins": rounded_bins()}


def zero_at_symmetry(operation: str):
    """|value| on symmetric rows: over both modes, of all rows at once and of one alone.

    Rows that are not symmetric are asked beside them. An answer to one of those that is
    not even near the exact one counts as infinite, so that nobody passes who always says 0.
    """

    def measure(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
        del reference
        rows = next(name for name in inputs if name != "bins")
        alone = {**inputs, rows: inputs[rows][:1]}
        errors = [
            measure_errors(np.abs(subject(operation, **q)["value"].astype(np.float64)), q)
            for batch in (inputs, alone)
            for q in questions(operation, batch)
        ]
        control = {**inputs, rows: _asymmetric(inputs[rows])}
        for q in questions(operation, control):
            off = _far_off(subject(operation, **q)["value"], q)
            errors.append(measure_errors(np.where(off, np.inf, 0.0), q))
        return worst_of(errors)

    return measure


def _asymmetric(rows: np.ndarray) -> np.ndarray:
    """The rows with their last entry raised, so that the outermost bin holds more."""
    raised = rows.copy()
    raised[:, -1] = rows.max(axis=1) + np.float32(0.25)
    return raised


def _far_off(value: np.ndarray, inputs: Inputs) -> np.ndarray:
    """Whether a decoded value is off by more than a thousandth of E_p|b|."""
    probs = inputs["probs"] if "probs" in inputs else softmax64(inputs["logits"])
    exact = probs.astype(np.float64) @ inputs["bins"].astype(np.float64)
    return ~(in_epsilon_of_expectation(value, exact, inputs) * EPSILON < 1e-3)


def flat_cases(rng: np.random.Generator) -> Inputs:
    return {"logits": cases.mirrored_logits(rng, 4096, BINS, 2.0**-6), "bins": rounded_bins()}


def _noise(reference: Implementation, inputs: Inputs) -> np.ndarray:
    answer = reference("dreamerv3.twohot_decode", **inputs, mode="compiled")
    return answer["value"].astype(np.float64)


def noise_std(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    del subject
    noise = _noise(reference, inputs)
    return Measurement(float(noise.std()), float(noise.std()), noise.size)


def noise_max(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    del subject
    return measure_errors(np.abs(_noise(reference, inputs)), inputs)


def head_cases(rng: np.random.Generator) -> Inputs:
    features = cases.logits(rng, 16, 32, -2, 2)
    shift = np.zeros(BINS, np.float32)
    return {"features": features, "shift": shift, "seed": int(rng.integers(2**31))}


def head_constant(
    subject: Implementation, reference: Implementation, inputs: Inputs
) -> Measurement:
    del subject
    value = reference("dreamerv3.twohot_head_at_init", **inputs, mode="compiled")["value"]
    return Measurement(float(value.min()), float(value.max()), value.size)


def head_depends(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    del subject
    values = [
        reference("dreamerv3.twohot_head_at_init", **inputs, mode=mode)["value"]
        for mode in ("eager", "compiled")
    ]
    moved = np.abs(values[1].astype(np.float64) - values[0])
    note = f"eager {values[0][0]:.6g}, compiled {values[1][0]:.6g}"
    return Measurement(float(moved.min()), float(moved.max()), moved.size, note=note)


def head_zero(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    """|value| of a fresh head; with its bias set to a slope, the value must be that slope's."""
    del reference
    operation = "dreamerv3.twohot_head_at_init"
    slope = np.linspace(-2, 2, BINS).astype(np.float32)
    errors = []
    for q in questions(operation, inputs):
        errors.append(measure_errors(np.abs(subject(operation, **q)["value"]), q))
        value = subject(operation, **{**q, "shift": slope})["value"]
        off = _far_off(value, {"logits": slope[None], "bins": rounded_bins()})
        errors.append(measure_errors(np.where(off, np.inf, 0.0), {**q, "shift": slope}))
    return worst_of(errors)


def outermost(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    del subject
    bins = reference("dreamerv3.twohot_bins", **inputs, mode="compiled")["bins"]
    outer = np.abs(bins[[0, -1]].astype(np.float64))
    return Measurement(float(outer.min()), float(outer.max()), outer.size)


def outer_mass(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    """The share of an outer bin once the logits have begun to move, from the loss there."""
    del subject
    edge = np.full(len(inputs["logits"]), inputs["bins"][-1], np.float32)
    loss = reference("dreamerv3.twohot_loss", **inputs, value=edge, mode="compiled")["loss"]
    mass = np.exp(-loss.astype(np.float64)) * BINS
    return Measurement(float(mass.min()), float(mass.max()), mass.size)


def fragility_cases(rng: np.random.Generator) -> Inputs:
    mirrored = cases.mirrored_logits(rng, 64, BINS, 0.25) + np.float32(1.0)
    mirrored[:, [0, -1]] = 1.0
    return {"logits": mirrored, "bins": rounded_bins()}


def fragility(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    """By how much a ULP on the last logit moves the decoded value."""
    del reference
    moved = inputs["logits"].copy()
    moved[:, -1] = np.nextafter(np.float32(1.0), np.float32(2.0))
    before, after = (
        subject("dreamerv3.twohot_decode", **{**inputs, "logits": logits}, mode="compiled")["value"]
        for logits in (inputs["logits"], moved)
    )
    return measure_errors(gap(after, before), {**inputs, "logits": moved})


def whole_runs(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    raise CannotMeasureError(
        "a statistic of whole training runs, which no operation answers: see `audit cartpole`"
    )


def no_cases(rng: np.random.Generator) -> Inputs:
    del rng
    return {}
