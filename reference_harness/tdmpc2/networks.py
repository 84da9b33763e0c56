"""The networks, answered by nicklashansen/tdmpc2 at all four pins.

Runs inside the side environment.
"""

from __future__ import annotations

import itertools

import numpy as np
import torch
from common import world_model

from reference_harness.tdmpc2 import agent
from reference_harness.tdmpc2.surroundings import Draws, array, given, replaced, tensor

ERA = "head" if agent.EPISODIC else "paper"


def _model(arrays, observation_size=4, action_size=2, **settings):
    """The stock networks with the widths and the values of some parameters."""
    settings = {**agent.dims(arrays), **settings}
    model = agent.build_model(agent.config(observation_size, action_size, **settings))
    agent.load(model, arrays)
    model.eval()
    return model


@torch.no_grad()
def encode(observation, simnorm_dim, **parameters):
    model = _model(parameters, observation.shape[-1], simnorm_dim=simnorm_dim)
    return {"latent": array(model.encode(tensor(observation), None))}


@torch.no_grad()
def next_latent(latent, action, simnorm_dim, **parameters):
    model = _model(parameters, action_size=action.shape[-1], simnorm_dim=simnorm_dim)
    return {"next_latent": array(model.next(tensor(latent), tensor(action), None))}


def _widths(latent):
    """The length of a latent state, where no network says it; its simplices do not matter."""
    return {"latent_dim": latent.shape[-1], "simnorm_dim": latent.shape[-1]}


@torch.no_grad()
def reward_logits(latent, action, **parameters):
    model = _model(parameters, action_size=action.shape[-1], **_widths(latent))
    return {"logits": array(model.reward(tensor(latent), tensor(action), None))}


@torch.no_grad()
def policy_outputs(latent, **parameters):
    actions = len(parameters["pi_out_bias"]) // 2
    model = _model(parameters, action_size=actions, **_widths(latent))
    return {"outputs": array(model._pi(tensor(latent)))}


def _ensemble(latent, action, parameters, dropout, **settings):
    widths = {**_widths(latent), "dropout": dropout, **settings}
    return _model(parameters, action_size=action.shape[-1], **widths)


@torch.no_grad()
def q_logits(latent, action, keep, dropout, **parameters):
    model = _ensemble(latent, action, parameters, dropout)
    model.train()
    with given(Draws(masks=[keep] if dropout else [])):
        logits = model.Q(tensor(latent), tensor(action), None, return_type="all")
    return {"logits": array(logits)}


def all_masks(keep, members, count):
    """Masks of all networks: those of the drawn ones, and everything kept in the others."""
    masks = np.ones((count, *keep.shape[1:]), bool)
    masks[np.asarray(members)] = keep
    return masks


@torch.no_grad()
def q_value(latent, action, members, keep, dropout, limit, reduction, **parameters):
    model = _ensemble(latent, action, parameters, dropout, vmax=limit)
    model.train()
    masks = [all_masks(keep, members, len(parameters["q_out_bias"]))] if dropout else []
    how = {"min": "min", "mean": "avg"}[reduction]
    with given(Draws(members=[members], masks=masks)):
        value = model.Q(tensor(latent), tensor(action), None, return_type=how)
    return {"value": array(value)[..., 0]}


@torch.no_grad()
def dropout_in_use(latent, action, dropout, limit, era, draws, seed, **parameters):
    """Values of network 0, in the modes that the stock training and acting put the model in.

    `update` calls `train()` before the value loss and leaves it on for the policy's loss; targets
    come before it, in the state that the update before left, `eval()`, in which plans are too.
    """
    if era != ERA:
        raise ValueError(f"the reference at this pin is of the {ERA} era, not {era}")
    model = _ensemble(latent, action, parameters, dropout, vmax=limit)
    agent.load(model, {f"target{name[1:]}": value for name, value in parameters.items()})
    torch.manual_seed(seed)
    z, a = tensor(latent), tensor(action)
    detached = {"detach": True} if agent.EPISODIC else {}
    uses = {
        "loss": (True, {}),
        "policy": (True, detached),
        "target": (False, {"target": True}),
        "plan": (False, {}),
    }
    answers = {}
    for use, (training, how) in uses.items():
        model.train(training)
        with given():
            logits = [model.Q(z, a, None, return_type="all", **how)[0] for _ in range(draws)]
        values = [world_model.math.two_hot_inv(x, model.cfg)[..., 0] for x in logits]
        answers[use] = np.float64(torch.stack(values).double().std(0).mean())
    return answers


def parameter_counts(size, observation_size, action_size):
    settings = agent.config(observation_size, action_size, model_size=size)
    # On the device meta nothing is allocated; what copies the Q networks can not run there.
    unset = [(world_model.WorldModel, "init", lambda self: None)] if agent.EPISODIC else []
    with replaced(*unset), torch.device("meta"):
        model = world_model.WorldModel(settings)
    modules = [getattr(model, agent.NETWORKS.get(name, "_Qs")) for name in agent.COUNTED]
    trained = [sum(p.numel() for p in m.parameters() if p.requires_grad) for m in modules]
    return {"numbers": np.asarray(trained, np.int64)}


def fresh_parameters(q_init, observation_size, action_size, seed):
    del q_init  # what the reference does at this pin is for the claim to say
    torch.manual_seed(seed)
    built = agent.build(agent.config(observation_size, action_size, model_size=1))
    found = agent.named_parameters(built.model)
    names = list(dict.fromkeys(name.rpartition("_")[0] for name in found))
    zero = torch.zeros(1)

    def each(leaf, measured):
        return np.asarray([float(measured(found.get(f"{n}_{leaf}", zero))) for n in names])

    kernels = []
    for name in names:
        if name.startswith("target"):
            continue
        kernel = found[f"{name}_kernel"]
        kernels += list(kernel) if kernel.dim() == 3 else [kernel]
    drawn = [k.detach().flatten()[:16] for k in kernels if k.any()]
    alike = sum(bool(torch.equal(a, b)) for a, b in itertools.combinations(drawn, 2))
    pairs = [(found[n], found[f"q{n[6:]}"]) for n in found if n.startswith("target")]
    with torch.no_grad():
        return {
            "kernel_std": each("kernel", lambda x: x.double().square().mean().sqrt()),
            "kernel_peak": each("kernel", lambda x: x.abs().max()),
            "bias_peak": each("bias", lambda x: x.abs().max()),
            "scale_error": each("scale", lambda x: (x - 1).abs().max() if x is not zero else 0),
            "offset_peak": each("offset", lambda x: x.abs().max()),
            "alike": np.asarray(alike, np.int64),
            "target_error": np.float64(max(float((t - q).abs().max()) for t, q in pairs)),
        }


OPERATIONS = {
    "tdmpc2.encode": encode,
    "tdmpc2.next": next_latent,
    "tdmpc2.reward_logits": reward_logits,
    "tdmpc2.policy_outputs": policy_outputs,
    "tdmpc2.q_logits": q_logits,
    "tdmpc2.q_value": q_value,
    "tdmpc2.dropout_in_use": dropout_in_use,
    "tdmpc2.parameter_counts": parameter_counts,
    "tdmpc2.fresh_parameters": fresh_parameters,
}
