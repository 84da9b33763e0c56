"""Both optimisers and the target networks, answered by nicklashansen/tdmpc2.

Runs inside the side environment. The agent's own `update` runs on a small agent; a hook replaces
the gradient of each parameter as soon as it is there, by the given one or by zeros, so that all
that follows (clipping, both optimisers, the target networks) is the reference's.
"""

from __future__ import annotations

import numpy as np
import torch

from reference_harness.tdmpc2 import agent
from reference_harness.tdmpc2.losses import SMALL, Buffer
from reference_harness.tdmpc2.surroundings import array, given, tensor

# The parameter that stands for each network.
PLACES = {
    "encoder": "enc_out_bias",
    "dynamics": "dyn_out_bias",
    "reward": "rew_out_bias",
    "q": "q_out_bias",
    "policy": "pi_out_bias",
}
B, H = 2, 1


def optimizer(learning_rate, enc_lr_scale, limit, tau, counted, **arrays):
    if counted != ("model" if agent.EPISODIC else "all"):
        raise ValueError(f"the reference at this pin does not count {counted!r}")
    M, N = arrays["q"].shape
    L = len(arrays["encoder"])
    if len(arrays["dynamics"]) != L:
        raise ValueError("the encoder's and the dynamics' outputs have one length")
    stock = agent.build(
        agent.config(
            action_size=len(arrays["policy"]) // 2,
            **{**SMALL, "latent_dim": L, "simnorm_dim": L, "num_q": M, "num_bins": N},
            **{"horizon": H, "batch_size": B, "lr": learning_rate, "tau": tau},
            **{"enc_lr_scale": enc_lr_scale, "grad_clip_norm": limit},
        )
    )
    known = agent.named_parameters(stock.model)
    agent.load(stock.model, {place: arrays[name] for name, place in PLACES.items()})
    agent.load(stock.model, {"target_out_bias": arrays["target"]})
    step = [0]
    stands_for = {place: name for name, place in PLACES.items()}
    for name, parameter in known.items():
        if name in stands_for:
            series = tensor(arrays[f"{stands_for[name]}_gradients"])
            parameter.register_hook(lambda g, series=series: series[step[0]].clone())
        elif not name.startswith("target"):
            parameter.register_hook(torch.zeros_like)
    seen = {**{name: [] for name in PLACES}, "target": [], "norm": []}
    rng = np.random.default_rng(0)
    observation = rng.normal(size=(H + 1, B, 4)).astype(np.float32)
    zeros = np.zeros((H, B), np.float32)
    batch = Buffer(
        observation, np.zeros((H, B, len(arrays["policy"]) // 2), np.float32), *[zeros] * 2
    )
    for k in range(len(arrays["q_gradients"])):
        step[0] = k
        with given():
            info = stock.update(batch)
        for name, place in {**PLACES, "target": "target_out_bias"}.items():
            seen[name].append(array(known[place]))
        seen["norm"].append(np.float32(float(info["grad_norm"])))
    return {name: np.stack(values) for name, values in seen.items()}


OPERATIONS = {"tdmpc2.optimizer": optimizer}
