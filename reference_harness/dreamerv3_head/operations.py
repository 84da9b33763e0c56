"""All operations that danijar/dreamerv3 answers at its head, by name.

Runs inside the side environment.
"""

from reference_harness.dreamerv3 import suites
from reference_harness.dreamerv3_head import (
    checkpoints,
    episodes,
    events,
    networks,
    numerics,
    replay,
    reports,
)

OPERATIONS = {
    **numerics.OPERATIONS,
    **networks.OPERATIONS,
    **replay.OPERATIONS,
    **events.OPERATIONS,
    **reports.OPERATIONS,
    **checkpoints.OPERATIONS,
    **episodes.OPERATIONS,
    **suites.OPERATIONS,
}
