"""The core's answers to the operations of TD-MPC2."""

from __future__ import annotations

from parity.core_subject.tdmpc2 import networks, numerics, policies

TABLE = {**numerics.TABLE, **networks.TABLE, **policies.TABLE}
