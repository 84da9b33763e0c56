"""Faults of normalisation, mixing, initialisation, percentiles and schedules."""

from __future__ import annotations

from functools import partial
from typing import Literal

import numpy as np

from parity.faults import Fault
from parity.implementations import OperationTable


def _no_unimix(operation: str) -> OperationTable:
    """The softmax alone, without the uniform share."""
    import jax

    from parity.core_subject.running import run

    return {
        operation: lambda logits, unimix, mode: {"log_probs": run(jax.nn.log_softmax, mode, logits)}
    }


def _library_epsilon() -> OperationTable:
    """ε left at 1e-6, the default of the usual libraries."""
    from core.numerics import rms_norm
    from parity.core_subject.running import run

    def norm(x, scale):
        return rms_norm(x, scale, epsilon=1e-6)

    return {"dreamerv3.rms_norm": lambda x, scale, mode: {"y": run(norm, mode, x, scale)}}


def _low_precision_moments() -> OperationTable:
    """The mean square rounded to bfloat16."""
    import jax
    import jax.numpy as jnp

    from parity.core_subject.running import run

    def norm(x, scale):
        mean_square = jnp.mean(x * x, axis=-1, keepdims=True).astype(jnp.bfloat16)
        return x * (jax.lax.rsqrt(mean_square.astype(x.dtype) + 1e-4) * scale)

    return {"dreamerv3.rms_norm": lambda x, scale, mode: {"y": run(norm, mode, x, scale)}}


def _drawn_with(
    variance: float, mode: Literal["fan_in", "fan_avg"], per_block: bool = False
) -> OperationTable:
    """Kernels drawn with another variance or fan."""
    import jax
    import jax.numpy as jnp

    def draw(shape, outscale, seed):
        batch = (0,) if per_block and len(shape) == 3 else ()
        initialise = jax.nn.initializers.variance_scaling(
            variance * outscale**2, mode, "truncated_normal", batch_axis=batch
        )
        return {"kernel": np.asarray(initialise(jax.random.PRNGKey(seed), shape, jnp.float32))}

    def dense(fan_in, fan_out, outscale, seed):
        return draw((fan_in, fan_out), outscale, seed)

    def block(blocks, fan_in, fan_out, outscale, seed):
        return draw((blocks, fan_in, fan_out), outscale, seed)

    block_only = {"dreamerv3.block_kernel_init": block}
    return block_only if per_block else {**block_only, "dreamerv3.kernel_init": dense}


def _naive_symlog() -> OperationTable:
    """log(1 + |x|), which loses small numbers."""
    import jax.numpy as jnp

    from parity.core_subject.running import run

    def symlog(x):
        return jnp.sign(x) * jnp.log(1 + jnp.abs(x))

    return {"dreamerv3.symlog": lambda x, mode: {"y": run(symlog, mode, x)}}


def _naive_symexp() -> OperationTable:
    """exp(|x|) − 1, which loses small numbers."""
    import jax.numpy as jnp

    from parity.core_subject.running import run

    def symexp(x):
        return jnp.sign(x) * (jnp.exp(jnp.abs(x)) - 1)

    return {"dreamerv3.symexp": lambda x, mode: {"y": run(symexp, mode, x)}}


def _never_updated() -> OperationTable:
    """A return normaliser that keeps its first state."""

    def normaliser(returns, initial, mode):
        del mode
        low, high = (np.full(len(returns), value, np.float32) for value in initial)
        return {"low": low, "high": high, "scale": np.maximum(np.float32(1), high - low)}

    return {"dreamerv3.return_normaliser": normaliser}


def _nearest_rank() -> OperationTable:
    """Percentiles without interpolation between two returns."""

    def normaliser(returns, initial, mode):
        del mode
        low, high = initial
        rows = []
        for batch in returns:
            p5, p95 = np.percentile(batch, [5, 95], method="nearest")
            low, high = 0.99 * low + 0.01 * p5, 0.99 * high + 0.01 * p95
            rows.append((low, high, max(1.0, high - low)))
        columns = np.asarray(rows, np.float32).T
        return dict(zip(("low", "high", "scale"), map(np.array, columns), strict=True))

    return {"dreamerv3.return_normaliser": normaliser}


