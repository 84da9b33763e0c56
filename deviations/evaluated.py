"""What rows T9 and T16 ask about the returns of an evaluation."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from parity.claims import Measurement
from parity.implementations import Implementation
from parity.operations import Inputs

RETURNS = "tdmpc2.evaluation_returns"
EPISODES, LONGEST = 6, 5
EXACT = "Whole numbers; what is paid with its end tells how long an episode was."


def unequal(tasks: int) -> Callable[[np.random.Generator], Inputs]:
    """Episodes that end at different times."""

    def draw(rng: np.random.Generator) -> Inputs:
        asked = {"tasks": tasks, "episodes": EPISODES, "longest": LONGEST}
        return {**asked, "seed": int(rng.integers(1000))}

    return draw


def miscounted(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    """Episodes whose return or length is not that of one episode of that length."""
    del reference
    answer = subject(RETURNS, **inputs)
    lengths = answer["lengths"]
    # Where all are alike, nothing is played after an end.
    if np.unique(lengths).size < 3:
        return Measurement(np.nan, np.nan, 0, inputs)
    wrong = answer["returns"] != 101 * lengths - 1
    wrong |= (lengths < 1) | (lengths > inputs["longest"])
    found = float(np.count_nonzero(wrong))
    return Measurement(found, found, lengths.size, inputs)
