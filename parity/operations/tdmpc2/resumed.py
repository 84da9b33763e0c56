"""A run in several calls: what it has to draw from at its end."""

from __future__ import annotations

from parity.operations import Array, Operation, Setting

RESUMED_SLICES = Operation(
    "tdmpc2.resumed_slices",
    "Slices of H steps, drawn at the end of a run of N environments that is made in one call or in "
    "several. The first call begins with an empty replay, each other one with that of the call "
    "before, and has a replay of the size that a run to its own end has. Step t of environment n "
    "sees (n, t), and (n, t + 1) follows it. All episodes have T steps; where they may end by "
    "themselves, T rows, the last of which no step follows",
    (
        Array("ends", "K", "int64", "of each call: steps, or rows, of every environment by then"),
        Setting("envs", int, "N"),
        Setting("length", int, "T"),
        Setting("buffer_size", int, "steps, or rows, that the run is asked to hold in all"),
        Setting("rows", int, "R = H + 1", axis="R"),
        Setting("batch", int, "B, how many slices are drawn", axis="B"),
        Setting("seed", int, "of the draws"),
        Setting("episodic", bool, "whether episodes may end by themselves"),
    ),
    (
        Array("environment", "B", "int64", "whose slice it is"),
        Array("step", "B R", "int64", "t of each of its observations"),
    ),
)

OPERATIONS = (RESUMED_SLICES,)
