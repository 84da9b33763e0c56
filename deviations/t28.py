"""T28: how many updates run per environment step."""

from __future__ import annotations

from parity.registry import Entry, Source

ROW = Entry(
    id="T28",
    agent="TD-MPC2",
    kind="deviation",
    title="Updates per environment step",
    reference=(
        "One update per environment step after the seed-phase burst (online_trainer.py:105-112); "
        "config.yaml has no update-to-data option."
    ),
    subject=(
        "updates_per_step r (default 1): max(1, round(n_envs·r)) updates per stepping tick after "
        "the burst, which stays seed_steps updates; in the episodic mode (T29) max(1, round(m·r)) "
        "on a tick that stepped m > 0 environments."
    ),
    consequence="An opt-in generalisation; r = 1 is the reference exactly (and T7 for n_envs > 1).",
    sources=(
        Source("tdmpc2-b67b21c", "tdmpc2/trainer/online_trainer.py", "105-112"),
        Source("tdmpc2-5f6fade", "tdmpc2/trainer/online_trainer.py", "105-112"),
        Source("tdmpc2-eece801", "tdmpc2/trainer/online_trainer.py", "115-122"),
        Source("tdmpc2-e9f5932", "tdmpc2/trainer/online_trainer.py", "115-122"),
    ),
)
