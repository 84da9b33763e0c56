"""Targets, losses and a whole update, answered by nicklashansen/tdmpc2.

Runs inside the side environment. The code is in the middle of the agent's own `update`, which
runs with networks around it whose outputs are given.
"""

from __future__ import annotations

import numpy as np
import torch

from reference_harness.tdmpc2 import agent
from reference_harness.tdmpc2.networks import ERA, all_masks
from reference_harness.tdmpc2.policies import Prescribed
from reference_harness.tdmpc2.surroundings import Draws, array, given, tensor

# Widths of networks that are built and then replaced.
SMALL = {"enc_dim": 8, "mlp_dim": 8}


def _agent(latent_dim=8, **settings):
    return agent.build(
        agent.config(latent_dim=latent_dim, simnorm_dim=latent_dim, **SMALL, **settings)
    )


def check_era(era):
    """Raises unless this pin is of the era."""
    if era != ERA:
        raise ValueError(f"the reference at this pin is of the {ERA} era, not {era}")


class Buffer:
    """A replay that has one batch."""

    def __init__(self, observation, action, reward, terminated):
        if not agent.EPISODIC and terminated.any():
            raise ValueError("the paper's era does not know terminations")
        columns = [observation, action, reward[..., None]]
        columns += [terminated[..., None]] if agent.EPISODIC else []
        self._batch = tuple(map(tensor, columns))

    def sample(self):
        """The batch, without a task."""
        return (*self._batch, None)


def _leaf(values):
    return tensor(values).requires_grad_(True)


def td_targets(q_logits, members, reward, terminated, discount, limit):
    M, H, B, N = q_logits.shape
    stock = _agent(num_q=M, num_bins=N, vmax=limit)
    stock.discount = discount
    stock.model._target_Qs = Prescribed(tensor(q_logits))
    zeros = torch.zeros(H, B, 2)
    drawn = (zeros, {}) if agent.EPISODIC else (None, zeros, None, None)
    stock.model.pi = lambda z, task: drawn
    arguments = [tensor(reward)[..., None]]
    if agent.EPISODIC:
        arguments.append(tensor(terminated)[..., None])
    elif terminated.any():
        raise ValueError("the paper's era does not know terminations")
    with given(Draws(members=[members])):
        returns = stock._td_target(torch.zeros(H, B, 8), *arguments, None)
    return {"returns": array(returns)[..., 0]}


def model_loss(
    latents,
    next_latents,
    reward_logits,
    reward,
    q_logits,
    returns,
    rho,
    consistency_coef,
    reward_coef,
    value_coef,
    limit,
):
    (H, B, L), (M, *_, N) = latents.shape, q_logits.shape
    stock = _agent(
        **{"num_q": M, "num_bins": N, "vmax": limit, "latent_dim": L, "horizon": H},
        **{"batch_size": B, "rho": rho, "consistency_coef": consistency_coef},
        **{"reward_coef": reward_coef, "value_coef": value_coef},
    )
    leaves = [_leaf(x) for x in (latents, reward_logits, q_logits)]
    steps = iter(leaves[0])
    encoded = tensor(next_latents)
    model = stock.model
    model.encode = lambda obs, task: encoded if obs.dim() == 3 else torch.zeros(B, L)
    model.next = lambda z, action, task: next(steps)
    model.reward = lambda z, action, task: leaves[1]
    model.Q = lambda z, action, task, return_type: leaves[2]
    stock._td_target = lambda *arguments: tensor(returns)[..., None]
    stock.update_pi = lambda zs, task: {} if agent.EPISODIC else 0.0
    zeros = np.zeros((H + 1, B, 4), np.float32)
    with given():
        info = stock.update(Buffer(zeros, zeros[1:, :, :2], reward, np.zeros_like(reward)))
    gradients = ("latents_gradient", "reward_gradient", "value_gradient")
    names = {"consistency": "consistency_loss", "reward": "reward_loss", "value": "value_loss"}
    losses = {**names, "total": "total_loss"}
    return {
        **{ours: np.float32(float(info[theirs])) for ours, theirs in losses.items()},
        **{name: array(leaf.grad) for name, leaf in zip(gradients, leaves, strict=True)},
    }


