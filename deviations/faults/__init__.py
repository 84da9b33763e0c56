"""Seeded faults: bugs that real re-implementations had, each with the claims that see it.

A fault is the core with one operation, or one small family of them, answered wrongly.
`parity sensitivity` runs every fault against the claims and says who catches whom.
Identifiers `F…` are faults that were reported in real re-implementations, `X…` are our
own, seeded so that no claim goes without a fault that breaks it. Variants of one fault
carry a suffix.
"""

from __future__ import annotations

from deviations.faults import dreamerv3, environments, tdmpc2
from parity.faults import Fault

FAULTS: tuple[Fault, ...] = (*dreamerv3.FAULTS, *environments.FAULTS, *tdmpc2.FAULTS)
