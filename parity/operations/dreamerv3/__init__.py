"""The DreamerV3 operations.

Axis names: B rows, N bins or classes, F features, K updates, T environment steps.
`mode` says how the computation is run: "eager", operation by operation, or "compiled",
as one program (`jax.jit`, `torch.compile`). An implementation without a compiler may
answer both alike.
"""

from __future__ import annotations

from parity.operations.dreamerv3 import (
    decoder,
    events,
    gradients,
    latent,
    losses,
    networks,
    numerics,
    optimizer,
    policies,
    precision,
    replay,
    returns,
    rows,
    runs,
)

OPERATIONS = (
    *numerics.OPERATIONS,
    *networks.OPERATIONS,
    *latent.OPERATIONS,
    *replay.OPERATIONS,
    *rows.OPERATIONS,
    *runs.OPERATIONS,
    *events.OPERATIONS,
    *decoder.OPERATIONS,
    *precision.OPERATIONS,
    *losses.OPERATIONS,
    *returns.OPERATIONS,
    *policies.OPERATIONS,
    *optimizer.OPERATIONS,
    *gradients.OPERATIONS,
)
