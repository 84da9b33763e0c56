"""T17: which data a multi-task agent is trained on."""

from __future__ import annotations

from parity.registry import Entry, Source

ROW = Entry(
    id="T17",
    agent="TD-MPC2",
    kind="deviation",
    title="Multi-task: training data",
    reference="Datasets mt30 / mt80 (replay of 240 single-task agents, random to expert).",
    subject=(
        "Self-generated: the full training history of single-task runs of the core on the "
        "playground versions of the 19 original mt30 DMC tasks."
    ),
    consequence="Validates the mechanisms, not the paper's numbers.",
    sources=(
        Source("tdmpc2-b67b21c", "tdmpc2/common/__init__.py", "27-37"),
        Source("tdmpc2-5f6fade", "tdmpc2/common/__init__.py", "27-37"),
        Source("tdmpc2-eece801", "tdmpc2/common/__init__.py", "27-37"),
        Source("tdmpc2-e9f5932", "tdmpc2/common/__init__.py", "27-37"),
        Source("tdmpc2-b67b21c", "tdmpc2/trainer/offline_trainer.py", "57-58"),
        Source("tdmpc2-5f6fade", "tdmpc2/trainer/offline_trainer.py", "57-58"),
        Source("tdmpc2-eece801", "tdmpc2/trainer/offline_trainer.py", "53-54"),
        Source("tdmpc2-e9f5932", "tdmpc2/trainer/offline_trainer.py", "53-54"),
    ),
)
