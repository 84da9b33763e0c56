"""E20: which state an episode starts from."""

from __future__ import annotations

from parity.registry import Entry

ROW = Entry(
    id="E20",
    agent="both",
    kind="deviation",
    title="Initial state of an episode",
    reference="A fresh random initial state every episode.",
    subject=(
        "The same: the static reset mode resets freshly itself; the dynamic mode uses the "
        "auto-reset, fresh on every backend since playground environments default to "
        "fresh_reset=True. Only a playground environment built with fresh_reset=False restarts "
        "from a cached first state in dynamic mode (warned)."
    ),
    consequence="None with the default environment stack.",
)
