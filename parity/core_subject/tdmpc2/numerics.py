"""The numerics that TD-MPC2 is made of, as the core computes them: as compiled programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from core import numerics
from core.config import ConfigError
from core.tdmpc2 import layers, scale, twohot
from parity.core_subject.tdmpc2 import stage
from parity.operations import Answer


def _run(function: Callable, *arrays: np.ndarray) -> np.ndarray:
    """A function of arrays as one compiled program."""
    return np.asarray(stage.compiled(function, quickly=False)(*arrays))


def symlog(x) -> Answer:
    """See `tdmpc2.symlog`."""
    return {"y": _run(numerics.symlog, x)}


def symexp(x) -> Answer:
    """See `tdmpc2.symexp`."""
    return {"y": _run(numerics.symexp, x)}


def mish(x) -> Answer:
    """See `tdmpc2.mish`."""
    return {"y": _run(layers.mish, x)}


def sim_norm(x, length) -> Answer:
    """See `tdmpc2.sim_norm`."""
    return {"y": np.asarray(stage.compiled(_sim_norm, length, quickly=False)(x))}


def _sim_norm(length: int, x):
    return layers.sim_norm(x, length)


def _normed_linear(dropout: float, x, kernel, bias, scale, offset, keep):
    initialise = jax.nn.initializers.zeros
    layer = layers.NormedLinear(len(bias), layers.mish, dropout, initialise, initialise)
    params = {"affine": {"kernel": kernel, "bias": bias}, "scale": scale, "offset": offset}
    return layer.apply({"params": params}, x, keep=keep if dropout else None)


def normed_linear(
    x, layer_kernel, layer_bias, layer_scale, layer_offset, keep, dropout: float
) -> Answer:
    """See `tdmpc2.normed_linear`."""
    parameters = layer_kernel, layer_bias, layer_scale, layer_offset
    call = stage.compiled(_normed_linear, dropout, quickly=False)
    return {"y": np.asarray(call(x, *parameters, keep))}


def twohot_bins(count, limit) -> Answer:
    """See `tdmpc2.twohot_bins`."""
    return {"bins": np.array(twohot.make_bins(count, limit))}


def twohot_range(count, low, high) -> Answer:
    """See `tdmpc2.twohot_range`."""
    ends = {"vmax": float(high)} if low == -high else {"vmin": float(low), "vmax": float(high)}
    try:
        config = stage.config().replace(bins=count, **ends)
    except ConfigError:
        return {"refused": np.asarray(1, np.int64), "bins": np.zeros(count, np.float32)}
    bins = np.array(twohot.make_bins(config.bins, config.vmax))
    return {"refused": np.asarray(0, np.int64), "bins": bins}


def _on_support(method: str, count: int, limit: float, *arrays: Any):
    return getattr(twohot.Support(count, limit), method)(*arrays)


def _supported(method: str, count: int, limit: float, *arrays: np.ndarray) -> np.ndarray:
    call = stage.compiled(_on_support, method, count, limit, quickly=False)
    return np.asarray(call(*arrays))


def twohot_encode(value, count, limit) -> Answer:
    """See `tdmpc2.twohot_encode`."""
    return {"weights": _supported("encode", count, limit, value)}


def twohot_loss(logits, value, limit) -> Answer:
    """See `tdmpc2.twohot_loss`."""
    return {"loss": _supported("loss", logits.shape[-1], limit, logits, value)}


def twohot_decode(logits, limit) -> Answer:
    """See `tdmpc2.twohot_decode`."""
    return {"value": _supported("decode", logits.shape[-1], limit, logits)}


def percentiles(values) -> Answer:
    """See `tdmpc2.percentiles`."""
    low, high = _run(scale.percentiles, values)
    return {"low": np.asarray(low), "high": np.asarray(high)}


def _scales(tau: float, values, initial):
    def step(state, batch):
        state = scale.update(state, batch, tau=tau)
        return state, state

    return jax.lax.scan(step, initial, values)[1]


def running_scale(values, initial, tau) -> Answer:
    """See `tdmpc2.running_scale`."""
    call = stage.compiled(_scales, tau, quickly=False)
    return {"scale": np.asarray(call(values, jnp.asarray(initial)))}


def discount(episode_length) -> Answer:
    """See `tdmpc2.discount`."""
    found = [stage.config().discount(int(length)) for length in episode_length]
    return {"discount": np.asarray(found, np.float64)}


TABLE = {
    "tdmpc2.symlog": symlog,
    "tdmpc2.symexp": symexp,
    "tdmpc2.mish": mish,
    "tdmpc2.sim_norm": sim_norm,
    "tdmpc2.normed_linear": normed_linear,
    "tdmpc2.twohot_bins": twohot_bins,
    "tdmpc2.twohot_range": twohot_range,
    "tdmpc2.twohot_encode": twohot_encode,
    "tdmpc2.twohot_loss": twohot_loss,
    "tdmpc2.twohot_decode": twohot_decode,
    "tdmpc2.percentiles": percentiles,
    "tdmpc2.running_scale": running_scale,
    "tdmpc2.discount": discount,
}
