"""D27: how many rows the replay holds, and which it drops."""

from __future__ import annotations

from parity.registry import Entry, Source

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
)
