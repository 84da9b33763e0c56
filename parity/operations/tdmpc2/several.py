"""What several environments of one run store and draw."""

from __future__ import annotations

from parity.operations import Array, Operation, Setting

SHARED_SLICES = Operation(
    "tdmpc2.shared_slices",
    "Slices of H steps, with the H + 1 rows around them, drawn from the replay that N environments "
    "share, each of which has played E episodes. Row r of episode e of environment n has the "
    "observation (n, e, r), and the action 2 r and the reward 512 n + 64 e + r of the step that "
    "led to it. Where episodes may end by themselves, each environment's newest C rows are held, "
    "as in `tdmpc2.row_slices`; else all have as many rows, and the newest C episodes of each are "
    "held, as in `tdmpc2.replay_slices`. Any episode that has a slice, of whichever environment, "
    "is as likely as any other, and so is any beginning in it",
    (
        Array("rows", "N E", "int64", "of every episode; an environment's add up to the same"),
        Setting("longest", int, "R, the most rows of one", axis="R"),
        Setting("capacity", int, "C"),
        Setting("horizon", int, "H; 3 in training"),
        Setting("batch", int, "slices per batch"),
        Setting("batches", int, "how many batches are drawn"),
        Setting("seed", int, "of the draws"),
        Setting("episodic", bool, "whether episodes may end by themselves"),
    ),
    (
        Array("starts", "N E R", "int64", "how many slices began at each row of each episode"),
        Array(
            "torn",
            "",
            "int64",
            "numbers of a slice that are not those of H + 1 rows of one episode in a row",
        ),
    ),
)

OPERATIONS = (SHARED_SLICES,)
