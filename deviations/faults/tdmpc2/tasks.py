"""Faults of several tasks in one agent of TD-MPC2."""

from __future__ import annotations

from deviations.faults.replacing import Change
from deviations.faults.tdmpc2.seeding import fault
from parity.faults import Fault

KIND = "several tasks"


def _as_wide_as_mt80() -> list[Change]:
    """Latent states of mt30 that are as long at size 19 as those of mt80."""
    from core.tdmpc2 import config

    kept = {size: {"task_dim": widths["task_dim"]} for size, widths in config.MT30_WIDTHS.items()}
    return [(config, "MT30_WIDTHS", kept)]


FAULTS: tuple[Fault, ...] = (
    fault(
        "X470",
        "vectors of tasks as long as those of mt30",
        KIND,
        "multitask_widths",
        {"task_dim": 64},
        "T14/core",
    ),
    fault(
        "X471",
        "mt30's shorter latent states at size 19 left out",
        KIND,
        "multitask_widths",
        _as_wide_as_mt80,
        "T14/widths",
    ),
)
