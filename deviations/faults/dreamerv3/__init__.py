"""Faults of DreamerV3."""

from __future__ import annotations

from deviations.faults.dreamerv3 import (
    acting,
    decoder,
    events,
    gradients,
    imagination,
    latent,
    losses,
    networks,
    numerics,
    optimizer,
    parameters,
    policies,
    precision,
    recurrence,
    replay,
    replay_contexts,
    replay_sizes,
    returns,
    rows,
    runs,
    targets,
    twohot,
)
from parity.faults import Fault

FAULTS: tuple[Fault, ...] = (
    *twohot.FAULTS,
    *numerics.FAULTS,
    *networks.FAULTS,
    *parameters.FAULTS,
    *recurrence.FAULTS,
    *latent.FAULTS,
    *imagination.FAULTS,
    *acting.FAULTS,
    *replay.FAULTS,
    *rows.FAULTS,
    *runs.FAULTS,
    *events.FAULTS,
    *decoder.FAULTS,
    *precision.FAULTS,
    *losses.FAULTS,
    *policies.FAULTS,
    *returns.FAULTS,
    *optimizer.FAULTS,
    *gradients.FAULTS,
    *replay_contexts.FAULTS,
    *targets.FAULTS,
    *replay_sizes.FAULTS,
)
