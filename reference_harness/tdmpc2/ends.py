"""Predicted ends of episodes, answered by nicklashansen/tdmpc2 from eece801 on.

Runs inside the side environment.
"""

from __future__ import annotations

import numpy as np
import torch

from reference_harness.tdmpc2 import agent, planner
from reference_harness.tdmpc2.losses import SMALL, Buffer
from reference_harness.tdmpc2.surroundings import array, given, tensor


def _widths(latent):
    """The length of a latent state, where no network says it; its simplices do not matter."""
    return {"latent_dim": latent.shape[-1], "simnorm_dim": latent.shape[-1]}


@torch.no_grad()
def termination_logits(latent, **parameters):
    settings = {**SMALL, **agent.dims(parameters), **_widths(latent)}
    model = agent.build_model(agent.config(**settings))
    agent.load(model, parameters)
    return {"logits": array(model.termination(tensor(latent), None, unnormalized=True))[:, 0]}


def termination_loss(latents, terminated, coefficient, **parameters):
    (H, B), N, M = terminated.shape, 3, 2
    built = agent.build(
        agent.config(
            **{**SMALL, **agent.dims(parameters), **_widths(latents)},
            **{"num_q": M, "num_bins": N, "horizon": H, "batch_size": B},
            termination_coef=coefficient,
        )
    )
    model = built.model
    agent.load(model, parameters)
    leaf = tensor(latents).requires_grad_(True)
    steps, encoded = iter(leaf[1:].unbind(0)), tensor(latents[1:])
    # The rollout is its own target, and the other heads are constant.
    model.encode = lambda obs, task: encoded if obs.dim() == 3 else leaf[0]
    model.next = lambda z, action, task: next(steps)
    model.reward = lambda z, action, task: torch.zeros(H, B, N)
    model.Q = lambda z, action, task, return_type: torch.zeros(M, H, B, N)
    built._td_target = lambda *arguments: torch.zeros(H, B, 1)
    built.update_pi = lambda zs, task: {}
    found = {}
    for name, parameter in agent.named_parameters(model).items():
        if name in parameters:
            # Before anything is clipped.
            parameter.register_hook(lambda gradient, name=name: found.update({name: gradient}))
    zeros = np.zeros((H + 1, B, 4), np.float32)
    with given():
        info = built.update(Buffer(zeros, zeros[1:, :, :2], zeros[1:, :, 0], terminated))
    return {
        "loss": np.float32(float(info["termination_loss"])),
        "latents_gradient": array(leaf.grad),
        "head_gradient": np.concatenate(
            [agent.as_ours(name, found[name]).ravel() for name in parameters]
        ),
        "rate": np.float32(float(info["termination_rate"])),
        "f1": np.float32(float(info["termination_f1"])),
    }


def episodic_plan(samples, value_noise, **inputs):
    I, N, A = len(samples), value_noise.shape[1], samples.shape[-1]  # noqa: E741
    rest = {
        **{"t0": False, "explore": True, "dropout": 0.0, "era": "head"},
        "keep": np.ones((I, 2, N, 1), bool),
        "mask": np.ones(A, np.float32),
        "scale": np.ones((), np.float32),
    }
    found = planner.plan(samples=samples, value_noise=value_noise, **rest, **inputs)
    return {name: value for name, value in found.items() if name != "changed"}


def fresh_termination(observation_size, action_size, seed):
    torch.manual_seed(seed)
    settings = agent.config(observation_size, action_size, model_size=1, episodic=True)
    found = agent.named_parameters(agent.build(settings).model)
    layers, zero = [f"term_{layer}" for layer in ("hidden0", "hidden1", "out")], torch.zeros(1)

    def each(leaf, measured):
        return np.asarray([float(measured(found.get(f"{n}_{leaf}", zero))) for n in layers])

    kernels = {name: p.detach() for name, p in found.items() if name.endswith("_kernel")}
    own = [k.flatten()[:16] for name, k in kernels.items() if name.startswith("term_")]
    others = [
        member.flatten()[:16]
        for name, k in kernels.items()
        if not name.startswith("term_")
        for member in (k if k.dim() == 3 else [k])
    ]
    with torch.no_grad():
        return {
            "kernel_std": each("kernel", lambda x: x.double().square().mean().sqrt()),
            "bias_peak": each("bias", lambda x: x.abs().max()),
            "scale_error": each("scale", lambda x: (x - 1).abs().max() if x is not zero else 0),
            "offset_peak": each("offset", lambda x: x.abs().max()),
            "alike": np.asarray(
                sum(bool(torch.equal(a, b)) for a in own for b in others), np.int64
            ),
        }


OPERATIONS = {
    "tdmpc2.termination_logits": termination_logits,
    "tdmpc2.termination_loss": termination_loss,
    "tdmpc2.episodic_plan": episodic_plan,
    "tdmpc2.fresh_termination": fresh_termination,
}
