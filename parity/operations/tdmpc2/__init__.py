"""The TD-MPC2 operations.

Axis names: B rows, N bins, F features, K updates; those of parameters are in `parameters`.
Everything random is an input.
"""

from __future__ import annotations

from parity.operations.tdmpc2 import (
    checkpoints,
    datasets,
    ends,
    episodic,
    evaluation,
    events,
    losses,
    networks,
    numerics,
    optimizer,
    planner,
    policies,
    precision,
    replay,
    resumed,
    seeding,
    several,
    tasks,
)

OPERATIONS = (
    *numerics.OPERATIONS,
    *networks.OPERATIONS,
    *policies.OPERATIONS,
    *losses.OPERATIONS,
    *optimizer.OPERATIONS,
    *planner.OPERATIONS,
    *replay.OPERATIONS,
    *tasks.OPERATIONS,
    *checkpoints.OPERATIONS,
    *events.OPERATIONS,
    *seeding.OPERATIONS,
    *several.OPERATIONS,
    *resumed.OPERATIONS,
    *precision.OPERATIONS,
    *evaluation.OPERATIONS,
    *datasets.OPERATIONS,
    *episodic.OPERATIONS,
    *ends.OPERATIONS,
)
