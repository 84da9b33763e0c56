"""The stock agent of nicklashansen/tdmpc2, built without its training loop.

Runs inside the side environment. The agent is the reference's own class; its configuration is
the reference's own file, through its own parser.
"""

from __future__ import annotations

import pathlib
from collections.abc import Iterator, Mapping
from typing import Any

import hydra
import numpy as np
import tdmpc2 as stock
import torch
from common import layers, math, parser, world_model
from omegaconf import OmegaConf

from reference_harness.tdmpc2.surroundings import array, given, replaced, tensor

torch.set_num_threads(1)

# From eece801 on there are episodes that end by themselves, and the agent is a module.
EPISODIC = issubclass(stock.TDMPC2, torch.nn.Module)

# The names of the networks among an operation's inputs, and the reference's.
NETWORKS = {"enc": "_encoder", "dyn": "_dynamics", "rew": "_reward", "pi": "_pi"}

# In the order in which parameters are counted.
COUNTED = (*NETWORKS, "q")

# The names of a layer's leaves, in the reference's own order.
LEAVES = {"kernel": "weight", "bias": "bias", "scale": "ln.weight", "offset": "ln.bias"}


# Every option that a run has, with its default.
SETTINGS = pathlib.Path(stock.__file__).parent / "config.yaml"


def config(observation_size: int = 4, action_size: int = 2, **overrides: Any) -> Any:
    """The reference's configuration: its file, its parser, and overrides by its own names."""
    raw = OmegaConf.load(SETTINGS)
    del raw["defaults"]
    spaces = {
        "obs_shape": {"state": [observation_size]},
        "action_dim": action_size,
        "episode_length": 500,
        "seed_steps": 0,
    }
    settings = {**spaces, "compile": False, **overrides}
    if "num_bins" in settings or "vmax" in settings:
        settings.setdefault("vmin", -settings.get("vmax", raw.vmax))
    for name, value in settings.items():
        raw[name] = value
    math.DREG_BINS = None  # the paper's era keeps the support of the first agent for all others
    with replaced((hydra.utils, "get_original_cwd", lambda: "")):
        parsed = parser.parse_cfg(raw)
    for name, value in overrides.items():
        setattr(parsed, name, value)  # b67b21c has a size by default, whose widths win
    return parsed


def build(settings: Any) -> Any:
    """The stock agent of a configuration, on the CPU."""
    with given():
        agent = stock.TDMPC2(settings)
    for optimiser in (agent.optim, agent.pi_optim):
        for group in optimiser.param_groups:
            if group.get("capturable"):  # a promise about the GPU that a CPU refuses
                group["capturable"] = False
    return agent


def build_model(settings: Any) -> Any:
    """The stock networks of a configuration."""
    with given():
        return world_model.WorldModel(settings)


def _sequential(prefix: str, modules: Any) -> Iterator[tuple[str, Any]]:
    last = len(modules) - 1
    for i, layer in enumerate(modules):
        name = f"{prefix}_out" if i == last else f"{prefix}_hidden{i}"
        found = dict(layer.named_parameters())
        for leaf, theirs in LEAVES.items():
            if theirs in found:
                yield f"{name}_{leaf}", found[theirs]


def _ensemble(prefix: str, params: Any) -> Iterator[tuple[str, Any]]:
    names = [f"{prefix}_hidden0", f"{prefix}_hidden1", f"{prefix}_out"]
    if not EPISODIC:  # one list, layer by layer
        expected = [f"{n}_{leaf}" for n in names for leaf in LEAVES if _has(n, leaf)]
        yield from zip(expected, list(params), strict=True)
        return
    for i, name in enumerate(names):
        for leaf, theirs in LEAVES.items():
            if _has(name, leaf):
                yield f"{name}_{leaf}", params[(str(i), *theirs.split("."))]


def _has(layer: str, leaf: str) -> bool:
    return not (layer.endswith("_out") and leaf in ("scale", "offset"))


def named_parameters(model: Any) -> dict[str, Any]:
    """Every parameter under the name that it has among an operation's inputs.

    Kernels are still transposed: the reference's have outputs before inputs.
    """
    found: dict[str, Any] = {}
    for prefix, name in NETWORKS.items():
        network = getattr(model, name)
        found.update(_sequential(prefix, network["state"] if prefix == "enc" else network))
    if EPISODIC and model.cfg.episodic:
        found.update(_sequential("term", model._termination))
    found.update(_ensemble("q", model._Qs.params))
    target = model._target_Qs_params if EPISODIC else model._target_Qs.params
    found.update(_ensemble("target", target))
    if hasattr(model, "_task_emb"):
        found["tasks"] = model._task_emb.weight
    return found


def load(model: Any, arrays: Mapping[str, np.ndarray]) -> None:
    """Sets the parameters that are given, by name; whoever is not given keeps its own.

    Raises:
        ValueError: There is no such parameter, or it has another shape.
    """
    known = named_parameters(model)
    for name, value in arrays.items():
        if name not in known:
            raise ValueError(f"the reference has no parameter {name!r}")
        value = as_theirs(name, value)
        if tuple(known[name].shape) != value.shape:
            raise ValueError(
                f"{name!r} is {list(known[name].shape)} there, given is {list(value.shape)}"
            )
        known[name].data.copy_(tensor(value))


def as_theirs(name: str, value: np.ndarray) -> np.ndarray:
    """A parameter as the reference stores it."""
    return np.swapaxes(value, -1, -2) if name.endswith("_kernel") else value


def as_ours(name: str, value: Any) -> np.ndarray:
    """A parameter of the reference, or its gradient, as an operation has it."""
    found = array(value)
    return np.ascontiguousarray(np.swapaxes(found, -1, -2)) if name.endswith("_kernel") else found


def perceptron(modules: Any, arrays: Mapping[str, np.ndarray], prefix: str) -> None:
    """Sets the parameters of one of the reference's perceptrons."""
    for name, parameter in _sequential(prefix, modules):
        parameter.data.copy_(tensor(as_theirs(name, arrays[name])))


def dims(arrays: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """The widths that parameters have, and their mode, by the reference's names."""
    widths: dict[str, Any] = {}
    if "enc_hidden0_bias" in arrays:
        hidden = [name for name in arrays if name.startswith("enc_hidden") and "bias" in name]
        widths["enc_dim"] = len(arrays["enc_hidden0_bias"])
        widths["num_enc_layers"] = len(hidden) + 1
        widths["latent_dim"] = len(arrays["enc_out_bias"])
    for prefix in ("dyn", "rew", "term", "pi", "q", "target"):
        if f"{prefix}_hidden0_bias" in arrays:
            widths["mlp_dim"] = arrays[f"{prefix}_hidden0_bias"].shape[-1]
    if "dyn_out_bias" in arrays:
        widths["latent_dim"] = len(arrays["dyn_out_bias"])
    for prefix in ("q", "target"):
        if f"{prefix}_out_bias" in arrays:
            widths["num_q"], widths["num_bins"] = arrays[f"{prefix}_out_bias"].shape
    if "rew_out_bias" in arrays:
        widths["num_bins"] = len(arrays["rew_out_bias"])
    if "term_out_bias" in arrays:
        widths["episodic"] = True
    return widths


def mish() -> Any:
    """The activation that a hidden layer has by default."""
    return layers.NormedLinear(1, 1).act
