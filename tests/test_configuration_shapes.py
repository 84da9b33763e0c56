"""Which parameters and states every key of the configuration gives their shape and size.

Each key is changed alone, and the table names all whose shapes or dtypes change.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from configuration_keys import BASE, LAYERS, changed
from dreamerv3_batches import QUICK

from core.dreamerv3.agent import Agent
from core.dreamerv3.types import Discrete

HEADS = {"dec", "rew", "con", "actor", "critic"}
OUTPUTS = {"dyn/prior_out", "dyn/posterior_out"}
HIDDEN = {"dyn/prior_hidden", "dyn/posterior_hidden"}
INPUTS = {"dyn/deter_in", "dyn/stoch_in", "dyn/action_in"}
LATENT = HEADS | OUTPUTS | {"dyn/stoch_in", "carry", "noise/posterior", "noise/prior"}
SHAPES = {
    "units": (9, HEADS | {"enc", "embed", "dyn/posterior_hidden"}),
    "hidden": (7, HIDDEN | OUTPUTS | INPUTS | {"dyn/core"}),
    "deter": (20, HEADS | HIDDEN | {"dyn/deter_in", "dyn/core", "dyn/gates", "carry"}),
    "stoch": (5, LATENT),
    "classes": (5, LATENT),
    "blocks": (2, {"dyn/core", "dyn/gates"}),
    "bins": (17, {"rew", "critic"}),
    "imag_horizon": (3, {"noise/prior", "noise/action"}),
    "compute_dtype": ("bfloat16", {"carry", "embed"}),
    **{f"{name}_layers": (LAYERS[name] + 1, {name}) for name in ("enc", *sorted(HEADS))},
    "prior_layers": (3, {"dyn/prior_hidden"}),
    "posterior_layers": (2, {"dyn/posterior_hidden"}),
    "core_layers": (2, {"dyn/core"}),
}
INITIAL = {"dec_outscale": (0.5, "dec"), "actor_outscale": (0.7, "actor")}


def parts(params):
    """Parameters by network, those of the recurrent model by kind of layer."""
    found = {name: part for name, part in params.items() if name != "dyn"}
    for name, part in params["dyn"].items():
        found.setdefault(f"dyn/{name.rstrip('_0123456789')}", {})[name] = part
    return found


def shapes(config):
    agent = Agent(config, 5, Discrete(3))

    def everything():
        params = agent.init(jax.random.key(0)).params
        noise = agent.draw_noise(jax.random.key(0), 2, 6)._asdict()
        named = {f"noise/{name}": x for name, x in noise.items()}
        named["embed"] = agent.networks.enc.apply({"params": params["enc"]}, jnp.zeros(5))
        return {**parts(params), **named, "carry": agent.initial_carry(2).state}

    found = jax.eval_shape(everything)
    return jax.tree.map(lambda x: str((x.shape, x.dtype)), found)


@functools.cache
def base_shapes():
    return shapes(BASE)


@pytest.mark.parametrize("key", SHAPES)
def test_a_key_shapes_its_own_networks(key):
    value, expected = SHAPES[key]
    assert changed(base_shapes(), shapes(BASE.replace(**{key: value}))) == expected


@functools.cache
def initial(config):
    """Initial parameters of the heads that are no two-hot ones, layer by layer."""
    networks = Agent(config, 5, Discrete(3)).networks
    heads = {name: getattr(networks, name) for name in ("dec", "con", "actor")}
    features = jnp.zeros((1, config.deter)), jnp.zeros((1, config.stoch * config.classes))

    def params():
        return {name: head.init(jax.random.key(0), *features) for name, head in heads.items()}

    found = jax.jit(params, compiler_options=QUICK)()
    return {
        f"{name}/{layer}": x for name, tree in found.items() for layer, x in tree["params"].items()
    }


@pytest.mark.parametrize("key", INITIAL)
def test_a_key_scales_the_first_output_of_its_own_network(key):
    value, network = INITIAL[key]
    before, after = initial(BASE), initial(BASE.replace(**{key: value}))
    assert changed(before, after) == {f"{network}/out"}
    kernels = (x[f"{network}/out"]["kernel"] for x in (after, before))
    ratio = np.divide(*kernels)
    np.testing.assert_allclose(ratio, value / getattr(BASE, key), rtol=1e-5)
