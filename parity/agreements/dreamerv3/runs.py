"""Whole runs: how many updates there are, and that a run can be interrupted."""

from __future__ import annotations

import numpy as np

from parity.agreements.dreamerv3.entries import agreement
from parity.claims import Equals, Measurement, measure_bits
from parity.comparisons import identical
from parity.implementations import Implementation
from parity.operations import Answer, Inputs
from parity.registry import Claim, Entry

UPDATES = "dreamerv3.trained_updates"
RESUMED = "dreamerv3.resumed_run"

PROTOCOL = {"envs": 16, "batch": 16, "length": 64, "train_ratio": 512.0, "ticks": 1250}


def _protocol(rng: np.random.Generator) -> Inputs:
    del rng
    return PROTOCOL


def _sizes(rng: np.random.Generator) -> Inputs:
    """The protocol's sizes, and small odd ones with two updates per row."""
    del rng
    odd = {"envs": 3, "batch": 4, "length": 5, "train_ratio": 40.0, "ticks": 23}
    return {"variants": [PROTOCOL, odd]}


def _total(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    del reference
    updates = subject(UPDATES, **inputs)["updates"]
    last = float(updates[-1])
    opened = np.flatnonzero(updates)
    first = 16 * (int(opened[0]) + 1) if len(opened) else "no"
    return Measurement(last, last, updates.size, inputs, f"the first with row {first}")


def interrupted(rng: np.random.Generator) -> Inputs:
    """A run whose replay is full, and that has learned for a while, is interrupted."""
    del rng
    return {"seed": 3, "ticks": 47, "interrupted_at": 29}


def _differing(one: Answer, other: Answer) -> list[str]:
    return [name for name in one if measure_bits(one[name], other[name], {}).high]


def resumed(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    """Components that the interruption changed, and those that nothing would change.

    Each component must differ in a run of another seed that is a tick shorter: a digest that
    is always the same would pass for a resumed run otherwise.
    """
    del reference
    seed, ticks = inputs["seed"], inputs["ticks"]
    whole = subject(RESUMED, seed=seed, ticks=ticks, interrupted_at=0)
    resumed = subject(RESUMED, **inputs)
    other = subject(RESUMED, seed=seed + 1, ticks=ticks - 1, interrupted_at=0)
    changed = _differing(whole, resumed)
    idle = sorted(set(whole) - set(_differing(whole, other)))
    note = f"changed: {', '.join(changed)}" if changed else ""
    note += f"; the same in another run: {', '.join(idle)}" if idle else ""
    wrong = float(len(changed) + len(idle))
    return Measurement(wrong, wrong, len(whole), inputs, note.removeprefix("; "))


AGREEMENTS = (
    agreement(
        "updates",
        "Updates of a run",
        "One when a batch of different sequences is there, then train_ratio / (16 · 64) per row",
        (
            ("embodied/run/train.py", "26-28", "26-28"),
            ("embodied/run/train.py", "81-92", "80-91"),
        ),
        (
            Claim(
                "ticks",
                "After every tick the training loop has made as many updates as the reference's.",
                Equals(0, "ticks that differ"),
                "Counts are exact, and 1/r is exact in float64 (row D26).",
                (UPDATES,),
                _sizes,
                identical(UPDATES, "updates"),
            ),
            Claim(
                "protocol",
                "20,000 rows of 16 environments at a train ratio of 512 make 9,481 updates, the "
                "first of them with row 1,040.",
                Equals(9481, "updates"),
                "1 + ⌊(20,000 − 1,040) / 2⌋.",
                (UPDATES,),
                _protocol,
                _total,
                about="subject",
            ),
        ),
        "Runs are compared at equal numbers of updates.",
    ),
    Entry(
        id="resumed-run",
        agent="DreamerV3",
        kind="agreement",
        title="Resumed runs",
        reference="A resumed run goes on with another replay order and fresh random numbers (D6).",
        subject="A run that is interrupted and resumed is the run that was not.",
        consequence="Nothing that is measured depends on how often a run was interrupted.",
        claims=(
            Claim(
                "bitwise",
                "A run that is saved to disk after 29 ticks, dropped and restored is after 47 "
                "ticks, in every component, bit by bit the run that was not interrupted. (A small "
                "stand-in takes the place of the networks.)",
                Equals(0, "components"),
                "The same program on the same state: nothing is rounded differently.",
                (RESUMED,),
                interrupted,
                resumed,
                about="subject",
                core_only=True,
            ),
        ),
    ),
)
