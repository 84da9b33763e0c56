"""Row D22 settled on the reference's side: its two-hot heads decode as the core's do.

Runs inside the side environment. What differs otherwise is known, registered, and so large in
a fresh agent that nothing else could be seen beside it.
"""

from __future__ import annotations

import contextlib

import jax.numpy as jnp
import numpy as np
from dreamerv3 import jaxutils

from reference_harness.dreamerv3.agent import replaced


def settled(bins: np.ndarray | None) -> contextlib.AbstractContextManager:
    """A context in which two-hot heads have these bins, and take differences first.

    Args:
        bins: Their support, [255] float32, antisymmetric; None changes nothing.
    """
    if bins is None:
        return contextlib.nullcontext()
    return replaced((jaxutils, "TwoHotDist", _antisymmetric(bins)))


def _antisymmetric(bins: np.ndarray) -> type:
    """The two-hot distribution with given bins, whose expectation is exact for symmetry.

    Everything else of it (the loss, the target's weights) is the reference's.
    """

    class Settled(jaxutils.TwoHotDist):
        def __init__(self, logits, own_bins, *args, **kwargs):
            super().__init__(logits, jnp.asarray(bins, own_bins.dtype), *args, **kwargs)

        def mean(self):
            half = len(bins) // 2
            lower, upper = self.probs[..., :half], self.probs[..., half + 1 :]
            return ((upper - lower[..., ::-1]) * self.bins[half + 1 :]).sum(-1)

    return Settled
