"""Faults of runs of DreamerV3 in several calls."""

from __future__ import annotations

from collections.abc import Callable

from deviations.faults.replacing import around, replaced
from parity.faults import Fault
from parity.implementations import OperationTable

KIND = "resumption"
_ROWS = "dreamerv3.resumed_replay"


def _moved(wrong: Callable) -> Callable[[], OperationTable]:
    """The core whose rings go from call to call in another way."""

    def table() -> OperationTable:
        from core.dreamerv3 import resumption
        from parity.core_subject.dreamerv3 import resumed

        def call(**inputs: object):
            with replaced(*around(resumption, "fitted", wrong)):
                return resumed.TABLE[_ROWS](**inputs)

        return {_ROWS: call}

    return table


def _as_they_were(sound, state, capacity):
    """Rings that keep the size of the call that began them."""
    del sound, capacity
    return state


def _without_latents(sound, state, capacity):
    """Rows that are carried without their latents."""
    import jax
    import jax.numpy as jnp

    found = sound(state, capacity)
    return found._replace(latents=jax.tree.map(jnp.zeros_like, found.latents))


def _rolled(sound, state, capacity):
    """Rows that are carried to the last slots of the larger rings."""
    import jax
    import jax.numpy as jnp

    by = capacity - state.rows.reward.shape[-1]
    found = sound(state, capacity)
    return found._replace(rows=jax.tree.map(lambda ring: jnp.roll(ring, by, axis=1), found.rows))


FAULTS = (
    Fault(
        "X780",
        "a resumed run whose rings keep the size that the first call gave them",
        KIND,
        _moved(_as_they_were),
        ("D27/core-calls", "D27/core-grows"),
    ),
    Fault(
        "X781",
        "rows that are carried into larger rings without their latents",
        KIND,
        _moved(_without_latents),
        ("D27/core-calls",),
    ),
    Fault(
        "X782",
        "rows that are carried to the last slots of larger rings",
        KIND,
        _moved(_rolled),
        ("D27/core-calls", "D27/core-grows"),
    ),
)
