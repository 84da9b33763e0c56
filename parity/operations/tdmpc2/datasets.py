"""Which tasks an agent of several learns from, and what of them."""

from __future__ import annotations

from parity.operations import Array, Operation, Setting

_SET = Setting("tasks", str, "the set of tasks", ("mt30", "mt80"))
_TEXT = "UTF-8 bytes, with a line feed between two"

TASK_SET = Operation(
    "tdmpc2.task_set",
    "The reference's names of the tasks of a set, in its order",
    (_SET,),
    (Array("names", "C", "uint8", f"the names: {_TEXT}"),),
)

OFFLINE_DATASET = Operation(
    "tdmpc2.offline_dataset",
    "What the replay is made for that the dataset of a set of tasks is read into",
    (_SET,),
    (
        Array("rows", "", "int64", "that it holds"),
        Array("episode_rows", "", "int64", "of every episode"),
    ),
)

POOLED_RUNS = Operation(
    "tdmpc2.pooled_runs",
    "A dataset of runs of one task each, of every task of mt30 that mujoco_playground has. The "
    "run of the K-th of them has been P + K mod 2 rounds of an episode in each of n environments "
    "for each of S seeds, of T steps each. Step t of the episode of seed s in environment e in "
    "round r is paid the number ((s · 8 + r) · 8 + e) · 8 + t + 4096 K",
    (
        Array("order", "K", "int64", "in which the runs are given: the index of each in the set"),
        Setting("rounds", int, "P, below 7"),
        Setting("seeds", int, "S, at most 8"),
        Setting("envs", int, "n, at most 8"),
        Setting("length", int, "T, at most 8"),
    ),
    (
        Array("names", "C", "uint8", f"of the dataset's tasks, in its order: {_TEXT}"),
        Array("environments", "D", "uint8", f"of mujoco_playground, likewise: {_TEXT}"),
        Array("task", "E", "int64", "of every episode: an index of the names"),
        Array("reward", "R", "float32", "of every row of every episode; 0 in an episode's last"),
        Array("refused", "", "int64", "whether a run is refused whose replay has overwritten some"),
    ),
)

DATASET_SLICES = Operation(
    "tdmpc2.dataset_slices",
    "Slices of H steps, with the H + 1 rows around them, drawn from a dataset of several tasks. "
    "Row r of episode e has the observation (e, r); but for an episode's last, the action 2 (r + "
    "1) is taken on it, and 16 e + r + 1 is paid for that. Any episode is as likely as any other, "
    "and any beginning in it, and no slice crosses an end",
    (
        Array("lengths", "K", "int64", "steps of the episodes of each task"),
        Array("task", "E", "int64", "of each episode; ascending"),
        Setting("rows", int, "R, rows of the longest: steps + 1", axis="R"),
        Setting("horizon", int, "H; 3 in training"),
        Setting("batch", int, "how many are drawn"),
        Setting("seed", int, "of the draws"),
    ),
    (
        Array("starts", "E R", "int64", "how many slices began at each row of each episode"),
        Array(
            "torn",
            "",
            "int64",
            "numbers of a slice that are not those of H + 1 rows of one episode in a row, or of "
            "its task",
        ),
    ),
)

TASK_DISCOUNTS = Operation(
    "tdmpc2.task_discounts",
    "γ of each task of an agent of several",
    (Array("episode_lengths", "K", "int64", "steps of an episode of each"),),
    (Array("discounts", "K", "float32", "γ of each", noise=1e-6),),
)

OPERATIONS = (TASK_SET, OFFLINE_DATASET, POOLED_RUNS, DATASET_SLICES, TASK_DISCOUNTS)
