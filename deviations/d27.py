"""D27: how many rows the replay holds, and which it drops."""

from __future__ import annotations

import numpy as np

from parity.agreements.dreamerv3.entries import PINS
from parity.agreements.dreamerv3.replay_measures import (
    REPLAY,
    many_draws,
    places,
    question,
    starts,
    stock_sizes,
    whole,
)
from parity.claims import Equals, Measurement, Stated
from parity.implementations import Implementation
from parity.operations import Answer, Inputs
from parity.registry import Claim, Entry, Source

CAPACITY, LENGTH = 9, 2  # of `many_draws`: rows of an environment, and L − 1


def _neglected(rng: np.random.Generator) -> Inputs:
    """Rings that were overwritten twice before the first batch was drawn."""
    del rng
    return question(2, CAPACITY, LENGTH, 5, [23] * 5)


def _per_environment(answer: Answer, inputs: Inputs) -> list[set[int]]:
    """The starts that were drawn from each environment."""
    drawn = starts(answer, inputs)
    return [set(drawn[drawn[:, 1] == n, 0].tolist()) for n in range(inputs["mark"].shape[1])]


def _fewer(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    """Rows that are kept of an environment, less the sequences that can start in it."""
    del reference
    drawn = _per_environment(subject(REPLAY, **inputs), inputs)
    fewer = [inputs["capacity"] - len(one) for one in drawn]
    note = f"sequences of L = {LENGTH + 1} rows from {CAPACITY} rows"
    compared = sum(map(len, drawn))
    return Measurement(float(min(fewer)), float(max(fewer)), compared, inputs, note)


def _apart(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    """Starts that can be drawn from one environment and not from another."""
    del reference
    drawn = _per_environment(subject(REPLAY, **inputs), inputs)
    apart = float(len(set.union(*drawn) - set.intersection(*drawn)))
    return Measurement(apart, apart, sum(map(len, drawn)), inputs)


def _gone(side: Implementation, inputs: Inputs) -> Measurement:
    """Sequences from the queue whose rows are gone, by the count of rows, or are not whole."""
    answer = side(REPLAY, **inputs)
    tick, _ = places(answer, inputs)
    oldest = inputs["after"][:, None] - inputs["capacity"]
    gone = answer["online"] & (tick[..., 0] - 1 < oldest)
    count = float((gone | ~whole(answer, inputs)).sum())
    return Measurement(count, count, gone.size, inputs)


def _first_row(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    """The first row, context included, of what the reference's queue hands out first."""
    del subject
    answer = reference(REPLAY, **inputs)
    tick, _ = places(answer, inputs)
    first = tick[..., 0][answer["online"]] - 1
    return Measurement(float(first[0]), float(first[0]), len(first), inputs)


CLAIMS = (
    Claim(
        "fewer",
        "When the rings bind, L − 1 fewer sequences of L rows than rows are kept per environment.",
        Equals(LENGTH, "sequences fewer than rows"),
        "A sequence must end with the newest row.",
        (REPLAY,),
        many_draws,
        _fewer,
        about="subject",
        core_only=True,
        stated=Stated("L − 1 fewer, and L is 3 here", LENGTH, LENGTH),
    ),
    Claim(
        "together",
        "Every environment drops its oldest row together.",
        Equals(0, "starts of one environment alone"),
        "All rings are written in the same slot.",
        (REPLAY,),
        many_draws,
        _apart,
        about="subject",
        core_only=True,
        stated=Stated("together", 0, 0),
    ),
    Claim(
        "neglected-queue",
        "Where the rings bind before the queue is emptied, the core's queue skips what is gone.",
        Equals(0, "sequences of rows that are gone"),
        "Rows are copied, and rows that are overwritten can not be handed out.",
        (REPLAY,),
        _neglected,
        lambda subject, reference, inputs: _gone(subject, inputs),
        about="subject",
        core_only=True,
    ),
    Claim(
        "reference-neglected-queue",
        "The reference's queue hands them out all the same, for as long as their chunk of 1,024 "
        "rows is there: its capacity counts items, and its queue holds none.",
        Equals(10, "sequences of rows that are gone"),
        "Five runs of 3 rows begin before the oldest of 9 rows in each of 2 environments.",
        (REPLAY,),
        _neglected,
        lambda subject, reference, inputs: _gone(reference, inputs),
        about="reference",
    ),
    Claim(
        "queue-start",
        "The reference's queue begins with row 1 of an environment, not with row 0: a worker's "
        "rows are counted before the new one is.",
        Equals(1, "is the first row"),
        "Rows are counted.",
        (REPLAY,),
        stock_sizes,
        _first_row,
        about="reference",
    ),
)

ROW = Entry(
    id="D27",
    agent="DreamerV3",
    kind="deviation",
    title="Replay capacity in rows",
    reference="Replay capacity in items (5e6), FIFO over the items of all workers.",
    subject=(
        "Per-environment rings of C = min(ceil(replay_capacity / n_envs), rows per environment of "
        "the run) rows, overwritten in lockstep."
    ),
    consequence=(
        "Never binds in the paper's protocols (DMC: 250K rows ≪ 5e6), in one run or split into "
        "resumed calls (a resumed run grows a run-clamped ring to its total length). When it "
        "binds, every environment drops its oldest row together, and L − 1 fewer items per "
        "environment are kept than rows."
    ),
    sources=(
        Source("dreamerv3-29eb964", "dreamerv3/configs.yaml", "12"),
        Source("dreamerv3-29eb964", "embodied/replay/replay.py", "98-144"),
        Source("dreamerv3-29eb964", "embodied/replay/replay.py", "193-217"),
        Source("dreamerv3-2411f7d", "dreamerv3/configs.yaml", "12"),
        Source("dreamerv3-2411f7d", "embodied/replay/replay.py", "98-144"),
        Source("dreamerv3-2411f7d", "embodied/replay/replay.py", "193-217"),
        Source("dreamerv3-e3f0224", "dreamerv3/configs.yaml", "40"),
        Source("dreamerv3-e3f0224", "embodied/core/replay.py", "77-118"),
        Source("dreamerv3-e3f0224", "embodied/core/replay.py", "171-191"),
    ),
    pins=PINS,
    claims=CLAIMS,
)
