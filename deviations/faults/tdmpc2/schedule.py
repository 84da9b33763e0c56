"""Faults of when a run of TD-MPC2 acts at random, and when it learns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from deviations.faults.replacing import Change, around
from deviations.faults.tdmpc2.events import EVENTS, KIND
from deviations.faults.tdmpc2.seeding import fault, within
from parity.faults import Fault

SCHEDULE = "core.tdmpc2.schedule"


def _one_update(sound, stepped, updates_per_step):
    return sound(1, updates_per_step)


def _rounded_down(sound, stepped, updates_per_step):
    return max(1, int(stepped * updates_per_step))


def _ratio_ignored(sound, stepped, updates_per_step):
    return sound(stepped, 1.0)


def _changed_schedule(**changes: Callable[[Any, Any], Any]) -> Callable[[], list[Change]]:
    """A schedule in which some counts are otherwise: functions of it and of its settings."""

    def replacement() -> list[Change]:
        import dataclasses

        from core.tdmpc2.train_config import TrainConfig

        def schedule(sound, config, environment):
            found = sound(config, environment)
            return dataclasses.replace(
                found, **{name: change(found, config) for name, change in changes.items()}
            )

        return around(TrainConfig, "schedule", schedule)

    return replacement


def _held_ticks_too(sound, mode, updates, replay, stepped, tick):
    return sound(mode, updates, replay, stepped | True, tick)


def _at_once(sound, mode, replay, steps, key):
    return sound(mode, replay, steps + 1, key)


def _no_option() -> list[Change]:
    """The options of a run alone that all agents have."""
    from core.training.train_config import TrainConfig
    from parity.core_subject.tdmpc2 import events

    return [(events, "TrainConfig", TrainConfig)]


FAULTS: tuple[Fault, ...] = (
    fault(
        "X700",
        "one update per tick, however many environments there are",
        KIND,
        EVENTS,
        within(SCHEDULE, "updates_for", _one_update),
        "T7/core-updates",
        "T28/core-ratio",
    ),
    fault(
        "X701",
        "seed steps not shared among the environments",
        KIND,
        EVENTS,
        _changed_schedule(last_random=lambda found, config: found.burst),
        "T7/core-phase",
        "T7/core-burst",
    ),
    fault(
        "X702",
        "the last random step planned: ≥ in the place of >",
        KIND,
        EVENTS,
        _changed_schedule(last_random=lambda found, config: found.last_random - 1),
        "T7/exact",
        "T7/core-phase",
        "T28/exact",
    ),
    fault(
        "X703",
        "the burst multiplied by the updates per step",
        KIND,
        EVENTS,
        _changed_schedule(burst=lambda found, config: int(found.burst * config.updates_per_step)),
        "T28/core-burst",
    ),
    fault(
        "X704",
        "updates per tick rounded down",
        KIND,
        EVENTS,
        within(SCHEDULE, "updates_for", _rounded_down),
        "T28/core-ratio",
    ),
    fault(
        "X705",
        "updates per step ignored in the episodic mode",
        KIND,
        EVENTS,
        within("core.tdmpc2.episodic", "updates_for", _ratio_ignored),
        "T28/core-episodic",
    ),
    fault(
        "X706",
        "updates for environments that show an episode's last row",
        KIND,
        EVENTS,
        within("core.tdmpc2.episodic:Episodic", "_due", _held_ticks_too),
        "T28/core-episodic",
    ),
    fault(
        "X707",
        "an episode sampled by the update that follows its last step",
        KIND,
        EVENTS,
        within("core.tdmpc2.timed:Timed", "sample", _at_once),
        "T7/exact",
    ),
    fault(
        "X791",
        "a run that does not offer another number of updates per step",
        KIND,
        "run_options",
        _no_option,
        "T28/core-options",
    ),
)
