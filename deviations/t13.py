"""T13: the precision of the matrix products."""

from __future__ import annotations

from parity.registry import Entry, Source

ROW = Entry(
    id="T13",
    agent="TD-MPC2",
    kind="deviation",
    title="Matmul precision",
    reference="Matmul precision: TF32 (latest) or full fp32 (paper era).",
    subject="highest in the parity tests; JAX's default elsewhere (not yet set for GPU runs).",
    consequence="Numerics.",
    sources=(
        Source("tdmpc2-eece801", "tdmpc2/train.py", "23"),
        Source("tdmpc2-e9f5932", "tdmpc2/train.py", "23"),
    ),
)