def read_scale(stock):
    """The running scale of an agent."""
    return np.float32(float(stock.scale.value))


def set_scale(stock, value):
    """Sets the running scale of an agent."""
    scale = stock.scale
    state = scale._value if hasattr(scale, "_value") else scale.value
    state.data.fill_(float(value))


def policy_loss(q_logits, members, entropies, scale, rho, entropy_coef, tau, limit):
    M, H1, B, N = q_logits.shape
    stock = _agent(
        **{"num_q": M, "num_bins": N, "vmax": limit, "rho": rho, "tau": tau},
        entropy_coef=entropy_coef,
    )
    set_scale(stock, scale)
    logits, entropy = _leaf(q_logits), _leaf(entropies)
    zeros, model = torch.zeros(H1, B, 2), stock.model
    if agent.EPISODIC:
        model._detach_Qs = Prescribed(logits)
        info = {"scaled_entropy": entropy[..., None], "entropy": entropy[..., None]}
        model.pi = lambda z, task: (zeros, info)
    else:
        model._Qs = Prescribed(logits)
        model.pi = lambda z, task: (None, zeros, -entropy[..., None], None)
    with given(Draws(members=[members])):
        found = stock.update_pi(torch.zeros(H1, B, 8), None)
    return {
        "loss": np.float32(float(found["pi_loss"] if agent.EPISODIC else found)),
        "scale": read_scale(stock),
        "entropy_gradient": array(entropy.grad),
        "value_gradient": array(logits.grad),
    }


def update(
    observation,
    action,
    reward,
    terminated,
    scale,
    target_noise,
    target_members,
    target_keep,
    q_keep,
    policy_noise,
    policy_members,
    policy_keep,
    dropout,
    discount,
    simnorm_dim,
    limit,
    learning_rate,
    era,
    **parameters,
):
    check_era(era)
    M, H, B, _ = q_keep.shape
    stock = agent.build(
        agent.config(
            observation.shape[-1],
            action.shape[-1],
            **agent.dims(parameters),
            **{"dropout": dropout, "simnorm_dim": simnorm_dim, "vmax": limit},
            **{"horizon": H, "batch_size": B, "lr": learning_rate},
        )
    )
    stock.discount = discount
    set_scale(stock, scale)
    agent.load(stock.model, parameters)
    known = agent.named_parameters(stock.model)
    found = {}

    def note(name):
        def hook(gradient):
            # The policy's loss comes second, and reaches the policy alone.
            found.setdefault(name, gradient.clone())

        return hook

    for name, parameter in known.items():
        if not name.startswith("target"):
            parameter.register_hook(note(name))
    targets = []
    td_target = stock._td_target
    stock._td_target = lambda *a: targets.append(td_target(*a)) or targets[-1]
    target_masks = [all_masks(target_keep, target_members, M)] if not agent.EPISODIC else []
    draws = Draws(
        normal=[target_noise, policy_noise],
        members=[target_members, policy_members],
        masks=[*target_masks, q_keep, all_masks(policy_keep, policy_members, M)] if dropout else [],
    )
    with given(draws):
        info = stock.update(Buffer(observation, action, reward, terminated))

    def flat(*networks):
        return np.concatenate(
            [
                agent.as_ours(name, found[name]).ravel()
                for name in parameters
                if name.partition("_")[0] in networks
            ]
        )

    return {
        "returns": array(targets[0])[..., 0],
        "consistency": np.float32(float(info["consistency_loss"])),
        "reward_loss": np.float32(float(info["reward_loss"])),
        "value_loss": np.float32(float(info["value_loss"])),
        "policy_loss": np.float32(float(info["pi_loss"])),
        "scale": read_scale(stock),
        "model_gradient": flat("enc", "dyn", "rew", "q"),
        "policy_gradient": flat("pi"),
    }


OPERATIONS = {
    "tdmpc2.td_targets": td_targets,
    "tdmpc2.model_loss": model_loss,
    "tdmpc2.policy_loss": policy_loss,
    "tdmpc2.update": update,
}
