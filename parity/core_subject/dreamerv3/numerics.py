"""The numerics that every DreamerV3 network shares, as the core computes them."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache, partial

import jax
import jax.numpy as jnp
import numpy as np

from core import numerics
from core.dreamerv3 import normaliser, schedule, twohot
from core.dreamerv3.heads import TwoHotHead
from parity.core_subject.running import run
from parity.operations import Answer


def symlog(x, mode) -> Answer:
    """See `dreamerv3.symlog`."""
    return {"y": run(numerics.symlog, mode, x)}


def symexp(x, mode) -> Answer:
    """See `dreamerv3.symexp`."""
    return {"y": run(numerics.symexp, mode, x)}


@cache
def _unimix(unimix: float) -> Callable:
    return partial(numerics.unimix_log_probs, unimix=unimix)


def unimix_log_probs(logits, unimix, mode) -> Answer:
    """See `dreamerv3.latent_log_probs` and `dreamerv3.actor_log_probs`."""
    return {"log_probs": run(_unimix(unimix), mode, logits)}


def twohot_bins(count, mode) -> Answer:
    """See `dreamerv3.twohot_bins`: constants, so the mode does not matter."""
    del mode
    return {"bins": np.array(twohot.make_bins(count))}


def twohot_encode(value, bins, mode) -> Answer:
    """See `dreamerv3.twohot_encode`."""
    return {"weights": run(twohot.encode, mode, value, bins)}


def twohot_loss(logits, value, bins, mode) -> Answer:
    """See `dreamerv3.twohot_loss`."""
    return {"loss": run(twohot.loss, mode, logits, value, bins)}


def twohot_decode(logits, bins, mode) -> Answer:
    """See `dreamerv3.twohot_decode`."""
    return {"value": run(twohot.decode, mode, logits, bins)}


def twohot_expectation(probs, bins, mode) -> Answer:
    """See `dreamerv3.twohot_expectation`."""
    return {"value": run(twohot.expectation, mode, probs, bins)}


def twohot_head_at_init(features, shift, seed, mode) -> Answer:
    """See `dreamerv3.twohot_head_at_init`: the reward head at the 1m size."""
    head = TwoHotHead(layers=1, units=64)
    parameters = head.init(jax.random.PRNGKey(seed), jnp.asarray(features))["params"]
    shifted = {**parameters, "out": {**parameters["out"], "bias": jnp.asarray(shift)}}
    predict = partial(head.apply, {"params": shifted}, method="predict")
    call = jax.jit(predict) if mode == "compiled" else predict
    return {"value": np.asarray(call(jnp.asarray(features)))}


def kernel_init(fan_in, fan_out, outscale, seed) -> Answer:
    """See `dreamerv3.kernel_init`."""
    return {"kernel": _draw_kernel((fan_in, fan_out), outscale, seed)}


def block_kernel_init(blocks, fan_in, fan_out, outscale, seed) -> Answer:
    """See `dreamerv3.block_kernel_init`."""
    return {"kernel": _draw_kernel((blocks, fan_in, fan_out), outscale, seed)}


def _draw_kernel(shape: tuple[int, ...], outscale: float, seed: int) -> np.ndarray:
    initialise = numerics.kernel_init(outscale)
    return np.asarray(initialise(jax.random.PRNGKey(seed), shape, jnp.float32))


def rms_norm(x, scale, mode) -> Answer:
    """See `dreamerv3.rms_norm`."""
    return {"y": run(numerics.rms_norm, mode, x, scale)}


def _normaliser_trajectory(returns, initial):
    def step(state, batch):
        state = normaliser.update(state, batch)
        return state, (*state, normaliser.scale(state))

    state = normaliser.Percentiles(initial[0], initial[1])
    return jnp.stack(jax.lax.scan(step, state, returns)[1])


def return_normaliser(returns, initial, mode) -> Answer:
    """See `dreamerv3.return_normaliser`."""
    low, high, scale = run(_normaliser_trajectory, mode, returns, initial)
    return {"low": low, "high": high, "scale": scale}


def update_schedule(numerator, denominator, steps) -> Answer:
    """See `dreamerv3.update_schedule`."""
    ratio = Fraction(numerator, denominator)
    due = jax.jit(partial(schedule.updates_due, ratio=ratio))
    first, steps = jnp.int32(steps[0]), jnp.asarray(steps.astype(np.int32))
    total = np.asarray(due(steps, first)).astype(np.int64)
    return {"updates": np.diff(total, prepend=0)}


TABLE = {
    "dreamerv3.symlog": symlog,
    "dreamerv3.symexp": symexp,
    "dreamerv3.latent_log_probs": unimix_log_probs,
    "dreamerv3.actor_log_probs": unimix_log_probs,
    "dreamerv3.twohot_bins": twohot_bins,
    "dreamerv3.twohot_encode": twohot_encode,
    "dreamerv3.twohot_loss": twohot_loss,
    "dreamerv3.twohot_decode": twohot_decode,
    "dreamerv3.twohot_expectation": twohot_expectation,
    "dreamerv3.twohot_head_at_init": twohot_head_at_init,
    "dreamerv3.kernel_init": kernel_init,
    "dreamerv3.block_kernel_init": block_kernel_init,
    "dreamerv3.rms_norm": rms_norm,
    "dreamerv3.return_normaliser": return_normaliser,
    "dreamerv3.update_schedule": update_schedule,
}
