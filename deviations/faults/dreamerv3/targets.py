"""Faults of continue targets, and of actions on their way to the environment."""

from __future__ import annotations

import numpy as np

from parity.faults import Fault
from parity.implementations import OperationTable

KIND = "rows"
REPORTED = "reported in re-implementations"


def _rewritten_in_place() -> OperationTable:
    """An environment that rescales the caller's array of actions."""

    def received(action, low, high):
        from parity.core_subject.dreamerv3.rows import environment_action

        answer = environment_action(action.copy(), low, high)
        np.clip(action, -1, 1, out=action)
        return answer

    return {"dreamerv3.environment_action": received}


def _done_for_terminal() -> OperationTable:
    """The continue head is trained towards 0 on every last row."""
    from parity.core_subject.dreamerv3 import rows

    def target(is_first, is_last, is_terminal):
        del is_terminal
        return rows.continue_target(is_first, is_last, is_last)

    return {"dreamerv3.continue_target": target}


def _undiscounted() -> OperationTable:
    """The target is 1 instead of γ where an episode goes on."""

    def target(is_first, is_last, is_terminal):
        del is_first, is_last
        return {"target": 1 - is_terminal.astype(np.float32)}

    return {"dreamerv3.continue_target": target}


def _unclipped() -> OperationTable:
    """Actions are stretched to the environment's bounds without being clipped first."""

    def received(action, low, high):
        bounded = np.isfinite(low) & np.isfinite(high)
        low, high = np.where(bounded, low, -1), np.where(bounded, high, 1)
        return {"received": ((action + 1) / 2 * (high - low) + low).astype(np.float32)}

    return {"dreamerv3.environment_action": received}


FAULTS = (
    Fault(
        "F30",
        "the caller's actions rescaled in place",
        KIND,
        _rewritten_in_place,
        ("environment-action/received",),
        REPORTED,
    ),
    Fault(
        "F42",
        "done used for the continue target where only terminal may be",
        KIND,
        _done_for_terminal,
        ("continue-target/target",),
        REPORTED,
    ),
    Fault(
        "X85",
        "continue target without the discount",
        KIND,
        _undiscounted,
        ("continue-target/target",),
    ),
    Fault(
        "X86",
        "actions not clipped before they are stretched",
        KIND,
        _unclipped,
        ("environment-action/received",),
    ),
)
