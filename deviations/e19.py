"""E19: what an action repeat does at the end of an episode."""

from __future__ import annotations

from parity.registry import Entry, Source

ROW = Entry(
    id="E19",
    agent="both",
    kind="deviation",
    title="Action repeat at the episode's end",
    reference="dm_control's action repeat stops at the episode's end.",
    subject="brax's EpisodeWrapper repeat continues after a termination.",
    consequence="None on DMC (never terminates).",
    sources=(
        Source("dreamerv3-29eb964", "embodied/core/wrappers.py", "45-55"),
        Source("dreamerv3-2411f7d", "embodied/core/wrappers.py", "45-55"),
        Source("dreamerv3-e3f0224", "embodied/core/wrappers.py", "63-73"),
        Source("tdmpc2-b67b21c", "tdmpc2/envs/dmcontrol.py", "37-47"),
        Source("tdmpc2-5f6fade", "tdmpc2/envs/dmcontrol.py", "36-46"),
    ),
)
