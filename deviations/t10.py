"""T10: what happens to an episode that terminates."""

from __future__ import annotations

from parity.registry import Entry, Source

ROW = Entry(
    id="T10",
    agent="TD-MPC2",
    kind="deviation",
    title="Terminations outside the episodic mode",
    reference=(
        "Paper era: no termination guard (any done is treated as a time limit). Latest: ValueError "
        "unless episodic."
    ),
    subject=(
        "Terminations are counted (episode ends off the T-step schedule, and true terminations on "
        "its last step); a ValueError is raised after the run; episodic=True takes them instead "
        "(T29)."
    ),
    consequence="Loud failure instead of silently wrong targets.",
    sources=(
        Source("tdmpc2-b67b21c", "tdmpc2/tdmpc2.py", "210-212"),
        Source("tdmpc2-5f6fade", "tdmpc2/tdmpc2.py", "214-216"),
        Source("tdmpc2-b67b21c", "tdmpc2/trainer/online_trainer.py", "76-94"),
        Source("tdmpc2-5f6fade", "tdmpc2/trainer/online_trainer.py", "76-94"),
        Source("tdmpc2-eece801", "tdmpc2/trainer/online_trainer.py", "91-93"),
        Source("tdmpc2-e9f5932", "tdmpc2/trainer/online_trainer.py", "91-93"),
    ),
)
