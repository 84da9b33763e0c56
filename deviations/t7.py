"""T7: how many environments feed one agent."""

from __future__ import annotations

from parity.registry import Entry, Source

ROW = Entry(
    id="T7",
    agent="TD-MPC2",
    kind="deviation",
    title="More than one environment",
    reference="A single environment.",
    subject=(
        "n_envs > 1: per-environment t0 and warm-start mean, n_envs updates per stepping tick, and "
        "a seed phase and a burst rule of their own."
    ),
    consequence="A generalisation; exact for n_envs = 1.",
    sources=(
        Source("tdmpc2-b67b21c", "tdmpc2/trainer/online_trainer.py", "93-115"),
        Source("tdmpc2-5f6fade", "tdmpc2/trainer/online_trainer.py", "93-115"),
        Source("tdmpc2-eece801", "tdmpc2/trainer/online_trainer.py", "103-125"),
        Source("tdmpc2-e9f5932", "tdmpc2/trainer/online_trainer.py", "103-125"),
        Source("tdmpc2-b67b21c", "tdmpc2/tdmpc2.py", "128-129"),
        Source("tdmpc2-5f6fade", "tdmpc2/tdmpc2.py", "132-133"),
        Source("tdmpc2-eece801", "tdmpc2/tdmpc2.py", "166-167"),
        Source("tdmpc2-e9f5932", "tdmpc2/tdmpc2.py", "166-167"),
    ),
)
