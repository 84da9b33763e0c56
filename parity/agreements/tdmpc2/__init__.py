"""The agreements of TD-MPC2."""

from __future__ import annotations

from parity.agreements.tdmpc2 import (
    ends,
    initialisation,
    losses,
    networks,
    numerics,
    optimizer,
    planner,
    policies,
    replay,
    twohot,
    updates,
)

AGREEMENTS = (
    *numerics.AGREEMENTS,
    *twohot.AGREEMENTS,
    *networks.AGREEMENTS,
    *policies.AGREEMENTS,
    *initialisation.AGREEMENTS,
    *losses.AGREEMENTS,
    *updates.AGREEMENTS,
    *optimizer.AGREEMENTS,
    *planner.AGREEMENTS,
    *ends.AGREEMENTS,
    *replay.AGREEMENTS,
)
