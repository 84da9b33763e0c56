"""T26: how many episodes the replay buffer holds."""

from __future__ import annotations

from parity.registry import Entry, Source

ROW = Entry(
    id="T26",
    agent="TD-MPC2",
    kind="deviation",
    title="Replay capacity in episodes",
    reference=(
        "b67b21c: a replay capacity of floor(min(buffer_size, steps) / T) episodes (buffer.py:40)."
    ),
    subject=(
        "ceil(min(buffer_size, total) / (T·n_envs)) rounds of n_envs episodes, plus one staging "
        "round that is written in place and never sampled. total is the number of the run's "
        "environment steps when the current train() call ends, so a resumed run (chunked training, "
        "or a checkpoint restored by a new agent) sizes its ring for the whole run and moves the "
        "carried episodes into it."
    ),
    consequence=(
        "Identical when buffer_size is a multiple of T·n_envs (DMC: 1e6 / 500 = 2000 episodes) and "
        "whenever the run never fills the buffer; otherwise at most one more round. A run trained "
        "in chunks replays exactly what the uninterrupted run does."
    ),
    sources=(Source("tdmpc2-b67b21c", "tdmpc2/common/buffer.py", "40"),),
)
