"""The core's answers to the operations of TD-MPC2."""

from __future__ import annotations

from parity.core_subject.tdmpc2 import (
    checkpoints,
    datasets,
    ends,
    episodic,
    episodic_runs,
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
    returns,
    seeding,
    several,
    tasks,
)

TABLE = {
    **numerics.TABLE,
    **networks.TABLE,
    **policies.TABLE,
    **losses.TABLE,
    **optimizer.TABLE,
    **planner.TABLE,
    **replay.TABLE,
    **tasks.TABLE,
    **checkpoints.TABLE,
    **events.TABLE,
    **seeding.TABLE,
    **several.TABLE,
    **resumed.TABLE,
    **returns.TABLE,
    **precision.TABLE,
    **evaluation.TABLE,
    **datasets.TABLE,
    **ends.TABLE,
    **episodic.TABLE,
    **episodic_runs.TABLE,
}
