"""The layers and networks of DreamerV3, as the core computes them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import traverse_util

from core.dreamerv3.agent import Agent
from core.dreamerv3.config import Config
from core.dreamerv3.distributions import CategoricalPolicy, NormalPolicy
from core.dreamerv3.networks import BlockHiddenLayer, HiddenLayer, apply
from parity.core_subject.dreamerv3 import given
from parity.core_subject.dreamerv3.given import Variant
from parity.core_subject.running import quick_jit
from parity.implementations import OperationTable
from parity.operations import Answer
from parity.operations.dreamerv3.networks import LEAVES, NETWORKS

_FRESH = Config(deter=64, stoch=8, blocks=4)


@cache
def _hidden_layer(units: int) -> Callable:
    return lambda params, x: apply(HiddenLayer(units), params, x)


@cache
def _block_hidden_layer(units: int, blocks: int) -> Callable:
    return lambda params, *x: apply(BlockHiddenLayer(units, blocks), params, *x)


@cache
def _jitted(function: Callable) -> Callable:
    return jax.jit(function)


def _layer(function: Callable, parameters: tuple[np.ndarray, ...], x: tuple, mode: str) -> Answer:
    kernel, bias, scale = map(jnp.asarray, parameters)
    params = {"linear": {"kernel": kernel, "bias": bias}, "scale": scale}
    call = _jitted(function) if mode == "compiled" else function
    return {"y": np.asarray(call(params, *map(jnp.asarray, x)))}


def hidden_layer(x, layer_kernel, layer_bias, layer_scale, mode) -> Answer:
    """See `dreamerv3.hidden_layer`."""
    layer = _hidden_layer(len(layer_bias))
    return _layer(layer, (layer_kernel, layer_bias, layer_scale), (x,), mode)


def block_hidden_layer(blocked, shared, kernel, bias, scale, mode) -> Answer:
    """See `dreamerv3.block_hidden_layer`."""
    layer = _block_hidden_layer(len(bias), len(kernel))
    return _layer(layer, (kernel, bias, scale), (blocked, shared), mode)


def table(variant: Variant) -> OperationTable:
    """The operations that are answered by the agent's networks."""

    def encode(observation, **parameters) -> Answer:
        agent = variant.make(given.config(parameters), observation.shape[-1], 2)
        embed = _output(variant, agent, "enc")(given.parameters(parameters), observation)
        return {"embed": np.asarray(embed)}

    def head(network, deter, stoch, **parameters) -> Answer:
        named = {name.replace("head_", f"{network}_", 1): v for name, v in parameters.items()}
        outputs = len(parameters["head_out_bias"])
        bins = {"bins": outputs} if network in ("rew", "critic") else {}
        agent = variant.make(given.config({**named, "stoch": stoch}, **bins), outputs, outputs)
        flat = stoch.reshape(len(stoch), -1)
        output = _output(variant, agent, network)(given.parameters(named), deter, flat)
        return {"output": np.asarray(output)}

    def continuous_actor(deter, stoch, noise, **parameters) -> Answer:
        settings = given.config({**parameters, "stoch": stoch})
        agent = variant.make(settings, 1, noise.shape[-1], continuous=True)
        flat = stoch.reshape(len(stoch), -1)
        act = _continuous_actor(variant, agent)
        answers = act(given.parameters(parameters), noise, deter, flat)
        return dict(zip(("mean", "deviation", "action"), map(np.asarray, answers), strict=True))

    @cache
    def optimised(observation_size: int, actions: int, **widths: int) -> dict[str, tuple[int, ...]]:
        agent = variant.make(Config().replace(**widths), observation_size, actions)
        params = jax.eval_shape(agent.init, jax.random.PRNGKey(0)).params
        leaves: dict[str, Any] = traverse_util.flatten_dict(params, sep="/")
        return {name: leaf.shape for name, leaf in leaves.items()}

    def parameter_counts(**sizes) -> Answer:
        counts = np.zeros((2, len(NETWORKS), len(LEAVES)), np.int64)
        for name, shape in optimised(**sizes).items():
            place = NETWORKS.index(name.split("/")[0]), LEAVES.index(name.rpartition("/")[-1])
            counts[(slice(None), *place)] += 1, int(np.prod(shape, dtype=int))
        return {"leaves": counts[0], "numbers": counts[1]}

    def parameter_names(**sizes) -> Answer:
        lines = sorted(f"{name} {'x'.join(map(str, s))}" for name, s in optimised(**sizes).items())
        return {"text": np.frombuffer("\n".join(lines).encode(), np.uint8).copy()}

    def fresh_outputs(features, shift, seed) -> Answer:
        agent = variant.make(_FRESH, 4, 2)
        key = jax.random.PRNGKey(seed)
        layers, rew, critic, slow_critic = _fresh(variant, agent)(key)
        parts = features[:, : _FRESH.deter], features[:, _FRESH.deter :]

        def logits(name: str, params: Any) -> np.ndarray:
            shifted = {**params, "out": {**params["out"], "bias": jnp.asarray(shift)}}
            return np.asarray(_output(variant, agent, name)({name: shifted}, *parts))

        kernels = [np.asarray(layer["kernel"]) for layer in layers]
        return {
            "outscale": np.asarray([np.sqrt(np.mean(k**2) * len(k)) for k in kernels], np.float32),
            "biases": np.asarray([np.abs(layer["bias"]).max() for layer in layers], np.float32),
            "reward_logits": logits("rew", rew),
            "critic_logits": logits("critic", critic),
            "slow_critic_logits": logits("critic", slow_critic),
        }

    return {
        "dreamerv3.encode": encode,
        "dreamerv3.shallow_head": head,
        "dreamerv3.deep_head": head,
        "dreamerv3.continuous_actor": continuous_actor,
        "dreamerv3.parameter_counts": parameter_counts,
        "dreamerv3.parameter_names": parameter_names,
        "dreamerv3.fresh_outputs": fresh_outputs,
    }


# One program per variant and agent; the parameters are among its arguments.


@cache
def _output(variant: Variant, agent: Agent, name: str) -> Callable:
    def output(params, *inputs):
        raw = apply(getattr(agent.networks, name), params[name], *inputs)
        policy = agent.policy
        assert isinstance(policy, CategoricalPolicy)
        return policy.logits(raw) if name == "actor" else raw

    return quick_jit(output)


@cache
def _continuous_actor(variant: Variant, agent: Agent) -> Callable:
    def output(params, noise, *features):
        raw = apply(agent.networks.actor, params["actor"], *features)
        policy = agent.policy
        assert isinstance(policy, NormalPolicy)
        return *policy.moments(raw), policy.sample(raw, noise)

    return quick_jit(output)


@cache
def _fresh(variant: Variant, agent: Agent) -> Callable:
    """The output layers of a fresh agent, and its heads that start at zero."""

    def fresh(key):
        state = agent.init(key)
        params, dyn = state.params, state.params["dyn"]
        layers = [params[name]["out"] for name in ("dec", "rew", "con", "actor", "critic")]
        layers += [dyn["prior_out"], dyn["posterior_out"]]
        return layers, params["rew"], params["critic"], state.slow_critic

    return quick_jit(fresh)


TABLE = {
    "dreamerv3.hidden_layer": hidden_layer,
    "dreamerv3.block_hidden_layer": block_hidden_layer,
    **table(Variant()),
}
