"""Faults of TD-MPC2's functions, layers, percentiles, running scale and discount."""

from __future__ import annotations

from typing import Any

from deviations.faults.tdmpc2.seeding import fault, within
from parity.faults import Fault

KIND = "numerics"


def _jnp() -> Any:
    import jax.numpy as jnp

    return jnp


def _log(sound, x):
    return _jnp().sign(x) * _jnp().log(_jnp().abs(x))


def _exp(sound, x):
    return _jnp().sign(x) * _jnp().exp(_jnp().abs(x))


def _swish(sound, x):
    import jax

    return jax.nn.silu(x)


def _strided(sound, x, length):
    groups = x.reshape(*x.shape[:-1], length, x.shape[-1] // length)
    swapped = groups.swapaxes(-1, -2).reshape(x.shape)
    found = sound(swapped, length).reshape(*x.shape[:-1], x.shape[-1] // length, length)
    return found.swapaxes(-1, -2).reshape(x.shape)


def _whole(sound, x, length):
    import jax

    return jax.nn.softmax(x, axis=-1)


def _no_rescaling(sound, x, keep, rate):
    return _jnp().where(keep, x, 0)


def _unbiased(sound, x, scale, offset):
    jnp = _jnp()
    centred = x - jnp.mean(x, axis=-1, keepdims=True)
    variance = jnp.sum(centred * centred, axis=-1, keepdims=True) / (x.shape[-1] - 1)
    return centred / jnp.sqrt(variance + 1e-5) * scale + offset


def _flax_epsilon(sound, x, scale, offset):
    jnp = _jnp()
    centred = x - jnp.mean(x, axis=-1, keepdims=True)
    variance = jnp.mean(centred * centred, axis=-1, keepdims=True)
    return centred / jnp.sqrt(variance + 1e-6) * scale + offset


def _without_interpolation(sound, values):
    """The lower neighbour in full, beside the interpolated value: no weight of its own."""
    jnp = _jnp()
    places = jnp.asarray([0.05, 0.95]) * (len(values) - 1)
    return sound(values) + jnp.sort(values)[jnp.floor(places).astype(int)]


def _nearest_rank(sound, values):
    return _jnp().percentile(values, _jnp().asarray([5.0, 95.0]), method="nearest")


def _no_limit(sound, scale, values, *, tau=0.01):
    from core.tdmpc2.scale import percentiles

    low, high = percentiles(values)
    return (1 - tau) * scale + tau * (high - low)


def _quick_average(sound, scale, values, *, tau=0.01):
    return sound(scale, values, tau=2 * tau)


def _by_steps(sound, self, episode_length):
    return 1 - 1 / episode_length


def _unbounded(sound, self, episode_length):
    ratio = episode_length / self.discount_denom
    return (ratio - 1) / ratio


_PERCENTILES = ("tdmpc2-percentiles/equal", "tdmpc2-percentiles/figures", "T25/percentiles")
_SCALE = ("T25/scale", "T25/exact")


def _leniently(sound, config, **overrides):
    """Unknown keys are dropped."""
    known = {n: value for n, value in overrides.items() if hasattr(config, n)}
    return sound(config, **known)


FAULTS: tuple[Fault, ...] = (
    fault(
        "X300",
        "symlog without the 1: ln |x|",
        KIND,
        "symlog",
        within(
            "core.numerics", "symlog", lambda sound, x: _jnp().sign(x) * _jnp().log(_jnp().abs(x))
        ),
        "tdmpc2-symlog/equal",
    ),
    fault(
        "X301",
        "symexp without the − 1",
        KIND,
        "symexp",
        within(
            "core.numerics", "symexp", lambda sound, x: _jnp().sign(x) * _jnp().exp(_jnp().abs(x))
        ),
        "tdmpc2-symexp/equal",
    ),
    fault(
        "X302",
        "SiLU in place of Mish",
        KIND,
        "mish normed_linear",
        within("core.tdmpc2.layers", "mish", _swish),
        "tdmpc2-mish/equal",
        "tdmpc2-normed-linear/equal",
    ),
    fault(
        "X303",
        "simplices of every V-th feature instead of V neighbours",
        KIND,
        "sim_norm",
        within("core.tdmpc2.layers", "sim_norm", _strided),
        "tdmpc2-simnorm/equal",
    ),
    fault(
        "X304",
        "one softmax over the whole latent state",
        KIND,
        "sim_norm",
        within("core.tdmpc2.layers", "sim_norm", _whole),
        "tdmpc2-simnorm/equal",
    ),
    fault(
        "X305",
        "dropout that does not rescale what it keeps",
        KIND,
        "normed_linear",
        within("core.tdmpc2.layers", "drop", _no_rescaling),
        "tdmpc2-normed-linear/equal",
    ),
    fault(
        "X306",
        "unbiased variance in the layer norm",
        KIND,
        "normed_linear",
        within("core.tdmpc2.layers", "layer_norm", _unbiased),
        "tdmpc2-normed-linear/equal",
    ),
    fault(
        "X307",
        "ε of the layer norm left at a library's 1e-6",
        KIND,
        "normed_linear",
        within("core.tdmpc2.layers", "layer_norm", _flax_epsilon),
        "tdmpc2-normed-linear/equal",
    ),
    fault(
        "F64",
        "percentile without interpolation: the lower neighbour is not weighted",
        KIND,
        "percentiles running_scale",
        within("core.tdmpc2.scale", "percentiles", _without_interpolation),
        *_PERCENTILES,
        *_SCALE,
    ),
    fault(
        "X316",
        "percentile of the nearest rank",
        KIND,
        "percentiles running_scale",
        within("core.tdmpc2.scale", "percentiles", _nearest_rank),
        *_PERCENTILES,
        *_SCALE,
    ),
    fault(
        "X317",
        "running scale that may fall below 1",
        KIND,
        "running_scale",
        within("core.tdmpc2.scale", "update", _no_limit),
        *_SCALE,
    ),
    fault(
        "X318",
        "running scale that moves twice as fast",
        KIND,
        "running_scale",
        within("core.tdmpc2.scale", "update", _quick_average),
        *_SCALE,
    ),
    fault(
        "F66",
        "discount heuristic on steps without the divisor",
        KIND,
        "discount",
        within("core.tdmpc2.config:Config", "discount", _by_steps),
        "tdmpc2-discount/equal",
        "tdmpc2-discount/figures",
    ),
    fault(
        "F66.bounds",
        "discount heuristic without its bounds",
        KIND,
        "discount",
        within("core.tdmpc2.config:Config", "discount", _unbounded),
        "tdmpc2-discount/equal",
        "tdmpc2-discount/figures",
    ),
    fault(
        "X795",
        "the discount of the longest task's episodes for all tasks",
        KIND,
        "task_discounts",
        within("core.tdmpc2.agent:Agent", "discount_of", lambda sound, agent, task: agent.discount),
        "tdmpc2-discount/tasks",
    ),
    fault(
        "X790",
        "settings that the core does not know ignored: a support that is not symmetric made so",
        KIND,
        "twohot_range",
        within("core.config:StrictConfig", "replace", _leniently),
        "T24/core-ranges",
    ),
)
