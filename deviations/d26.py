"""D26: when an update is due."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from deviations.d3 import HEAD
from parity.agreements.dreamerv3.entries import PINS
from parity.claims import Equals, Measurement, Stated, Within, measure_errors
from parity.comparisons import worst_of
from parity.implementations import Implementation
from parity.operations import Inputs
from parity.registry import Claim, Entry, Source

OPERATION = "dreamerv3.update_schedule"
FIRST = 1040  # where the gate opens with 16 environments and batches of 16 × 65 rows
TRANSITIONS = 200_000

POWERS = ("1", "2", "32", "1/2", "1/4", "1/32", "1/1024")
# 1/r is n exactly in float64 for these r = 1/n. It is not for every n: see 1/49.
EXACT_INVERSES = (*POWERS, "1/3", "1/7", "1/10")
ROUNDED = ("3/10", "7/10", "3/8", "3/2", "25/256", "2/3", "3", "5", "1/49")


def _cases(rng: np.random.Generator) -> Inputs:
    del rng
    return {"steps": np.arange(FIRST, FIRST + TRANSITIONS, dtype=np.int64)}


def _elsewhere(rng: np.random.Generator) -> Inputs:
    """Another gate, uneven steps, and a run so long that elapsed · numerator leaves int32."""
    uneven = 17 + np.cumsum(np.concatenate([[0], rng.integers(1, 41, 20_000)]))
    far = np.concatenate([np.arange(3, 9), 2_000_000_000 + np.arange(2_000)])
    return {"variants": [{"steps": uneven.astype(np.int64)}, {"steps": far.astype(np.int64)}]}


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
    """Totals that differ from exact integers; far out, with ratios whose totals fit int32."""
    del reference
    counted = []
    for variant in inputs["variants"]:
        steps = variant["steps"]
        for ratio in (*EXACT_INVERSES, *ROUNDED):
            exact = _exact(Fraction(ratio), steps)
            if exact[-1] < 2**31:
                off = _totals(subject, ratio, variant) != exact
                counted.append(measure_errors(off.astype(np.float64), {**variant, "ratio": ratio}))
    return worst_of(counted)


def _elsewhere_equal(
    subject: Implementation, reference: Implementation, inputs: Inputs
) -> Measurement:
    (uneven, far), ratios = inputs["variants"], EXACT_INVERSES
    counted = []
    for variant, chosen in ((uneven, ratios), (far, ("1", "1/2", "1/1024"))):
        for ratio in chosen:
            off = _totals(subject, ratio, variant) != _totals(reference, ratio, variant)
            counted.append(measure_errors(off.astype(np.float64), {**variant, "ratio": ratio}))
    return worst_of(counted)


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
        Source(HEAD, "embodied/run/train.py", "25"),
    ),
    pins=(*PINS, HEAD),
    claims=(
        Claim(
            "reference-ratios",
            "With r a power of two, as in the reference's defaults, the totals are equal on every "
            "one of 200,000 transitions.",
            Equals(0, "transitions that differ"),
            "1/r and every sum of it are exact in float64.",
            (OPERATION,),
            _cases,
            _differing(POWERS),
            stated=Stated("identical", 0, 0),
        ),
        Claim(
            "exact-inverses",
            "So they are with r = 1/3, 1/7 and 1/10, whose inverses are exact in float64.",
            Equals(0, "transitions that differ"),
            "1/r rounds to the integer, and the integer times r to 1. (Not so for 1/49, whose "
            "inverse in float64 is not 49: it is among the ratios of `at-most-one-ahead`.)",
            (OPERATION,),
            _cases,
            _differing(EXACT_INVERSES),
            stated=Stated("identical whenever 1/r is exact", 0, 0),
        ),
        Claim(
            "elsewhere",
            "The totals are those of the absolute step: equal also with another gate, with "
            "uneven steps, and two billion steps on.",
            Equals(0, "totals that differ"),
            "Whole multiples of an exact 1/r are exact in float64 below 2^53.",
            (OPERATION,),
            _elsewhere,
            _elsewhere_equal,
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
            "The core's totals are 1 + ⌊(t − t0)·r⌋ exactly, also with uneven steps, and where "
            "(t − t0) times the numerator overflows int32.",
            Equals(0, "wrong totals"),
            "Integer arithmetic is exact.",
            (OPERATION,),
            lambda rng: {"variants": [_cases(rng), *_elsewhere(rng)["variants"]]},
            _own_form,
            about="subject",
            core_only=True,
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
            stated=Stated("r the exact fraction", 0, 0),
        ),
    ),
)
