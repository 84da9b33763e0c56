"""How an agent of several tasks is evaluated, and when."""

from __future__ import annotations

from parity.operations import Array, Operation, Setting

PROGRAM = Setting(
    "program",
    str,
    "which of the reference's two: the trainer that learns from a dataset, or the script that "
    "evaluates a checkpoint",
    ("trainer", "evaluate"),
)

SCORES = Operation(
    "tdmpc2.multitask_score",
    "What is reported of an evaluation of K tasks of the control suite, whose E episodes each "
    "have brought given returns",
    (Array("returns", "K E", "float32", "of every episode; 0 to 1,000"), PROGRAM),
    (
        Array("means", "K", "float64", "reported of each task", noise=1e-6),
        Array(
            "score",
            "",
            "float64",
            "reported of all tasks: the normalised score; of the reference's trainer, which "
            "reports none, the mean return",
            noise=1e-6,
        ),
    ),
)

ACTIONS = Operation(
    "tdmpc2.evaluation_actions",
    "How the agent is asked for actions in an evaluation of K tasks, each with as many episodes "
    "as by default",
    (Array("lengths", "K", "int64", "actions of an episode of each task"), PROGRAM),
    (
        Array("episodes", "", "int64", "of each task"),
        Array("actions", "", "int64", "that were asked for in all of them"),
        Array("explored", "", "int64", "those that were to have exploration noise"),
        Array(
            "misplaced",
            "",
            "int64",
            "those that were wrongly said to be an episode's first or not to be",
        ),
        Array("strayed", "", "int64", "those that were asked of another task"),
    ),
)

EVALUATIONS = Operation(
    "tdmpc2.offline_evaluations",
    "When a run that learns from a dataset is evaluated",
    (
        Setting("updates", int, "N, of the whole run", axis="N"),
        Setting("every", int, "updates from one evaluation to the next"),
    ),
    (Array("evaluated", "N", "int64", "1 for every update that an evaluation follows, else 0"),),
)

STARTS = Operation(
    "tdmpc2.evaluation_starts",
    "The initial states of E episodes of K tasks each, in evaluations of a run of which nothing "
    "but the number of updates changes",
    (
        Array("updates", "V", "int64", "before each evaluation"),
        Setting("tasks", int, "K", axis="K"),
        Setting("episodes", int, "E, of each task", axis="E"),
        Setting("seed", int, "of the run"),
    ),
    (Array("starts", "V K E", "float32", "a number that each episode's reset has drawn"),),
)

RETURNS = Operation(
    "tdmpc2.evaluation_returns",
    "What an evaluation of E episodes of each of K tasks counts, played side by side. An episode "
    "ends by itself after a number of steps that its reset draws from 1 to L. Its last step is "
    "paid 100 times that number, every other one 1; so is what is played after it",
    (
        Setting("tasks", int, "K; 1 is an evaluation of an agent of one task", axis="K"),
        Setting("episodes", int, "E", axis="E"),
        Setting("longest", int, "L"),
        Setting("seed", int, "of the run"),
    ),
    (
        Array("returns", "K E", "float32", "of each episode"),
        Array("lengths", "K E", "int64", "of each episode"),
    ),
)

OPERATIONS = (SCORES, ACTIONS, EVALUATIONS, STARTS, RETURNS)
