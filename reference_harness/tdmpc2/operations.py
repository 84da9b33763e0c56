"""All operations that nicklashansen/tdmpc2 answers, by name.

Runs inside the side environment. Every answer comes from calling the reference's own functions
and classes; the modules joined here only build them, feed them and read them.
"""

from reference_harness.tdmpc2 import (
    checkpoints,
    ends,
    episodes,
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
    seeding,
    tasks,
)

OPERATIONS = {
    **numerics.OPERATIONS,
    **networks.OPERATIONS,
    **policies.OPERATIONS,
    **losses.OPERATIONS,
    **optimizer.OPERATIONS,
    **planner.OPERATIONS,
    **replay.OPERATIONS,
    **tasks.OPERATIONS,
    **checkpoints.OPERATIONS,
    **events.OPERATIONS,
    **seeding.OPERATIONS,
    **precision.OPERATIONS,
    **evaluation.OPERATIONS,
    **ends.OPERATIONS,
    **episodic.OPERATIONS,
    **episodes.OPERATIONS,
}
