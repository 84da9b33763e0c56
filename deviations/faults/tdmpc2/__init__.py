"""Faults of TD-MPC2."""

from __future__ import annotations

from deviations.faults.tdmpc2 import (
    checkpoints,
    ends,
    episodic,
    events,
    initialisation,
    losses,
    multitask,
    networks,
    numerics,
    planner,
    plans_to_ends,
    policies,
    replay,
    resumed,
    runs,
    schedule,
    several,
    tasks,
    twohot,
)
from parity.faults import Fault

FAULTS: tuple[Fault, ...] = (
    *numerics.FAULTS,
    *twohot.FAULTS,
    *networks.FAULTS,
    *policies.FAULTS,
    *initialisation.FAULTS,
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
    *several.FAULTS,
    *resumed.FAULTS,
)
