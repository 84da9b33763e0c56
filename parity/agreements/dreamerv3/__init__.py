"""The agreements of DreamerV3."""

from __future__ import annotations

from parity.agreements.dreamerv3 import (
    acting,
    gradients,
    imagination,
    latent,
    losses,
    networks,
    numerics,
    optimizer,
    parameters,
    policies,
    replay,
    returns,
    rows,
    runs,
)

AGREEMENTS = (
    *numerics.AGREEMENTS,
    *networks.AGREEMENTS,
    *parameters.AGREEMENTS,
    *latent.AGREEMENTS,
    *imagination.AGREEMENTS,
    *acting.AGREEMENTS,
    *replay.AGREEMENTS,
    *rows.AGREEMENTS,
    *runs.AGREEMENTS,
    *losses.AGREEMENTS,
    *policies.AGREEMENTS,
    *returns.AGREEMENTS,
    *optimizer.AGREEMENTS,
    *gradients.AGREEMENTS,
)
