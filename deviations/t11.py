"""T11: where the seed phase takes its actions from."""

from __future__ import annotations

from parity.registry import Entry, Source

ROW = Entry(
    id="T11",
    agent="TD-MPC2",
    kind="deviation",
    title="Seed of the seed-phase actions",
    reference="Seed-phase actions are unseeded (the RNG of the gym space).",
    subject="Seeded.",
    consequence="Reproducibility.",
    sources=(
        Source("tdmpc2-b67b21c", "tdmpc2/envs/wrappers/tensor.py", "16-17"),
        Source("tdmpc2-5f6fade", "tdmpc2/envs/wrappers/tensor.py", "16-17"),
        Source("tdmpc2-eece801", "tdmpc2/envs/wrappers/tensor.py", "16-17"),
        Source("tdmpc2-e9f5932", "tdmpc2/envs/wrappers/tensor.py", "16-17"),
        Source("tdmpc2-b67b21c", "tdmpc2/common/seed.py", "7-12"),
        Source("tdmpc2-5f6fade", "tdmpc2/common/seed.py", "7-12"),
        Source("tdmpc2-eece801", "tdmpc2/common/seed.py", "7-12"),
        Source("tdmpc2-e9f5932", "tdmpc2/common/seed.py", "7-12"),
    ),
    status="reference bug",
)
