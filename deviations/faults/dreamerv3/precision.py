"""Faults of the precision in which networks compute."""

from __future__ import annotations

from functools import partial

from parity.faults import Fault
from parity.implementations import OperationTable

KIND = "precision"


def _low_by_default() -> OperationTable:
    """The networks compute in bfloat16 unless told otherwise."""
    from core.dreamerv3.config import Config
    from parity.core_subject.dreamerv3 import precision

    config = partial(Config, compute_dtype="bfloat16")
    return {"dreamerv3.default_precision": partial(precision.default_precision, config=config)}


def _rounded_kernel() -> OperationTable:
    """The slow critic's kernel is kept in bfloat16."""
    from parity.core_subject.dreamerv3 import precision

    def wrong(dtype, features, kernel):
        import jax.numpy as jnp
        import numpy as np

        kept = np.asarray(jnp.asarray(kernel, jnp.bfloat16).astype(jnp.float32))
        return precision.slow_critic_logits(dtype, features, kept)

    return {"dreamerv3.slow_critic_logits": wrong}


def _float32_statistics() -> OperationTable:
    """The norm's statistics are in float32 whatever the networks compute in."""
    from parity.core_subject.dreamerv3 import precision

    def norm(x, scale):
        from core.numerics import rms_norm

        return rms_norm(x.astype("float32"), scale).astype(x.dtype)

    wrong = partial(precision.low_precision_norm, norm=norm)
    return {"dreamerv3.low_precision_norm": wrong}


FAULTS = (
    Fault("X415", "bfloat16 by default", KIND, _low_by_default, ("D4/core",)),
    Fault("X416", "a slow critic kept in bfloat16", KIND, _rounded_kernel, ("D4/core-slow",)),
    Fault("X417", "the norm's statistics in float32", KIND, _float32_statistics, ("D4/norm",)),
)
