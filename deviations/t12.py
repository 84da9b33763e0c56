"""T12: what a checkpoint holds."""

from __future__ import annotations

from parity.registry import Entry, Source

ROW = Entry(
    id="T12",
    agent="TD-MPC2",
    kind="deviation",
    title="Contents of a checkpoint",
    reference="Adam state and RunningScale are not checkpointed.",
    subject="Checkpointed.",
    consequence="Resume fidelity.",
    sources=(
        Source("tdmpc2-b67b21c", "tdmpc2/tdmpc2.py", "50-57"),
        Source("tdmpc2-5f6fade", "tdmpc2/tdmpc2.py", "51-58"),
        Source("tdmpc2-eece801", "tdmpc2/tdmpc2.py", "73-80"),
        Source("tdmpc2-e9f5932", "tdmpc2/tdmpc2.py", "72-79"),
    ),
)