def _no_first_update() -> OperationTable:
    """⌊(t − t0)·r⌋: nothing runs when the gate opens."""
    from parity.core_subject.dreamerv3.numerics import update_schedule

    def schedule(numerator, denominator, steps):
        updates = update_schedule(numerator, denominator, steps)["updates"].copy()
        updates[0] -= 1
        return {"updates": updates}

    return {"dreamerv3.update_schedule": schedule}


def _drifting_schedule() -> OperationTable:
    """A credit in float32 that is added to at every step and spent."""

    def schedule(numerator, denominator, steps):
        ratio = np.float32(numerator / denominator)
        credit, updates = np.float32(1), np.zeros(len(steps), np.int64)
        for i in range(len(steps)):
            credit = np.float32(credit + (ratio if i else 0))
            updates[i] = int(credit)
            credit = np.float32(credit - updates[i])
        return {"updates": updates}

    return {"dreamerv3.update_schedule": schedule}


REPORTED = "reported in re-implementations"

FAULTS = (
    Fault(
        "F05",
        "return normaliser never updated",
        "returns",
        _never_updated,
        ("return-normaliser/low-eager", "return-normaliser/high-eager"),
        REPORTED,
    ),
    Fault(
        "F11.latents",
        "no unimix in the latents",
        "distributions",
        partial(_no_unimix, "dreamerv3.latent_log_probs"),
        ("latent-unimix/eager", "latent-unimix/compiled"),
        REPORTED,
    ),
    Fault(
        "F11.actor",
        "no unimix in the actor",
        "distributions",
        partial(_no_unimix, "dreamerv3.actor_log_probs"),
        ("actor-unimix/eager", "actor-unimix/compiled"),
        REPORTED,
    ),
    Fault(
        "F27.epsilon",
        "ε of the RMS norm left at a library's default",
        "normalisation",
        _library_epsilon,
        ("rms-norm/eager", "rms-norm/compiled"),
        REPORTED,
    ),
    Fault(
        "F27.precision",
        "moments of the RMS norm in low precision",
        "normalisation",
        _low_precision_moments,
        ("rms-norm/eager", "rms-norm/compiled"),
        REPORTED,
    ),
    Fault(
        "F29.block",
        "block kernels scaled by the width of one block",
        "initialisation",
        partial(_drawn_with, 1.0, "fan_in", per_block=True),
        ("D23/block-draws", "D23/block-std"),
        REPORTED,
    ),
    Fault(
        "F29.fan",
        "kernels scaled by the mean of both fans",
        "initialisation",
        partial(_drawn_with, 1.0, "fan_avg"),
        ("D23/draws", "D23/std"),
        REPORTED,
    ),
    Fault(
        "F29.truncation",
        "no correction for the truncation of the normal",
        "initialisation",
        partial(_drawn_with, 0.8796256610342398**2, "fan_in"),
        ("D23/factor", "D23/draws", "D23/std"),
        REPORTED,
    ),
    Fault("X10", "log(1 + |x|) in symlog", "numerics", _naive_symlog, ("symlog/eager",)),
    Fault("X11", "exp(|x|) − 1 in symexp", "numerics", _naive_symexp, ("symexp/eager",)),
    Fault(
        "X12",
        "percentiles without interpolation",
        "returns",
        _nearest_rank,
        ("return-normaliser/low-eager",),
    ),
    Fault(
        "X13",
        "no update when the gate opens",
        "schedules",
        _no_first_update,
        ("D26/reference-ratios", "D26/closed-form"),
    ),
    Fault(
        "X14",
        "update credit accumulated in float32",
        "schedules",
        _drifting_schedule,
        ("D26/closed-form", "D26/at-most-one-ahead"),
    ),
)
