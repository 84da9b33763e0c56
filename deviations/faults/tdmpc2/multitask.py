"""Faults of how TD-MPC2 evaluates several tasks, and of the data that it learns them from."""

from __future__ import annotations

from collections.abc import Callable

from deviations.faults.replacing import Change, around
from deviations.faults.tdmpc2.seeding import fault
from parity.faults import Fault

EVALUATION, DATA = "evaluation of several tasks", "data of several tasks"


def _of(module: str, name: str, wrong: Callable) -> Callable[[], list[Change]]:
    """A function of a module of the core, replaced where that module finds it."""

    def changes() -> list[Change]:
        import importlib

        return around(importlib.import_module(module), name, wrong)

    return changes


def _always_first(sound, act, *rest):
    """Every action said to be an episode's first."""

    def told(carry, observation, t0, key):
        return act(carry, observation, t0 | True, key)

    return sound(told, *rest)


def _exchanged(sound, act, tasks, environments, *rest):
    """Tasks played in each other's environments."""
    return sound(act, tasks, environments[::-1], *rest)


def _same_starts(sound, act, tasks, environments, carry, key, episodes):
    """The same initial states in every evaluation."""
    import jax

    del key
    return sound(act, tasks, environments, carry, jax.random.key(0), episodes)


def _after_each(sound, config, *rest):
    """An evaluation after every update."""
    import dataclasses

    return sound(dataclasses.replace(config, eval_every=1), *rest)


def _not_normalised(sound, tasks, scores, lengths):
    """A score that is the mean return."""
    found = sound(tasks, scores, lengths)
    return {**found, "eval/score": found["eval/return"]}


def _best(sound, tasks, scores, lengths):
    """The best of each task's episodes instead of their mean."""
    return sound(tasks, scores.max(-1, keepdims=True), lengths)


def _as_given(sound, sources, *, mt30=False):
    """Tasks with the names of their environments, in the order of the runs."""
    del mt30
    return sound(sources)


def _later(sound, origin, replay, steps):
    """The first episode of every environment left out."""
    import dataclasses

    found = sound(origin, replay, steps)
    seeds, _, n_envs, _ = replay.reward.shape
    kept = {n: getattr(found, n)[seeds * n_envs :] for n in ("observation", "action", "reward")}
    return dataclasses.replace(found, **kept)


def _what_is_left(sound, origin, replay, steps):
    """A run that has overwritten some of its history taken for a shorter one."""
    _, places, _, length = replay.reward.shape
    return sound(origin, replay, min(steps, (places - 1) * length))


def _other_environments() -> list[Change]:
    """Two tasks with each other's environments."""
    from core.tdmpc2 import pooling

    stand, walk = "walker-stand", "walker-walk"
    known = dict(pooling.MT30)
    return [(pooling, "MT30", {**known, stand: known[walk], walk: known[stand]})]


def _other_order() -> list[Change]:
    """The tasks in the order of the alphabet."""
    from core.tdmpc2 import mt30

    return [(mt30, "MT30", dict(sorted(mt30.MT30.items())))]


_OFFLINE, _POOLING = "core.tdmpc2.offline", "core.tdmpc2.pooling"

FAULTS: tuple[Fault, ...] = (
    fault(
        "X550",
        "every action of an evaluation said to be an episode's first",
        EVALUATION,
        "evaluation_actions",
        _of(_OFFLINE, "play_tasks", _always_first),
        "T16/core-actions",
    ),
    fault(
        "X551",
        "tasks evaluated in each other's environments",
        EVALUATION,
        "evaluation_actions",
        _of(_OFFLINE, "play_tasks", _exchanged),
        "T16/core-actions",
    ),
    fault(
        "X552",
        "an evaluation after every update",
        EVALUATION,
        "offline_evaluations",
        _of("core.training.run", "train_to_the_end", _after_each),
        "T16/core-schedule",
    ),
    fault(
        "X553",
        "evaluations that all start from the same initial states",
        EVALUATION,
        "evaluation_starts",
        _of(_OFFLINE, "play_tasks", _same_starts),
        "T16/core-starts",
    ),
    fault(
        "X554",
        "a normalised score that is the mean return",
        EVALUATION,
        "multitask_score",
        _of(_OFFLINE, "figures_of_tasks", _not_normalised),
        "T16/core-score",
    ),
    fault(
        "X555",
        "the best of a task's episodes in place of their mean",
        EVALUATION,
        "multitask_score",
        _of(_OFFLINE, "figures_of_tasks", _best),
        "T16/core-score",
        "T16/means",
    ),
    fault(
        "X556",
        "a dataset whose tasks have the order of the runs",
        DATA,
        "pooled_runs",
        _of(_POOLING, "pooled", _as_given),
        "T17/pool",
        "T17/core-history",
    ),
    fault(
        "X557",
        "the first episodes of every run left out of the dataset",
        DATA,
        "pooled_runs",
        _of(_POOLING, "source_of_replay", _later),
        "T17/core-history",
    ),
    fault(
        "X558",
        "a run that has overwritten some of its history taken for a shorter one",
        DATA,
        "pooled_runs",
        _of(_POOLING, "source_of_replay", _what_is_left),
        "T17/core-refuses",
    ),
    fault(
        "X559",
        "two tasks with each other's environments",
        DATA,
        "pooled_runs",
        _other_environments,
        "T17/core-environments",
    ),
    fault(
        "X560",
        "mt30's tasks in the order of the alphabet",
        DATA,
        "task_set",
        _other_order,
        "T17/names",
    ),
)
