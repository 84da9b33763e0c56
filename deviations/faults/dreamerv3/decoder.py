"""Faults of the decoder of a vector observation."""

from __future__ import annotations

from functools import partial
from typing import Any

from parity.faults import Fault
from parity.implementations import OperationTable

KIND = "decoder"


def _decoder(**parts: Any) -> OperationTable:
    from parity.core_subject.dreamerv3 import decoder

    return {"dreamerv3.decoder_gradient": partial(decoder.decoder_gradient, **parts)}


def _mean_of_components() -> OperationTable:
    """The squared error is averaged over the components in place of being summed."""
    from parity.core_subject.dreamerv3 import decoder

    def loss(head, params, features, observation):
        return decoder._loss(head, params, features, observation) / observation.shape[-1]

    return _decoder(loss=loss)


def _by_units() -> OperationTable:
    """Gradients are clipped by the norms of units, as optax does it."""
    import optax

    return _decoder(clip=lambda: optax.adaptive_grad_clip(0.3, eps=1e-3))


def _two_heads() -> OperationTable:
    """Two output layers for one vector."""
    import numpy as np

    from parity.core_subject.dreamerv3 import decoder

    def wrong(**inputs):
        return decoder.decoder_gradient(**inputs) | {"heads": np.asarray(2, np.int64)}

    return {"dreamerv3.decoder_gradient": wrong}


FAULTS = (
    Fault(
        "X410", "decoder's loss averaged over components", KIND, _mean_of_components, ("D5/loss",)
    ),
    Fault("X411", "gradients clipped unit by unit", KIND, _by_units, ("D5/clipping",)),
    Fault("X412", "a head too many", KIND, _two_heads, ("D5/core-heads",)),
)
