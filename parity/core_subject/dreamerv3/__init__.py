"""The core's answers to the operations of DreamerV3."""

from __future__ import annotations

from parity.core_subject.dreamerv3 import (
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
    resumed,
    returns,
    rows,
    runs,
)

TABLE = {
    **numerics.TABLE,
    **networks.TABLE,
    **latent.TABLE,
    **replay.TABLE,
    **resumed.TABLE,
    **rows.TABLE,
    **runs.TABLE,
    **events.TABLE,
    **decoder.TABLE,
    **precision.TABLE,
    **losses.TABLE,
    **returns.TABLE,
    **policies.TABLE,
    **optimizer.TABLE,
    **gradients.TABLE,
}
