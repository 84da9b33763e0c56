"""The core's networks with given widths and given parameters."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from core.tdmpc2.world_model import ModelParams, NetworkParams, WorldModel
from parity.core_subject.tdmpc2 import stage

Arrays = Mapping[str, np.ndarray]

_LEAF = re.compile(r"(enc|dyn|rew|term|pi|q|target)_(hidden\d+|out)_(kernel|bias|scale|offset)")


def networks(arrays: Arrays) -> dict[str, NetworkParams]:
    """The parameters among the inputs of an operation, network by network."""
    found: dict[str, NetworkParams] = {}
    for name, value in arrays.items():
        if match := _LEAF.fullmatch(name):
            network, layer, leaf = match.groups()
            place = found.setdefault(network, {}).setdefault(layer, {})
            norm = leaf in ("scale", "offset")
            plain = norm or f"{network}_{layer}_scale" not in arrays
            (place if plain else place.setdefault("affine", {}))[leaf] = value
    return found


def model_params(arrays: Arrays) -> ModelParams:
    """Those that the model's optimiser trains; a network that is not given is empty."""
    found = networks(arrays)
    encoder, dynamics, reward, q = (found.get(name, {}) for name in ("enc", "dyn", "rew", "q"))
    return ModelParams(encoder, dynamics, reward, q, termination=found.get("term"))


def widths(arrays: Arrays) -> dict[str, Any]:
    """The widths that given parameters have, and their mode, by the keys of the configuration."""
    found: dict[str, Any] = {}
    if "enc_hidden0_bias" in arrays:
        hidden = [name for name in arrays if re.fullmatch(r"enc_hidden\d+_bias", name)]
        found["enc_dim"] = len(arrays["enc_hidden0_bias"])
        found["enc_layers"] = len(hidden) + 1
        found["latent_dim"] = len(arrays["enc_out_bias"])
    if "dyn_out_bias" in arrays:
        found["latent_dim"] = len(arrays["dyn_out_bias"])
    for network in ("dyn", "rew", "term", "pi", "q", "target"):
        if f"{network}_hidden0_bias" in arrays:
            found["mlp_dim"] = arrays[f"{network}_hidden0_bias"].shape[-1]
    for network in ("q", "target"):
        if f"{network}_out_bias" in arrays:
            found["num_q"], found["bins"] = arrays[f"{network}_out_bias"].shape
    if "rew_out_bias" in arrays:
        found["bins"] = len(arrays["rew_out_bias"])
    if "term_out_bias" in arrays:
        found["episodic"] = True
    return found


def world_model(
    arrays: Arrays, observation_size: int = 4, action_size: int = 2, **settings: Any
) -> WorldModel:
    """The core's networks with the widths of given parameters."""
    config = stage.config(**{**widths(arrays), **settings})
    return WorldModel(config, observation_size, action_size)
