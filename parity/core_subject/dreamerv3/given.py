"""The core's agent with given widths and given parameters."""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from core.dreamerv3 import world_model
from core.dreamerv3.agent import Agent
from core.dreamerv3.config import Config
from core.dreamerv3.types import Continuous, Discrete
from core.dreamerv3.world_model import Networks, Params

Arrays = Mapping[str, np.ndarray]

# Layers without a norm hold their kernel and bias themselves.
_PLAIN = re.compile(r".*_(out|std|gates)")
_LAYER = re.compile(r"(enc|dyn|dec|rew|con|actor|critic)_(\w+)_(kernel|bias|scale)")


@dataclasses.dataclass(frozen=True)
class Variant:
    """What answers: the core, or the core with a part of it replaced by a faulty copy.

    Attributes:
        networks: Changes the networks.
        observe: What `world_model.observe` is.
        imagine: What `world_model.imagine` is.
        agent: The class of the agent.
    """

    networks: Callable[[Networks], Networks] = lambda networks: networks
    observe: Callable[..., world_model.Observed] = world_model.observe
    imagine: Callable[..., world_model.Imagined] = world_model.imagine
    agent: type[Agent] = Agent

    def make(
        self, config: Config, observation_size: int, actions: int, continuous: bool = False
    ) -> Agent:
        """The agent of a configuration."""
        space = Continuous(actions) if continuous else Discrete(actions)
        agent = self.agent(config, observation_size, space)
        # Where a cached property keeps its value.
        vars(agent)["networks"] = self.networks(agent.networks)
        return agent


def parameters(arrays: Arrays) -> Params:
    """The parameters among the inputs of an operation, as the core holds them."""
    tree: dict[str, Any] = {}
    for name, value in arrays.items():
        if found := _LAYER.fullmatch(name):
            network, layer, leaf = found.groups()
            plain = leaf == "scale" or _PLAIN.fullmatch(f"{network}_{layer}")
            layer = {"core": "core_0"}.get(layer, re.sub(r"^(\w+)_hidden", r"\1_hidden_", layer))
            place = tree.setdefault(network, {}).setdefault(layer, {})
            (place if plain else place.setdefault("linear", {}))[leaf] = jnp.asarray(value)
    return tree


def config(arrays: Arrays, **overrides: Any) -> Config:
    """The configuration with the widths of the parameters among `arrays`."""
    widths: dict[str, Any] = {}
    if "dyn_core_kernel" in arrays:
        widths["deter"] = len(arrays["dyn_core_bias"])
        widths["blocks"] = len(arrays["dyn_core_kernel"])
        widths["hidden"] = len(arrays["dyn_deter_in_bias"])
    if "stoch" in arrays:
        widths["stoch"], widths["classes"] = arrays["stoch"].shape[-2:]
    for name in arrays:
        if re.fullmatch(r"(?!dyn)\w+_hidden0_bias", name):
            widths["units"] = len(arrays[name])
    return Config().replace(**widths, **overrides)


@functools.cache
def _blank(agent: Agent) -> Params:
    shapes = jax.eval_shape(agent.init, jax.random.PRNGKey(0)).params
    return jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)


def with_zeros(agent: Agent, given: Params) -> Params:
    """The given parameters, and zeros for the networks that have none."""
    return {**_blank(agent), **given}
