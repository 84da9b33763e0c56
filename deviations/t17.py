"""T17: which data a multi-task agent is trained on."""

from __future__ import annotations

import numpy as np

from parity.claims import AtMost, Equals, Measurement, Stated
from parity.comparisons import Measure
from parity.implementations import Implementation
from parity.operations import Answer, Inputs
from parity.registry import Claim, Entry, Source
from reference_harness.suite.tasks import DM_CONTROL

TASKS = "tdmpc2.task_set"
DATASET = "tdmpc2.offline_dataset"
POOLED = "tdmpc2.pooled_runs"
SAMPLED = "tdmpc2.dataset_slices"

MAPPED = 19


def _mt30(rng: np.random.Generator) -> Inputs:
    del rng
    return {"tasks": "mt30"}


def _mt80(rng: np.random.Generator) -> Inputs:
    del rng
    return {"tasks": "mt80"}


# Episodes of three tasks: four of 5 steps, two of 3, and one of 9.
LENGTHS, COUNTS, HORIZON, SLICES = (5, 3, 9), (4, 2, 1), 3, 10_240


def _episodes_of_tasks(rng: np.random.Generator) -> Inputs:
    asked = {"lengths": np.asarray(LENGTHS), "task": np.repeat(np.arange(3), COUNTS)}
    drawn = {"horizon": HORIZON, "batch": SLICES, "seed": int(rng.integers(1000))}
    return {**asked, "rows": max(LENGTHS) + 1, **drawn}


def _shuffled_runs(rng: np.random.Generator) -> Inputs:
    """Runs of all tasks, in any order."""
    order = rng.permutation(MAPPED)
    return {"order": order, "rounds": 2, "seeds": 2, "envs": 3, "length": 4}


def _lines(text: np.ndarray) -> list[str]:
    return text.tobytes().decode(errors="replace").split("\n")


