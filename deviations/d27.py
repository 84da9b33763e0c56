"""D27: how many rows the replay holds, and which it drops."""

from __future__ import annotations

from deviations import d27_measurements as on
from deviations import resumed
from deviations.d3 import HEAD
from deviations.d27_measurements import LENGTH, SIZE
from parity.agreements.dreamerv3.entries import PINS
from parity.agreements.dreamerv3.replay_measures import REPLAY, many_draws, stock_sizes
from parity.claims import Equals, Stated
from parity.registry import Claim, Entry, Source

CLAIMS = (
    Claim(
        "reference-limit",
        "By default the reference holds 5,000,000 sequences.",
        Equals(5_000_000, "sequences"),
        "A number that the stock program's own replay is made with.",
        (SIZE,),
        on.by_default,
        on.default_limit,
        about="reference",
        stated=Stated("5e6", 5e6, 5e6),
    ),
    Claim(
        "reference-newest",
        "When that binds, what it draws from are exactly the newest sequences.",
        Equals(0, "sequences"),
        "2,000 draws leave none of 14 out by accident.",
        (REPLAY,),
        many_draws,
        on.not_the_newest,
        about="reference",
        stated=Stated("FIFO over the items", 0, 0),
    ),
    Claim(
        "core-rows",
        "Where n_envs divides its limit, the core holds min(replay_capacity / n_envs, rows of the "
        "run) rows of each environment.",
        Equals(0, "rows from that"),
        "Whole numbers.",
        (SIZE,),
        on.whole_shares,
        on.from_stated,
        about="subject",
        core_only=True,
        stated=Stated("min(ceil(replay_capacity / n_envs), rows per environment of the run)", 0, 0),
    ),
    Claim(
        "core-rest",
        "Where it leaves a rest, the core rounds up: no row less in all than it is asked to hold.",
        Equals(0, "rows from that"),
        "Whole numbers.",
        (SIZE,),
        on.with_a_rest,
        on.from_stated,
        about="subject",
        core_only=True,
        stated=Stated("ceil(replay_capacity / n_envs)", 0, 0),
    ),
    Claim(
        "core-protocol",
        "By default the core has room for all 250,000 rows of the paper's run.",
        Equals(0, "rows dropped"),
        "Whole numbers.",
        (SIZE,),
        on.by_default,
        on.dropped,
        about="subject",
        core_only=True,
        stated=Stated("Never binds in the paper's protocols (DMC: 250K rows)", 0, 0),
    ),
    Claim(
        "fewer",
        "When the rings bind, L − 1 fewer sequences of L rows than rows are kept per environment.",
        Equals(LENGTH, "sequences fewer than rows"),
        "A sequence must end with the newest row.",
        (REPLAY,),
        many_draws,
        on.fewer,
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
        on.apart,
        about="subject",
        core_only=True,
        stated=Stated("together", 0, 0),
    ),
    Claim(
        "core-grows",
        "A run of 9 rows of each environment that is resumed, and resumed again, has room for all "
        "23 rows in the end, and draws from all of them.",
        Equals(resumed.ENDS[-1], "rows"),
        "They are counted; 512 draws leave none of 40 beginnings out by accident.",
        (resumed.ROWS,),
        resumed.sequences(),
        resumed.room,
        about="subject",
        core_only=True,
        stated=Stated(
            "a resumed run grows a run-clamped ring to its total length",
            resumed.ENDS[-1],
            resumed.ENDS[-1],
        ),
    ),
    Claim(
        "core-calls",
        "It draws the same sequences, with the same latents before them and as many from the "
        "queue, as a run in one call.",
        Equals(0, "numbers apart"),
        resumed.BITS,
        (resumed.ROWS,),
        resumed.sequences(),
        resumed.apart(resumed.ROWS),
        about="subject",
        core_only=True,
        stated=Stated("in one run or split into resumed calls", 0, 0),
    ),
    Claim(
        "neglected-queue",
        "Where the rings bind before the queue is emptied, the core's queue skips what is gone.",
        Equals(0, "sequences of rows that are gone"),
        "Rows are copied, and rows that are overwritten can not be handed out.",
        (REPLAY,),
        on.neglected,
        lambda subject, reference, inputs: on.gone(subject, inputs),
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
        on.neglected,
        lambda subject, reference, inputs: on.gone(reference, inputs),
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
        on.first_row,
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
    pins=(*PINS, HEAD),
    claims=CLAIMS,
)
