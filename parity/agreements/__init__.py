"""Computations of the core that must equal the reference's, one entry each."""

from __future__ import annotations

from parity.agreements import dreamerv3, tdmpc2

AGREEMENTS = (*dreamerv3.AGREEMENTS, *tdmpc2.AGREEMENTS)
