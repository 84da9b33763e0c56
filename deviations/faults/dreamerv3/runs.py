"""Faults of whole runs: how often they train, and what a checkpoint leaves out."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

from parity.faults import Fault
from parity.implementations import OperationTable

KIND = "runs"


def _counting(**changed: Callable) -> OperationTable:
    """The core's loop with other properties of its configuration."""
    from core.dreamerv3.train_config import TrainConfig
    from parity.core_subject.dreamerv3 import runs

    properties: dict[str, Any] = {name: property(body) for name, body in changed.items()}
    config = type("WrongConfig", (TrainConfig,), properties)
    return {"dreamerv3.trained_updates": partial(runs.trained_updates, make=config)}


def _per_tick() -> OperationTable:
    """The ratio applied to ticks of all environments instead of rows."""

    def rate(config):
        batch = config.agent.batch_size * config.agent.batch_length
        return Fraction(config.agent.train_ratio) / batch / config.n_envs

    return _counting(updates_per_row=rate)


def _with_context() -> OperationTable:
    """The row of context counted among the rows that are trained on."""

    def rate(config):
        batch = config.agent.batch_size * (config.agent.batch_length + 1)
        return Fraction(config.agent.train_ratio) / batch

    return _counting(updates_per_row=rate)


def _late_gate() -> OperationTable:
    """The gate opens with batch · length rows of every environment's own count."""

    def first(config):
        return (config.agent.batch_length + 1) * config.n_envs + config.agent.batch_size

    return _counting(_gate=first)


def _forgetting(forget: Callable) -> OperationTable:
    """The core's run, whose checkpoint leaves something out.

    Args:
        forget: From what was restored and a fresh state to what the run goes on with.
    """
    from parity.core_subject.dreamerv3 import runs

    def forgotten(restored, seed):
        learner, fresh = restored.learners, runs.fresh(seed).learners
        return restored._replace(learners=forget(learner, fresh, seed))

    return {"dreamerv3.resumed_run": partial(runs.resumed_run, forget=forgotten)}


def _model(field: str) -> Callable[[], OperationTable]:
    """A field of the trained state is a fresh one."""

    def forget(learner, fresh, seed):
        del seed
        train = learner.train._replace(**{field: getattr(fresh.train, field)})
        return learner._replace(train=train)

    return lambda: _forgetting(forget)


def _replay(field: str) -> Callable[[], OperationTable]:
    """A field of the replay is a fresh one."""

    def forget(learner, fresh, seed):
        del seed
        replay = learner.replay._replace(**{field: getattr(fresh.replay, field)})
        return learner._replace(replay=replay)

    return lambda: _forgetting(forget)


def _learner(field: str) -> Callable[[], OperationTable]:
    """A field of the run itself is a fresh one."""

    def forget(learner, fresh, seed):
        del seed
        return learner._replace(**{field: getattr(fresh, field)})

    return lambda: _forgetting(forget)


def _reseeded() -> OperationTable:
    """The key of a resumed run is drawn anew."""

    def forget(learner, fresh, seed):
        from parity.core_subject.dreamerv3 import runs

        del fresh
        return learner._replace(key=runs.fresh(seed + 100).learners.key)

    return _forgetting(forget)


def _unseeded() -> OperationTable:
    """Every run draws its own key, whatever its seed."""
    import itertools

    import jax
    import numpy as np

    from parity.core_subject.dreamerv3 import runs

    drawn = itertools.count(1000)

    def key(seed):
        del seed
        return jax.vmap(jax.random.key)(np.asarray([next(drawn)], np.uint32))

    return {"dreamerv3.repeated_run": partial(runs.repeated_run, key=key)}


BITWISE = ("resumed-run/bitwise", "D6/core")
REPORTED = "reported in re-implementations"
_UNITS = ("updates/ticks", "updates/protocol")

FAULTS = (
    Fault("F45", "updates counted per tick instead of per row", KIND, _per_tick, _UNITS, REPORTED),
    Fault(
        "F45.context",
        "the row of context counted as trained on",
        KIND,
        _with_context,
        _UNITS,
        REPORTED,
    ),
    Fault("X110", "the gate opens one tick late", KIND, _late_gate, _UNITS),
    Fault("X430", "runs that draw a seed of their own", KIND, _unseeded, ("E21/cpu",)),
    *(
        Fault(f"F47.{suffix}", f"checkpoint without {what}", KIND, overrides, BITWISE, REPORTED)
        for suffix, what, overrides in (
            ("optimiser", "the optimiser's moments", _model("opt_state")),
            ("slow-critic", "the slow critic", _model("slow_critic")),
            ("normaliser", "the return normaliser", _model("normaliser")),
            ("updates", "the count of updates", _model("updates")),
            ("queue", "the replay's queue", _replay("dequeued")),
            ("latents", "the replay's latents", _replay("latents")),
            ("rows", "the replay's rows", _replay("rows")),
            ("carry", "what the acting agent remembers", _learner("carry")),
            ("environments", "the running episodes", _learner("environments")),
            ("key", "the random number generator", _reseeded),
            ("metrics", "the metrics' sums", _learner("sums")),
        )
    ),
)
