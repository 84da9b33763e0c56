"""In which order a training run does what: acting, learning, evaluating, ending."""

from __future__ import annotations

from parity.operations import Array, Operation, Setting

RANDOM, AT_ZERO, OF_EVALUATION, OF_NOBODY = -3, -1, -2, -4

TERMINATION, REFUSED, NO_MEAN = 1, 2, 3

RUN_EVENTS = Operation(
    "tdmpc2.run_events",
    "The order of what a training run does, told by the run's own loop. Its environment is a "
    "script: an episode draws a start in [0, 1) and is cut off after `length` steps; where the "
    "start is `doomed` or more, it ends by itself after `ends` steps. Updates are counted and "
    "change nothing. A tick is a step of every environment",
    (
        Setting("seed", int, "of the run"),
        Setting("envs", int, "N; the reference has one", axis="N"),
        Setting("length", int, "T, steps after which an episode is cut off"),
        Setting("ends", int, "steps after which a doomed episode ends by itself"),
        Setting("doomed", float, "the least start of such an episode; 1 for none"),
        Setting("seed_steps", int, "S"),
        Setting("steps", int, "of the run, of all environments together"),
        Setting("eval_every", int, "steps between evaluations"),
        Setting("eval_episodes", int, "J, of an evaluation; 0 for none", axis="J"),
        Setting("updates_per_step", float, "updates per step of an environment; 1 upstream"),
        Setting("episodic", bool, "whether episodes may end by themselves"),
    ),
    (
        Array("start", "K N", "float32", "of the episode that each environment is in at tick k"),
        Array("step", "K N", "int64", "steps of that episode before the tick"),
        Array(
            "stepped",
            "K",
            "int64",
            "environments that take a step; whoever holds an episode's last row for a tick does "
            "not count",
        ),
        Array("planned", "K", "int64", "1 if the actions are planned, 0 if they are random"),
        Array("t0", "K N", "int64", "whether the planner is told of a new episode; −1 unasked"),
        Array(
            "before",
            "K N",
            "int64",
            "the tick whose plan, in the same environment, left the mean that the plan starts "
            "from, a step later; −1: it starts from zeros, −2: from the mean of an evaluation's "
            "plan, −3: nothing is planned, −4: from anything else",
        ),
        Array("updates", "K", "int64", "that follow the tick"),
        Array("held", "K", "int64", "episodes that they can sample from; −1 without updates"),
        Array("evaluated", "E", "int64", "steps of all environments before each evaluation"),
        Array("eval_start", "E J", "float32", "of its episodes"),
        Array(
            "error",
            "",
            "int64",
            "how the run ends: 0 in order, 1 with a ValueError about an episode that ended by "
            "itself, 2 with an error of the replay about an episode, 3 with one of the planner, "
            "which has no mean to start from",
        ),
    ),
)

RUN_OPTIONS = Operation(
    "tdmpc2.run_options",
    "The names of all options that a training run has, of the agent and of the run",
    (),
    (Array("names", "C", "uint8", "UTF-8 bytes, with a line feed between two"),),
)

OPERATIONS = (RUN_EVENTS, RUN_OPTIONS)
