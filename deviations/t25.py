"""T25: how the running scale takes its percentiles and moves."""

from __future__ import annotations

from parity.registry import Entry, Source

ROW = Entry(
    id="T25",
    agent="TD-MPC2",
    kind="deviation",
    title="Percentiles and moving average of RunningScale",
    reference="RunningScale: sort-and-interpolate _percentile; S.lerp_(v, τ), i.e. S + τ·(v − S).",
    subject=(
        "jnp.percentile (linear: the same formula); (1 − τ)·S + τ·v (optax.incremental_update)."
    ),
    consequence="Float32 rounding (≤ 1e-6 relative over 30 updates, tested).",
    sources=(
        Source("tdmpc2-b67b21c", "tdmpc2/common/scale.py", "23-40"),
        Source("tdmpc2-5f6fade", "tdmpc2/common/scale.py", "23-40"),
        Source("tdmpc2-eece801", "tdmpc2/common/scale.py", "21-42"),
        Source("tdmpc2-e9f5932", "tdmpc2/common/scale.py", "21-42"),
    ),
)
