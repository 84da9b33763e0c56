"""Which values the keys of a training program and of a run take, beside the agent's own."""

from __future__ import annotations

from collections.abc import Mapping

from core.ranges import ANY_COUNT, COUNT, POSITIVE, WEIGHT, Range

RANGES: Mapping[str, Range] = {
    # Of a training program.
    "steps": COUNT,
    "n_envs": COUNT,
    "replay_capacity": COUNT,
    "log_every": COUNT,
    "eval_episodes": COUNT,
    # Of a run from the command line.
    "action_repeat": COUNT,
    "time_limit": COUNT,
    "eval_every": ANY_COUNT,
    "save_every": WEIGHT,
    "chunk_seconds": POSITIVE,
    "devices": COUNT,
}
