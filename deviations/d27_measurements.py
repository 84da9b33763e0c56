"""What row D27 asks, and how it measures the answers."""

from __future__ import annotations

import numpy as np

from parity.agreements.dreamerv3.replay_measures import (
    REPLAY,
    places,
    question,
    starts,
    whole,
)
from parity.claims import Measurement
from parity.implementations import Implementation
from parity.operations import Answer, Inputs

SIZE = "dreamerv3.replay_size"
CAPACITY, LENGTH = 9, 2  # of `many_draws`: rows of an environment, and L − 1
ENVS, PROTOCOL = 16, 250_000  # environments, and rows, of the paper's runs of the control suite


def neglected(rng: np.random.Generator) -> Inputs:
    """Rings that were overwritten twice before the first batch was drawn."""
    del rng
    return question(2, CAPACITY, LENGTH, 5, [23] * 5)


def _per_environment(answer: Answer, inputs: Inputs) -> list[set[int]]:
    """The starts that were drawn from each environment."""
    drawn = starts(answer, inputs)
    return [set(drawn[drawn[:, 1] == n, 0].tolist()) for n in range(inputs["mark"].shape[1])]


def fewer(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    """Rows that are kept of an environment, less the sequences that can start in it."""
    del reference
    drawn = _per_environment(subject(REPLAY, **inputs), inputs)
    missing = [inputs["capacity"] - len(one) for one in drawn]
    note = f"sequences of L = {LENGTH + 1} rows from {CAPACITY} rows"
    compared = sum(map(len, drawn))
    return Measurement(float(min(missing)), float(max(missing)), compared, inputs, note)


def apart(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    """Starts that can be drawn from one environment and not from another."""
    del reference
    drawn = _per_environment(subject(REPLAY, **inputs), inputs)
    alone = float(len(set.union(*drawn) - set.intersection(*drawn)))
    return Measurement(alone, alone, sum(map(len, drawn)), inputs)


def gone(side: Implementation, inputs: Inputs) -> Measurement:
    """Sequences from the queue whose rows are gone, by the count of rows, or are not whole."""
    answer = side(REPLAY, **inputs)
    tick, _ = places(answer, inputs)
    oldest = inputs["after"][:, None] - inputs["capacity"]
    lost = answer["online"] & (tick[..., 0] - 1 < oldest)
    count = float((lost | ~whole(answer, inputs)).sum())
    return Measurement(count, count, lost.size, inputs)


def first_row(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    """The first row, context included, of what the reference's queue hands out first."""
    del subject
    answer = reference(REPLAY, **inputs)
    tick, _ = places(answer, inputs)
    first = tick[..., 0][answer["online"]] - 1
    return Measurement(float(first[0]), float(first[0]), len(first), inputs)


def by_default(rng: np.random.Generator) -> Inputs:
    """The paper's longest run of the control suite."""
    del rng
    return {"limit": 0, "envs": ENVS, "steps": PROTOCOL}


def _limits(rng: np.random.Generator, least_rest: int, most_rest: int) -> Inputs:
    """Limits that leave such a rest when they are shared out, in longer and shorter runs."""
    envs = rng.integers(max(2, least_rest + 1), 20, 24)
    rests = rng.integers(least_rest, np.minimum(most_rest + 1, envs))
    limits = rng.integers(8, 400, 24) * envs + rests
    steps = (rng.integers(1, 9, 24) * limits) // 2
    asked = zip(limits.tolist(), envs.tolist(), steps.tolist(), strict=True)
    return {"variants": [{"limit": limit, "envs": n, "steps": s} for limit, n, s in asked]}


def whole_shares(rng: np.random.Generator) -> Inputs:
    return _limits(rng, 0, 0)


def with_a_rest(rng: np.random.Generator) -> Inputs:
    """Runs that fill the replay."""
    asked = _limits(rng, 1, 19)["variants"]
    return {"variants": [{**one, "steps": 2 * one["limit"]} for one in asked]}


def _held(side: Implementation, asked: Inputs) -> int:
    return int(side(SIZE, **asked)["held"])


def default_limit(
    subject: Implementation, reference: Implementation, inputs: Inputs
) -> Measurement:
    del subject
    held = float(_held(reference, inputs))
    return Measurement(held, held, 1, inputs)


def dropped(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    """Rows of the protocol's run for which the core has no room."""
    del reference
    rows = float(inputs["steps"] - _held(subject, inputs))
    return Measurement(rows, rows, inputs["steps"], inputs)


def from_stated(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    """Rows of each environment, less min(ceil(limit / n), rows of the run)."""
    del reference
    differences = []
    for one in inputs["variants"]:
        envs = one["envs"]
        stated = min(-(-one["limit"] // envs), -(-one["steps"] // envs))
        differences.append(_held(subject, one) / envs - stated)
    return Measurement(min(differences), max(differences), len(differences), inputs)


def not_the_newest(
    subject: Implementation, reference: Implementation, inputs: Inputs
) -> Measurement:
    """Starts that are drawn and are not the newest, or are and are not drawn."""
    del subject
    drawn = _per_environment(reference(REPLAY, **inputs), inputs)
    rows, ticks = inputs["capacity"] - LENGTH, len(inputs["mark"])
    newest = set(range(ticks - LENGTH - rows, ticks - LENGTH))
    wrong = float(sum(len(one ^ newest) for one in drawn))
    return Measurement(wrong, wrong, len(drawn) * rows, inputs)
