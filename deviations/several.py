"""What rows T7 and T29 ask about the replay that several environments share."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from parity.claims import Measurement
from parity.implementations import Implementation
from parity.operations import Inputs

SHARED = "tdmpc2.shared_slices"
H = 3
CHANCE = (
    "A share of 10,240 draws; 5 σ is exceeded by chance once in 2 million, and some 40 are seen."
)

Draw = Callable[[np.random.Generator], Inputs]


def _asked(rows: list[list[int]], capacity: int, *, episodic: bool) -> Draw:
    def draw(rng: np.random.Generator) -> Inputs:
        asked = {"rows": np.asarray(rows), "longest": int(np.max(rows)), "capacity": capacity}
        drawn = {"horizon": H, "batch": 256, "batches": 40, "seed": int(rng.integers(1000))}
        return {**asked, **drawn, "episodic": episodic}

    return draw


# Three environments, of whose four episodes the last two are held.
rounds = _asked([[6] * 4] * 3, 2, episodic=False)
# Of 16 rows the last 13: two episodes that are long enough, two, and the tail of a single one.
rows = _asked([[4, 4, 8], [5, 6, 5], [10, 3, 3]], 13, episodic=True)


def _beginnings(inputs: Inputs) -> np.ndarray:
    """[N, E, R] whether a slice can begin at each row of each episode of each environment."""
    counts, row = inputs["rows"][..., None], np.arange(inputs["longest"])
    if inputs["episodic"]:
        index = np.cumsum(counts, axis=1) - counts + row
        held = index >= counts.sum(axis=1, keepdims=True) - inputs["capacity"]
    else:
        episodes = counts.shape[1]
        held = np.arange(episodes)[:, None] >= episodes - inputs["capacity"]
    return held & (row < counts - inputs["horizon"])


def shares(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    """How far an episode's or a beginning's share is from what it should be, in σ of chance."""
    del reference
    answer, valid = subject(SHARED, **inputs), _beginnings(inputs)
    found, drawn = answer["starts"], inputs["batch"] * inputs["batches"]
    if answer["torn"] or found.sum() != drawn or found[~valid].any():
        return Measurement(np.nan, np.nan, found.size, inputs)
    eligible = valid.any(axis=-1)
    share = valid / np.maximum(valid.sum(axis=-1, keepdims=True), 1) / eligible.sum()
    expected = np.concatenate([share[valid], share.sum(axis=-1)[eligible]])
    counts = np.concatenate([found[valid], found.sum(axis=-1)[eligible]])
    deviation = np.sqrt(drawn * expected * (1 - expected))
    worst = float((np.abs(counts - drawn * expected) / deviation).max())
    told = ", ".join(f"{n / drawn:.3f}" for n in found.sum(axis=(1, 2)))
    return Measurement(worst, worst, len(counts), inputs, f"shares of the environments: {told}")
