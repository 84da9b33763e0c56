"""Numerics answered by nicklashansen/tdmpc2 at all four pins.

Runs inside the side environment. Every answer comes from calling the reference's own functions
and classes; this module only builds them, feeds them and reads them.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import tdmpc2 as stock
import torch
from common import layers, math, scale

from reference_harness.tdmpc2 import agent
from reference_harness.tdmpc2.surroundings import (
    Draws,
    Facade,
    array,
    given,
    replaced,
    tensor,
)


def symlog(x):
    return {"y": array(math.symlog(tensor(x)))}


def symexp(x):
    return {"y": array(math.symexp(tensor(x)))}


def mish(x):
    return {"y": array(agent.mish()(tensor(x)))}


def sim_norm(x, length):
    layer = layers.SimNorm(SimpleNamespace(simnorm_dim=length))
    return {"y": array(layer(tensor(x)))}


def normed_linear(x, layer_kernel, layer_bias, layer_scale, layer_offset, keep, dropout):
    layer = layers.NormedLinear(*layer_kernel.shape, dropout=dropout)
    values = (layer_kernel, layer_bias, layer_scale, layer_offset)
    found = dict(layer.named_parameters())
    for (leaf, theirs), value in zip(agent.LEAVES.items(), values, strict=True):
        found[theirs].data.copy_(tensor(agent.as_theirs(f"_{leaf}", value)))
    draws = Draws(masks=[keep] if dropout else [])
    with given(draws):
        return {"y": array(layer(tensor(x)))}


def _support(count, limit):
    return agent.config(num_bins=count, vmax=float(limit))


def _bins(settings):
    """The support that values are decoded on."""
    made = []

    def linspace(*args, **kwargs):
        made.append(torch.linspace(*args, **kwargs))
        return made[-1]

    with replaced((math, "torch", Facade(torch, linspace=linspace))):
        math.two_hot_inv(torch.zeros(1, settings.num_bins), settings)
    (bins,) = made
    return array(bins)


def twohot_bins(count, limit):
    return {"bins": _bins(_support(count, limit))}


def twohot_range(count, low, high):
    bins = _bins(agent.config(num_bins=count, vmin=float(low), vmax=float(high)))
    return {"refused": np.asarray(0, np.int64), "bins": bins}


def twohot_encode(value, count, limit):
    return {"weights": array(math.two_hot(tensor(value)[:, None], _support(count, limit)))}


def twohot_loss(logits, value, limit):
    settings = _support(logits.shape[-1], limit)
    return {"loss": array(math.soft_ce(tensor(logits), tensor(value)[:, None], settings))[:, 0]}


def twohot_decode(logits, limit):
    settings = _support(logits.shape[-1], limit)
    return {"value": array(math.two_hot_inv(tensor(logits), settings))[:, 0]}


def _scale(tau):
    with given():
        return scale.RunningScale(agent.config(tau=tau))


def percentiles(values):
    low, high = array(_scale(0.01)._percentile(tensor(values)[:, None]))[:, 0]
    return {"low": low, "high": high}


def running_scale(values, initial, tau):
    running = _scale(tau)
    # The paper's era has a property for the number, later ones the tensor itself.
    state = running._value if hasattr(running, "_value") else running.value
    state.data.fill_(float(initial))
    seen = []
    for batch in values:
        running.update(tensor(batch)[:, None])
        seen.append(float(running.value))
    return {"scale": np.asarray(seen, np.float32)}


def discount(episode_length):
    asked = SimpleNamespace(cfg=agent.config())
    found = [stock.TDMPC2._get_discount(asked, int(length)) for length in episode_length]
    return {"discount": np.asarray(found, np.float64)}


OPERATIONS = {
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
