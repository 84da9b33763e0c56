"""D26: when an update is due."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from parity.claims import Equals, Measurement, Stated, Within, measure_errors
from parity.implementations import Implementation
from parity.operations import Inputs
from parity.registry import Claim, Entry, Source

OPERATION = "dreamerv3.update_schedule"
FIRST = 1040  # where the gate opens with 16 environments and batches of 16 × 65 rows
TRANSITIONS = 200_000

POWERS = ("1", "2", "32", "1/2", "1/4", "1/32", "1/1024")
EXACT_INVERSES = (*POWERS, "1/3", "1/7", "1/10")
ROUNDED = ("3/10", "7/10", "3/8", "3/2", "25/256", "2/3", "3", "5")


def _cases(rng: np.random.Generator) -> Inputs:
    del rng
    return {"steps": np.arange(FIRST, FIRST + TRANSITIONS, dtype=np.int64)}


def _totals(side: Implementation, ratio: str, inputs: Inputs) -> np.ndarray:
    r = Fraction(ratio)
    answer = side(OPERATION, numerator=r.numerator, denominator=r.denominator, **inputs)
    return np.cumsum(answer["updates"])


def _exact(ratio: Fraction, steps: np.ndarray) -> np.ndarray:
    """1 + ⌊(t − t0)·r⌋ in integers of any size."""
    elapsed = (steps - steps[0]).astype(object)
    return (1 + elapsed * ratio.numerator // ratio.denominator).astype(np.int64)


def _differing(ratios: tuple[str, ...]):
    """How many transitions have different totals, over all ratios."""

    def measure(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
        errors = [
            np.count_nonzero(_totals(subject, r, inputs) != _totals(reference, r, inputs))
            for r in ratios
        ]
        worst = measure_errors(np.asarray(errors, np.float64), {"ratio": np.asarray(ratios)})
        return Measurement(
            float(sum(errors)), float(sum(errors)), len(ratios) * TRANSITIONS, worst.worst_input
        )

    return measure


def _ahead(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    leads, notes = [], []
    for ratio in ROUNDED:
        lead = _totals(subject, ratio, inputs) - _totals(reference, ratio, inputs)
        leads.append(lead)
        notes.append(f"{ratio}: {np.count_nonzero(lead):,}")
    lead = np.concatenate(leads)
    note = f"transitions on which the reference is late: {', '.join(notes)}"
    return Measurement(float(lead.min()), float(lead.max()), lead.size, note=note)


def _own_form(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    del reference
    ratios = (*EXACT_INVERSES, *ROUNDED)
    errors = [
        np.count_nonzero(_totals(subject, r, inputs) != _exact(Fraction(r), inputs["steps"]))
        for r in ratios
    ]
    return measure_errors(np.asarray(errors, np.float64), {"ratio": np.asarray(ratios)})


def _float_fraction(
    subject: Implementation, reference: Implementation, inputs: Inputs
) -> Measurement:
    """How often the reference is ahead of the closed form on the exact value of a float."""
    del subject
    lead = _totals(reference, "1/3", inputs) - _exact(Fraction(1 / 3), inputs["steps"])
    ahead = float(np.count_nonzero(lead))
    note = f"the reference leads by {lead.min()} to {lead.max()}"
    return Measurement(ahead, ahead, lead.size, note=note)


ROW = Entry(
    id="D26",
    agent="DreamerV3",
    kind="deviation",
    title="Update schedule in closed form",
    reference="when.Ratio keeps prev in float64: prev += repeats / r.",
    subject=(
        "The exact closed form 1 + ⌊(t − t0)·r⌋ on the absolute tick (r the exact fraction of "
        "train_ratio / (B·T))."
    ),
    consequence=(
        "Identical whenever 1/r is exact in float64 (every reference configuration: r = 2^k); "
        "otherwise the reference's rounding sometimes runs an update one transition late, and "
        "the core is at most one update ahead."
    ),
    sources=(
        Source("dreamerv3-29eb964", "embodied/core/when.py", "26-42"),
        Source("dreamerv3-29eb964", "embodied/run/train.py", "28"),
        Source("dreamerv3-2411f7d", "embodied/core/when.py", "26-42"),
        Source("dreamerv3-2411f7d", "embodied/run/train.py", "28"),
    ),
    pins=("dreamerv3-29eb964", "dreamerv3-2411f7d"),
    claims=(
        Claim(
            "reference-ratios",
            "With r a power of two, as in every reference configuration, the totals are equal "
            "on every one of 200,000 transitions.",
            Equals(0, "transitions that differ"),
            "1/r and every sum of it are exact in float64.",
            (OPERATION,),
            _cases,
            _differing(POWERS),
            stated=Stated("identical", 0, 0),
        ),
        Claim(
            "exact-inverses",
            "So they are with every other r whose inverse is exact in float64.",
            Equals(0, "transitions that differ"),
            "1/r is an integer, and float64 rounds the quotient back to it.",
            (OPERATION,),
            _cases,
            _differing(EXACT_INVERSES),
            stated=Stated("identical whenever 1/r is exact", 0, 0),
        ),
        Claim(
            "at-most-one-ahead",
            "With any other r the core is never behind, and at most one update ahead.",
            Within(0, 1, "updates"),
            "The reference truncates elapsed · r, which rounding can put just below an integer "
            "once; the next transition makes up for it.",
            (OPERATION,),
            _cases,
            _ahead,
            stated=Stated("at most one update ahead", 0, 1),
        ),
        Claim(
            "closed-form",
            "The core's totals are 1 + ⌊(t − t0)·r⌋ exactly, also where int32 would overflow.",
            Equals(0, "transitions that differ"),
            "Integer arithmetic is exact.",
            (OPERATION,),
            _cases,
            _own_form,
            about="subject",
        ),
        Claim(
            "intended-rational",
            "r must be the intended rational: on the exact value of the float 1/3 the closed "
            "form is one update behind the reference on every third transition.",
            Within(TRANSITIONS // 3, TRANSITIONS // 3 + 1, "transitions"),
            "The float is below 1/3, so the form reaches each integer one transition late.",
            (OPERATION,),
            _cases,
            _float_fraction,
            about="reference",
        ),
    ),
)
