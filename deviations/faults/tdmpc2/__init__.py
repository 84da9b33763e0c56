"""Faults of TD-MPC2."""

from __future__ import annotations

from deviations.faults.tdmpc2 import (
    checkpoints,
    ends,
    episodic,
    events,
    losses,
    multitask,
    networks,
    numerics,
    planner,
    plans_to_ends,
    replay,
    runs,
    schedule,
    tasks,
)
from parity.faults import Fault

FAULTS: tuple[Fault, ...] = (
    *numerics.FAULTS,
    *networks.FAULTS,
    *losses.FAULTS,
    *planner.FAULTS,
    *replay.FAULTS,
    *tasks.FAULTS,
    *checkpoints.FAULTS,
    *schedule.FAULTS,
    *events.FAULTS,
    *runs.FAULTS,
    *multitask.FAULTS,
    *episodic.FAULTS,
    *ends.FAULTS,
    *plans_to_ends.FAULTS,
)
