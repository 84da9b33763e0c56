"""T14: the length of the task embedding."""

from __future__ import annotations

from parity.registry import Entry, Source

ROW = Entry(
    id="T14",
    agent="TD-MPC2",
    kind="deviation",
    title="Multi-task: dimension of the task embedding",
    reference="task_dim is 64 for mt30 at 5/19/48M (an acknowledged accident).",
    subject="96 (paper).",
    consequence="The core's task set is not mt30.",
    sources=(
        Source("tdmpc2-b67b21c", "tdmpc2/common/parser.py", "54-55"),
        Source("tdmpc2-5f6fade", "tdmpc2/common/parser.py", "55-56"),
        Source("tdmpc2-eece801", "tdmpc2/common/parser.py", "74-75"),
        Source("tdmpc2-e9f5932", "tdmpc2/common/parser.py", "74-75"),
    ),
    normative="paper",
    status="paper versus code",
)
