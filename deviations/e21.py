"""E21: what golden checksums guard."""

from __future__ import annotations

from parity.registry import Entry

ROW = Entry(
    id="E21",
    agent="both",
    kind="deviation",
    title="Golden checksums",
    reference="— (no counterpart).",
    subject="Golden checksums are CPU-only regression guards.",
    consequence="GPU nondeterminism (TF32, scatter-add order).",
)
