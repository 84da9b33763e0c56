"""The replay of whole episodes: which slices are drawn from it."""

from __future__ import annotations

from parity.operations import Array, Operation, Setting

REPLAY_SLICES = Operation(
    "tdmpc2.replay_slices",
    "Slices of H steps, with the H + 1 observations around them, drawn from a replay that holds E "
    "episodes of T steps and has been given D of them: the newest E remain. Row r of episode e, of "
    "R = T + 1, has the observation (e, r), and but for the first one the action 2 r and the "
    "reward 16 e + r of the step that led to it. Any episode, and any beginning in it, is as "
    "likely as any other, and no slice crosses an end",
    (
        Setting("given", int, "D, how many episodes the replay has been given", axis="D"),
        Setting("capacity", int, "E, how many it holds"),
        Setting("rows", int, "R, rows of an episode: steps + 1", axis="R"),
        Setting("horizon", int, "H; 3 in training"),
        Setting("batch", int, "slices per batch"),
        Setting("batches", int, "how many batches are drawn"),
        Setting("seed", int, "of the draws"),
    ),
    (
        Array("starts", "D R", "int64", "how many slices began at each row of each episode"),
        Array(
            "torn",
            "",
            "int64",
            "numbers of a slice that are not those of H + 1 rows of one episode in a row",
        ),
    ),
)

REPLAY_CAPACITY = Operation(
    "tdmpc2.replay_capacity",
    "How much the replay of a run holds once it is full, of n environments whose episodes have T "
    "steps each",
    (
        Setting("buffer_size", int, "steps that it is asked to hold"),
        Setting("steps", int, "of the run, of all environments together"),
        Setting("length", int, "T"),
        Setting("envs", int, "n; the reference has one"),
    ),
    (
        Array("episodes", "", "int64", "whole episodes that can be sampled"),
        Array("rest", "", "int64", "rows of a further one that can be sampled"),
        Array("staged", "", "int64", "episodes that there is room for beside these"),
    ),
)

OPERATIONS = (REPLAY_SLICES, REPLAY_CAPACITY)
