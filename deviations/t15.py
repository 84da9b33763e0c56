"""T15: whether evaluation writes the task embedding."""

from __future__ import annotations

from parity.registry import Entry, Source

ROW = Entry(
    id="T15",
    agent="TD-MPC2",
    kind="deviation",
    title="Multi-task: renormalised task embedding",
    reference="The renormalisation of the embedding is persisted in place at evaluation time.",
    subject="The renormalisation is applied but not persisted at evaluation.",
    consequence="Evaluation cannot write parameters.",
    sources=(
        Source("tdmpc2-b67b21c", "tdmpc2/common/world_model.py", "20"),
        Source("tdmpc2-b67b21c", "tdmpc2/common/world_model.py", "90"),
        Source("tdmpc2-5f6fade", "tdmpc2/common/world_model.py", "20"),
        Source("tdmpc2-5f6fade", "tdmpc2/common/world_model.py", "86"),
        Source("tdmpc2-eece801", "tdmpc2/common/world_model.py", "21"),
        Source("tdmpc2-e9f5932", "tdmpc2/common/world_model.py", "21"),
        Source("tdmpc2-eece801", "tdmpc2/common/world_model.py", "96"),
        Source("tdmpc2-e9f5932", "tdmpc2/common/world_model.py", "96"),
    ),
    status="reference bug",
)