def _count(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    """Different names in the reference's set."""
    del subject
    names = _lines(reference(TASKS, **inputs)["names"])
    return Measurement(float(len(set(names))), float(len(names)), len(names), inputs)


def _episodes(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    """Episodes that the reference's replay of a dataset is made for."""
    del subject
    answer = reference(DATASET, **inputs)
    rows, length = int(answer["rows"]), int(answer["episode_rows"])
    note = f"{rows:,} rows, {length} of an episode; the repository does not say who played them"
    return Measurement(rows / length, rows / length, 1, inputs, note)


def _unlike(theirs: list[str], ours: list[str]) -> float:
    """Names that differ from the first ones of the reference's."""
    same = sum(a == b for a, b in zip(theirs[:MAPPED], ours, strict=False))
    return float(max(len(ours), MAPPED) - same)


def _names(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    theirs, ours = (_lines(side(TASKS, **inputs)["names"]) for side in (reference, subject))
    found = _unlike(theirs, ours)
    return Measurement(found, found, MAPPED, inputs)


def _pooled(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    theirs = _lines(reference(TASKS, tasks="mt30")["names"])
    found = _unlike(theirs, _lines(subject(POOLED, **inputs)["names"]))
    return Measurement(found, found, MAPPED, inputs)


def _environments(answer: Answer, inputs: Inputs) -> float:
    """Tasks whose environment is not that of dm_control's task of the same name."""
    del inputs
    names, made = (_lines(answer[key]) for key in ("names", "environments"))
    suite = [DM_CONTROL.get(env, "").replace("ball_in_cup", "cup") for env in made]
    called = [task.replace("/", "-").replace("_", "-") for task in suite]
    return _unlike(called, names) if len(names) == len(made) else np.nan


def _history(answer: Answer, inputs: Inputs) -> float:
    """Rows that are not those of all episodes of every run, the oldest first."""
    task, reward = [], []
    for index in range(MAPPED):
        r, s, e, t = np.ogrid[
            : inputs["rounds"] + index % 2, : inputs["seeds"], : inputs["envs"], : inputs["length"]
        ]
        paid = ((s * 8 + r) * 8 + e) * 8 + t + 4096 * index
        paid = paid.reshape(-1, inputs["length"])
        task += [index] * len(paid)
        # No action follows an episode's last row, and nothing is paid for it.
        reward.append(np.pad(paid, ((0, 0), (0, 1))).ravel())
    rows = np.concatenate(reward)
    if answer["task"].tolist() != task or answer["reward"].shape != rows.shape:
        return np.nan
    return float(np.count_nonzero(answer["reward"] != rows))


def _accepted(answer: Answer, inputs: Inputs) -> float:
    """1 if a run is taken whose replay has overwritten something, and the others are, too."""
    return float(answer["refused"] != 1) if not _history(answer, inputs) else np.nan


def _shares(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    """How far an episode's or a beginning's share is from what it should be, in σ of chance."""
    del reference
    answer = subject(SAMPLED, **inputs)
    steps = inputs["lengths"][inputs["task"]]
    valid = np.arange(inputs["rows"]) <= (steps - inputs["horizon"])[:, None]
    found, drawn = answer["starts"], inputs["batch"]
    if answer["torn"] or found.sum() != drawn or found[~valid].any():
        return Measurement(np.nan, np.nan, found.size, inputs)
    share = valid / valid.sum(axis=-1, keepdims=True) / len(steps)
    expected = np.concatenate([share[valid], share.sum(axis=-1)])
    counts = np.concatenate([found[valid], found.sum(axis=-1)])
    deviation = np.sqrt(drawn * expected * (1 - expected))
    worst = float((np.abs(counts - drawn * expected) / deviation).max())
    return Measurement(worst, worst, len(counts), inputs)


def _of_pool(figure) -> Measure:
    def measure(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
        del reference
        answer = subject(POOLED, **inputs)
        found = figure(answer, inputs)
        return Measurement(found, found, max(1, len(answer["reward"])), inputs)

    return measure


_LISTED = "A list is read."

CLAIMS = (
    Claim(
        "reference-tasks",
        "The reference's set mt30 has 30 different tasks.",
        Equals(30, "tasks"),
        _LISTED,
        (TASKS,),
        _mt30,
        _count,
        about="reference",
    ),
    Claim(
        "reference-mt80-tasks",
        "Its set mt80 has 80: 240 agents are three of each.",
        Equals(80, "tasks"),
        _LISTED,
        (TASKS,),
        _mt80,
        _count,
        about="reference",
    ),
    Claim(
        "reference-episodes",
        "Its offline trainer makes room for a dataset of mt30 with 690,000 episodes of 500 steps.",
        Equals(690_000, "episodes"),
        "Numbers in the trainer's own code, which it hands to its replay: 345,690,000 rows, 501 of "
        "an episode.",
        (DATASET,),
        _mt30,
        _episodes,
        about="reference",
    ),
    Claim(
        "reference-mt80-episodes",
        "Of mt80 it makes room for 5,450,000 episodes of 100 steps, into which those of mt30 would "
        "be cut as well.",
        Equals(5_450_000, "episodes"),
        "As for `reference-episodes`: 550,450,000 rows, 101 of an episode.",
        (DATASET,),
        _mt80,
        _episodes,
        about="reference",
    ),
    Claim(
        "names",
        "The core's 19 tasks are the first 19 of the reference's mt30, in its order.",
        Equals(0, "of 19 tasks"),
        _LISTED,
        (TASKS,),
        _mt30,
        _names,
        stated=Stated("19 original mt30 DMC tasks", 0, 0),
    ),
    Claim(
        "pool",
        "A dataset that the core makes of runs of these has them in this order, in whichever the "
        "runs come.",
        Equals(0, "of 19 tasks"),
        _LISTED,
        (TASKS, POOLED),
        _shuffled_runs,
        _pooled,
    ),
    Claim(
        "core-environments",
        "The environment of each is mujoco_playground's version of dm_control's task of that name.",
        Equals(0, "of 19 tasks"),
        "Names are compared with those of the pairs that row E18 measures.",
        (POOLED,),
        _shuffled_runs,
        _of_pool(_environments),
        about="subject",
        core_only=True,
        stated=Stated("the playground versions of the 19 original mt30 DMC tasks", 0, 0),
    ),
    Claim(
        "core-history",
        "Its dataset holds every episode of every run, from the first random one on: all seeds and "
        "environments, the oldest first.",
        Equals(0, "rows"),
        "Every step is paid a number of its own.",
        (POOLED,),
        _shuffled_runs,
        _of_pool(_history),
        about="subject",
        core_only=True,
        stated=Stated("the full training history of single-task runs", 0, 0),
    ),
    Claim(
        "core-refuses",
        "A run whose replay has overwritten some of its history is refused.",
        Equals(0, "of 1 run"),
        "It is refused or it is not; runs that are whole are taken.",
        (POOLED,),
        _shuffled_runs,
        _of_pool(_accepted),
        about="subject",
        core_only=True,
    ),
    Claim(
        "core-slices",
        "Of such a dataset the core draws every episode as often as any other, of whatever task "
        "and length, and any beginning in it as often, with the rewards of its own steps.",
        AtMost(5, "σ"),
        "A share of 10,240 draws; 5 σ is exceeded by chance once in 2 million, and 28 are seen.",
        (SAMPLED,),
        _episodes_of_tasks,
        _shares,
        about="subject",
    ),
)

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
    pins=("tdmpc2-b67b21c", "tdmpc2-5f6fade", "tdmpc2-eece801", "tdmpc2-e9f5932"),
    claims=CLAIMS,
)
