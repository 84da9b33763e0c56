"""Planning, answered by nicklashansen/tdmpc2.

Runs inside the side environment. The agent's own `act` and `plan` run; what an iteration draws
with is read off the operations that its noise takes part in.
"""

from __future__ import annotations

import numpy as np
import torch

from reference_harness.tdmpc2 import agent
from reference_harness.tdmpc2.losses import SMALL, check_era, read_scale, set_scale
from reference_harness.tdmpc2.networks import all_masks
from reference_harness.tdmpc2.surroundings import Draws, array, given, tensor


class Watched(torch.Tensor):
    """Noise that notes what it is multiplied by, and what the product is added to."""

    log = None
    product = False

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        """Runs any operation on plain tensors."""
        watched = next(a for a in args if isinstance(a, Watched))
        others = [a for a in args if isinstance(a, torch.Tensor) and a is not watched]
        plain = [a.as_subclass(torch.Tensor) if isinstance(a, Watched) else a for a in args]
        result = func(*plain, **(kwargs or {}))
        if watched.log is None or not others:
            return result
        if func in (torch.Tensor.mul, torch.mul) and not watched.product:
            watched.log["stds"].append(others[0].clone())
            result = result.as_subclass(Watched)
            result.log, result.product = watched.log, True
        elif func in (torch.Tensor.add, torch.add) and watched.product:
            watched.log["means"].append(others[0].clone())
        return result


def watched(noise, log):
    """Noise that notes in `log` what is done with it."""
    found = tensor(noise).as_subclass(Watched)
    found.log = log
    return found


def _read(log, name, iterations):
    """What the first so many draws were made with, [I, H, A]."""
    return np.stack([array(x)[:, 0] for x in log[name][:iterations]])


@torch.no_grad()
def fit(actions, values, elites, temperature, min_std, max_std):
    """Plans twice from zeros; the noise is such that the actions are drawn the first time."""
    H, N, A = actions.shape
    stock = agent.build(
        agent.config(
            action_size=A,
            **{**SMALL, "latent_dim": 8, "simnorm_dim": 8, "horizon": H, "iterations": 2},
            **{"num_samples": N, "num_pi_trajs": 0, "num_elites": elites},
            **{"temperature": temperature, "min_std": min_std, "max_std": max_std},
        )
    )
    stock.cfg.iterations = 2
    stock._estimate_value = lambda z, given_actions, task: tensor(values)[:, None]
    log = {"means": [], "stds": []}
    # Exact, since max_std is a power of two.
    noise = actions / np.float32(max_std)
    draws = Draws(normal=[watched(noise, log), watched(noise, log)], gumbel=[np.zeros(elites)])
    with given(draws):
        stock.act(torch.zeros(4), t0=True, eval_mode=True)
    return {
        "mean": _read(log, "means", 2)[1],
        "std": _read(log, "stds", 2)[1],
    }


@torch.no_grad()
def plan(
    observation,
    previous,
    t0,
    explore,
    policy_noise,
    samples,
    value_noise,
    members,
    keep,
    gumbel,
    action_noise,
    mask,
    scale,
    elites,
    temperature,
    min_std,
    max_std,
    dropout,
    discount,
    simnorm_dim,
    limit,
    era,
    **parameters,
):
    check_era(era)
    I, (H, P, A), N = len(samples), policy_noise.shape, value_noise.shape[1]  # noqa: E741
    stock = agent.build(
        agent.config(
            observation.shape[-1],
            A,
            **{**agent.dims(parameters), "dropout": dropout, "simnorm_dim": simnorm_dim},
            **{"vmax": limit, "horizon": H, "iterations": I, "num_samples": N},
            **{"num_pi_trajs": P, "num_elites": elites, "temperature": temperature},
            **{"min_std": min_std, "max_std": max_std},
        )
    )
    stock.cfg.iterations = I
    task, model = None, stock.model
    stock.discount = discount
    if not mask.all():
        # As of one task of several, whose vector is empty.
        stock.cfg.multitask = model.cfg.multitask = True
        stock.discount = torch.tensor([discount])
        model._action_masks = tensor(mask)[None]
        model.task_emb = lambda x, task: x
        task = 0
    set_scale(stock, scale)
    agent.load(model, parameters)
    stock._prev_mean = tensor(previous)
    before = [array(p) for p in model.parameters()]
    values = []
    estimate = stock._estimate_value
    stock._estimate_value = lambda *a: values.append(estimate(*a)) or values[-1].clone()
    log = {"means": [], "stds": []}
    count = len(parameters["q_out_bias"])
    normal = list(policy_noise)
    for i in range(I):
        normal += [watched(samples[i], log), value_noise[i]]
    masks = [all_masks(k, m, count) for k, m in zip(keep, members, strict=True)]
    draws = Draws(
        normal=normal + ([action_noise] if explore else []),
        members=list(members),
        masks=masks if dropout and not agent.EPISODIC else [],
        gumbel=[gumbel],
    )
    with given(draws):
        action = stock.act(tensor(observation), t0=t0, eval_mode=not explore, task=task)
    after = [array(p) for p in model.parameters()]
    changed = sum(np.count_nonzero(a != b) for a, b in zip(before, after, strict=True))
    return {
        "action": array(action),
        "mean": array(stock._prev_mean),
        "values": np.stack([array(v)[:, 0] for v in values]),
        "means": _read(log, "means", I),
        "stds": _read(log, "stds", I),
        "changed": np.asarray(changed + int(read_scale(stock) != scale), np.int64),
    }


@torch.no_grad()
def fresh_values(observation, bias, agents, sequences, seed):
    settings = agent.config(
        observation.shape[-1],
        **{**SMALL, "latent_dim": 16, "simnorm_dim": 8, "num_q": 2, "num_samples": sequences},
        **{"num_pi_trajs": 2, "num_elites": 2, "iterations": 1, "horizon": 3},
    )
    found = []
    for k in range(agents):
        torch.manual_seed(seed + k)
        stock = agent.build(settings)
        agent.load(stock.model, {"q_out_bias": np.stack([bias] * 2)})
        values = []
        estimate = stock._estimate_value

        def noting(*arguments, estimate=estimate, values=values):
            values.append(estimate(*arguments))
            return values[-1].clone()

        stock._estimate_value = noting
        with given():
            stock.act(tensor(observation), t0=True, eval_mode=True)
        found.append(array(values[0])[:, 0])
    return {"values": np.stack(found)}


OPERATIONS = {"tdmpc2.fit": fit, "tdmpc2.plan": plan, "tdmpc2.fresh_values": fresh_values}
