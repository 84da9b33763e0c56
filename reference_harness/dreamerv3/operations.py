"""All operations that danijar/dreamerv3 answers at 29eb964 and 2411f7d, by name.

Runs inside the side environment. Every answer comes from calling the reference's own
classes; the modules joined here only build them, feed them and read them.
"""

from reference_harness.dreamerv3 import (
    decoder,
    episodes,
    events,
    gradients,
    imagination,
    latent,
    losses,
    networks,
    numerics,
    optimizer,
    policies,
    precision,
    replay,
    reports,
    returns,
    rows,
    runs,
    suites,
)

OPERATIONS = {
    **numerics.OPERATIONS,
    **networks.OPERATIONS,
    **latent.OPERATIONS,
    **imagination.OPERATIONS,
    **replay.OPERATIONS,
    **rows.OPERATIONS,
    **runs.OPERATIONS,
    **events.OPERATIONS,
    **reports.OPERATIONS,
    **decoder.OPERATIONS,
    **precision.OPERATIONS,
    **episodes.OPERATIONS,
    **losses.OPERATIONS,
    **returns.OPERATIONS,
    **policies.OPERATIONS,
    **optimizer.OPERATIONS,
    **gradients.OPERATIONS,
    **suites.OPERATIONS,
}
