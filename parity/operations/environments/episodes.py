"""How episodes begin and end, whatever is simulated in them."""

from __future__ import annotations

from parity.operations import Array, Operation, Setting

ACTION_REPEAT = Operation(
    "environments.action_repeat",
    "K actions, each taken `repeat` times, from the first step of one episode on, in a simulation "
    "that would go on for ever if nobody stopped it. The wrappers are the implementation's own",
    (
        Setting("actions", int, "K", axis="K"),
        Setting("repeat", int, "steps of the simulation per action"),
        Setting("ends", int, "the step on which the episode terminates; 0 for never"),
        Setting("limit", int, "the step after which it is cut off"),
        Array("rewards", "S", "float32", "of every step; S is at least K · repeat"),
    ),
    (
        Array("reward", "K", "float32", "of every action"),
        Array("steps", "K", "int64", "steps that the simulation has made by then"),
        Array("ended", "K", "bool", "whether the episode is said to be over"),
        Array("terminated", "K", "bool", "whether it is said to have terminated"),
    ),
)

EPISODE_STARTS = Operation(
    "environments.episode_starts",
    "Where one episode after another begins, in an environment that draws a number at a reset. "
    "Every episode is cut off after `length` steps",
    (
        Setting("episodes", int, "E", axis="E"),
        Setting("length", int, "steps of each"),
        Setting("full_reset", bool, "asked of a wrapper that has such an option"),
    ),
    (
        Array("start", "E", "int64", "the number that the episode began with"),
        Array("truncated", "E", "bool", "whether its end is said to be a truncation"),
    ),
)

RESET_OPTIONS = Operation(
    "environments.reset_options",
    "Which options there are for what happens at an episode's end",
    (),
    (
        Array("full_reset", "", "bool", "of the wrapper"),
        Array("fresh_reset", "", "bool", "of the wrapper, or of an environment"),
    ),
)

OPERATIONS = (ACTION_REPEAT, EPISODE_STARTS, RESET_OPTIONS)
