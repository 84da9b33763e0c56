"""T8: what the first planned step starts from."""

from __future__ import annotations

from parity.registry import Entry, Source

ROW = Entry(
    id="T8",
    agent="TD-MPC2",
    kind="deviation",
    title="Warm start of the first planned step",
    reference=(
        "The first planned step after seeding warm-starts from the leftover mean of the evaluation "
        "at step 0."
    ),
    subject="Zeros.",
    consequence="Negligible.",
    sources=(
        Source("tdmpc2-b67b21c", "tdmpc2/trainer/online_trainer.py", "97-98"),
        Source("tdmpc2-5f6fade", "tdmpc2/trainer/online_trainer.py", "97-98"),
        Source("tdmpc2-eece801", "tdmpc2/trainer/online_trainer.py", "107-108"),
        Source("tdmpc2-e9f5932", "tdmpc2/trainer/online_trainer.py", "107-108"),
        Source("tdmpc2-b67b21c", "tdmpc2/tdmpc2.py", "128-129"),
        Source("tdmpc2-5f6fade", "tdmpc2/tdmpc2.py", "132-133"),
        Source("tdmpc2-eece801", "tdmpc2/tdmpc2.py", "166-167"),
        Source("tdmpc2-e9f5932", "tdmpc2/tdmpc2.py", "166-167"),
    ),
    status="reference bug",
)
