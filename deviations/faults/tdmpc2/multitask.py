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


def _one_fewer() -> list[Change]:
    """The last task forgotten."""
    from core.tdmpc2 import mt30

    return [(mt30, "MT30", dict(list(mt30.MT30.items())[:-1]))]


def _a_step_late(sound, pool, where, horizon):
    """The rewards of the steps after those of a slice."""
    found = sound(pool, where, horizon)
    later = sound(pool, where._replace(start=where.start + 1), horizon)
    return found._replace(reward=later.reward)


def _without_the_last(sound, pool, key, batch_size, horizon):
    """The last slice of an episode never drawn."""
    return sound(pool, key, batch_size, horizon + 1)


def _task_first(sound, pool, key, batch_size, horizon):
    """A task drawn first, and then an episode of it."""
    import jax
    import jax.numpy as jnp

    def one(key):
        for_task, rest = jax.random.split(key)
        chosen = jax.random.randint(for_task, (), 0, pool.task[-1] + 1)
        # The first of its episodes, and as many more as there are.
        first, count = jnp.argmax(pool.task == chosen), jnp.sum(pool.task == chosen)
        where = sound(pool, rest, 1, horizon)
        episode = first + jax.random.randint(jax.random.fold_in(rest, 1), (), 0, count)
        beginnings = pool.length[episode] - horizon + 1
        start = jax.random.randint(jax.random.fold_in(rest, 2), (), 0, beginnings)
        return where._replace(episode=episode, start=start)

    return jax.vmap(one)(jax.random.split(key, batch_size))


def _counting_on(module: str) -> Callable[[], list[Change]]:
    """Rewards of what is played after an episode's end counted, of one in that module."""

    def changes() -> list[Change]:
        import importlib
        from types import SimpleNamespace

        import jax.numpy as jnp

        lenient = SimpleNamespace(**{**vars(jnp), "where": lambda done, none, reward: reward})
        return [(importlib.import_module(module), "jnp", lenient)]

    return changes


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
    fault(
        "X789",
        "the last of mt30's tasks that there are forgotten",
        DATA,
        "task_set",
        _one_fewer,
        "T14/core-set",
        "T17/names",
    ),
    fault(
        "X792",
        "rewards of a dataset's slices one step late",
        DATA,
        "dataset_slices",
        _of("core.tdmpc2.pool", "batch", _a_step_late),
        "T17/core-slices",
    ),
    fault(
        "X793",
        "the last slice of every episode of a dataset never drawn",
        DATA,
        "dataset_slices",
        _of("core.tdmpc2.pool", "draw", _without_the_last),
        "T17/core-slices",
    ),
    fault(
        "X794",
        "a task drawn first, and then one of its episodes",
        DATA,
        "dataset_slices",
        _of("core.tdmpc2.pool", "draw", _task_first),
        "T17/core-slices",
    ),
    fault(
        "X796",
        "rewards after an episode's end counted in the evaluation of one task",
        EVALUATION,
        "evaluation_returns",
        _counting_on("core.training.evaluation"),
        "T9/core-returns",
    ),
    fault(
        "X797",
        "rewards after an episode's end counted in the evaluation of several tasks",
        EVALUATION,
        "evaluation_returns",
        _counting_on("core.tdmpc2.evaluation"),
        "T16/core-returns",
    ),
)
