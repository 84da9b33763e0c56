"""What a checkpoint holds, answered by nicklashansen/tdmpc2.

Runs inside the side environment. The agent's own `save` and `load` run.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import torch

from reference_harness.tdmpc2 import agent
from reference_harness.tdmpc2.losses import SMALL, read_scale, set_scale
from reference_harness.tdmpc2.surroundings import array, given


def _fresh(seed):
    torch.manual_seed(seed)
    return agent.build(agent.config(latent_dim=8, simnorm_dim=8, **SMALL))


def _learn(stock):
    """A step of both optimisers, and a scale that is not the initial one."""
    for optimiser in (stock.optim, stock.pi_optim):
        for group in optimiser.param_groups:
            for parameter in group["params"]:
                parameter.grad = torch.rand_like(parameter)
        optimiser.step()
    set_scale(stock, 2.5)


def _moments(optimiser):
    """Adam's first moments, of whatever has one."""
    return [
        array(optimiser.state[parameter]["exp_avg"])
        for group in optimiser.param_groups
        for parameter in group["params"]
        if "exp_avg" in optimiser.state[parameter]
    ]


def _components(stock):
    named = {name: array(p) for name, p in agent.named_parameters(stock.model).items()}
    target = [value for name, value in named.items() if name.startswith("target_")]
    return {
        "networks": [v for name, v in named.items() if not name.startswith("target_")],
        "target_q": target,
        "model_optimizer": _moments(stock.optim),
        "policy_optimizer": _moments(stock.pi_optim),
        "scale": [read_scale(stock)],
    }


def _same(one, other):
    return len(one) == len(other) and all(map(np.array_equal, one, other))


def restored_components(seed):
    first, second = _fresh(seed), _fresh(seed + 1)
    _learn(first)
    with torch.no_grad():
        # The target networks move with the others, which have moved.
        first.model.soft_update_target_Q()
    with tempfile.TemporaryDirectory() as folder, given():
        path = Path(folder) / "agent.pt"
        first.save(path)
        saved = torch.load(path, weights_only=False)
        before = _components(second)
        second.load(path)
    wanted, after = _components(first), _components(second)
    found = {name: _same(wanted[name], after[name]) for name in wanted}
    found["rest"] = bool(set(saved) - {"model"})
    found["before"] = sum(_same(wanted[name], before[name]) for name in wanted)
    return {name: np.asarray(value, np.int64) for name, value in found.items()}


OPERATIONS = {"tdmpc2.restored_components": restored_components}
