"""Faults of TD-MPC2."""

from __future__ import annotations

from deviations.faults.tdmpc2 import networks, numerics
from parity.faults import Fault

FAULTS: tuple[Fault, ...] = (*numerics.FAULTS, *networks.FAULTS)
