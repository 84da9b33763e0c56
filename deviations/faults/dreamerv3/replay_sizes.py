"""Faults of the replay: how much it holds."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from deviations.faults.dreamerv3.replay import KIND
from parity.faults import Fault
from parity.implementations import OperationTable


def _sized(rows_of: Callable) -> Callable[[], OperationTable]:
    """The core's replay with other rings: from a run's configuration to rows of each."""

    def table() -> OperationTable:
        from parity.core_subject.dreamerv3 import replay

        return {"dreamerv3.replay_size": partial(replay.replay_size, rows_of=rows_of)}

    return table


FAULTS = (
    Fault(
        "X774",
        "rings rounded down, so that they hold fewer rows than they are asked to",
        KIND,
        _sized(lambda run: min(run.replay_capacity // run.n_envs, run.ticks)),
        ("D27/core-rest",),
    ),
    Fault(
        "X775",
        "rings that a run does not limit",
        KIND,
        _sized(lambda run: -(-run.replay_capacity // run.n_envs)),
        ("D27/core-rows", "D27/core-protocol"),
    ),
    Fault(
        "X776",
        "a limit of the rings for every environment, instead of all together",
        KIND,
        _sized(lambda run: min(-(-run.replay_capacity // run.n_envs**2), run.ticks)),
        ("D27/core-rows", "D27/core-rest"),
    ),
)
