"""The replay of whole episodes: which slices are drawn from it."""

from __future__ import annotations

import numpy as np

from parity.agreements.tdmpc2.entries import agreement
from parity.claims import Equals, Measurement, Within
from parity.implementations import Implementation
from parity.operations import Inputs
from parity.registry import Claim

SLICES = "tdmpc2.replay_slices"
GIVEN, CAPACITY, ROWS, HORIZON = 5, 3, 9, 3
BATCH, BATCHES = 64, 64
BEGINNINGS = ROWS - HORIZON  # with H + 1 rows from there on


def slice_cases(rng: np.random.Generator) -> Inputs:
    """A full replay, of which the oldest episodes have been overwritten."""
    del rng
    return {
        **{"given": GIVEN, "capacity": CAPACITY, "rows": ROWS, "horizon": HORIZON},
        **{"batch": BATCH, "batches": BATCHES, "seed": 11},
    }


def _valid() -> np.ndarray:
    """Which beginnings may be drawn: of the newest episodes, with enough rows after them."""
    episode, row = np.indices((GIVEN, ROWS))
    return (episode >= GIVEN - CAPACITY) & (row < BEGINNINGS)


def _starts(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    wrong, notes = 0, []
    for side in (reference, subject):
        answer = side(SLICES, **inputs)
        found = {
            "rows that may not be drawn": (answer["starts"] != 0) & ~_valid(),
            "rows that are not drawn": (answer["starts"] == 0) & _valid(),
            "numbers of other rows": np.ones(int(answer["torn"])),
        }
        for what, places in found.items():
            if count := int(np.count_nonzero(places)):
                wrong += count
                notes.append(f"{count} {what} by {side.name}")
    return Measurement(wrong, wrong, 2 * GIVEN * ROWS, inputs, ", ".join(notes))


def _shares(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    expected = BATCH * BATCHES / (CAPACITY * BEGINNINGS)
    sides = [side(SLICES, **inputs)["starts"][_valid()] for side in (reference, subject)]
    shares = np.concatenate(sides) / expected
    return Measurement(float(shares.min()), float(shares.max()), shares.size)


AGREEMENTS = (
    agreement(
        "replay",
        "Slices from the replay",
        "Any held episode, and any beginning with H + 1 rows from there on, as likely as another",
        {"common/buffer.py": (None, "13-27, 93-96", None, "13-28, 123-126")},
        (
            Claim(
                "starts",
                "Exactly the beginnings that leave H + 1 rows are drawn, of exactly the newest "
                "episodes, and slices hold the rows that follow.",
                Equals(0, "rows and numbers"),
                f"{BATCH * BATCHES} draws of {CAPACITY * BEGINNINGS} beginnings leave none out "
                "but with a probability of e⁻²⁰⁰.",
                (SLICES,),
                slice_cases,
                _starts,
            ),
            Claim(
                "shares",
                "Each is drawn about as often as any other.",
                Within(0.6, 1.4, "of an equal share"),
                "A share of 228 draws has a standard deviation of 6.4 %: six of them.",
                (SLICES,),
                slice_cases,
                _shares,
            ),
        ),
        "The model is trained on the reference's distribution of slices, ends of episodes and all.",
    ),
)
