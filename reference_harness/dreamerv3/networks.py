"""The layers and networks of danijar/dreamerv3, paper era, on given parameters.

Runs inside the side environment; see `given.py` for the agent whose networks they are.
"""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
from dreamerv3 import nets
from dreamerv3 import ninjax as nj

from reference_harness.dreamerv3 import given
from reference_harness.dreamerv3.agent import SEED, Spaces, build, initial_state, precision

_NETWORKS = ("enc", "dyn", "dec", "rew", "con", "actor", "critic")
_LEAVES = ("kernel", "bias", "scale")

# What the stock configuration gives every hidden layer.
_HIDDEN = {"act": "silu", "norm": "rms", "winit": "normal"}


def _layer(module, parameters, x, mode):
    state = {
        "layer/" + ("norm/scale" if leaf == "scale" else leaf): jnp.asarray(value)
        for leaf, value in zip(_LEAVES, parameters, strict=True)
    }
    pure = nj.pure(module)

    def run(state, x):
        return pure(state, x, create=False, modify=False)[1]

    with precision("float32"):
        call = jax.jit(run) if mode == "compiled" else run
        return {"y": np.asarray(call(state, jnp.asarray(x)))}


def hidden_layer(x, layer_kernel, layer_bias, layer_scale, mode):
    def module(x):
        return nets.Linear(len(layer_bias), **_HIDDEN, name="layer")(x)

    return _layer(module, (layer_kernel, layer_bias, layer_scale), x, mode)


def block_hidden_layer(blocked, shared, kernel, bias, scale, mode):
    rows, blocks = len(blocked), len(kernel)
    # The reference's layer takes the inputs of block after block in one vector.
    parts = [np.hstack([part, shared]) for part in np.split(blocked, blocks, axis=1)]
    x = np.stack(parts, axis=1).reshape(rows, -1)

    def module(x):
        return nets.BlockLinear(len(bias), blocks, **_HIDDEN, name="layer")(x)

    return _layer(module, (kernel, bias, scale), x, mode)


def encode(observation, **parameters):
    state, _ = given.split_parameters(parameters)
    agent = given.agent(given.widths(parameters), observation.shape[-1], 2)

    def embed(vector):
        flags = jnp.zeros(len(vector), bool)
        return agent.enc({"vector": vector, "is_first": flags}, bdims=1)

    return {"embed": given.call(embed, state, observation)}


def head(network, deter, stoch, **parameters):
    renamed = {name.replace("head_", f"{network}_"): v for name, v in parameters.items()}
    outputs = len(parameters["head_out_bias"])
    overrides = given.widths({**renamed, "stoch": stoch})
    if network in ("rew", "critic"):
        overrides[r"(rewhead|critic)\.bins"] = outputs
    agent = given.agent(overrides, outputs, max(outputs, 2))
    state, _ = given.split_parameters(renamed)

    def output(deter, stoch):
        dist = getattr(agent, network)({"deter": deter, "stoch": stoch}, bdims=1)
        if network == "dec":
            return dist["vector"]._mode
        if network == "con":
            return dist.logits[:, None]
        return (dist["action"] if network == "actor" else dist).logits

    return {"output": given.call(output, given.padded(state, "rew", "critic"), deter, stoch)}


def continuous_actor(deter, stoch, noise, **parameters):
    state, _ = given.split_parameters(parameters)
    overrides = given.widths({**parameters, "stoch": stoch})
    agent = given.agent(overrides, 1, noise.shape[-1], "continuous")

    def output(deter, stoch):
        dist = agent.actor({"deter": deter, "stoch": stoch}, bdims=1)["action"]
        normal = dist.distribution
        return normal.loc, normal.scale, dist.sample(seed=nj.seed())

    draws = given.Draws(now=(noise,))
    mean, deviation, action = given.call(output, state, deter, stoch, draws=draws)
    return {"mean": mean, "deviation": deviation, "action": action}


@functools.lru_cache(maxsize=4)
def _optimised(observation_size, actions, units, hidden, deter, stoch, classes, blocks, bins):
    """(name, shape) of every leaf that the agent's optimiser is given."""
    overrides = {
        "jax.platform": "cpu",
        "dyn.rssm.deter": deter,
        "dyn.rssm.hidden": hidden,
        "dyn.rssm.stoch": stoch,
        "dyn.rssm.classes": classes,
        "dyn.rssm.blocks": blocks,
        r".*\.units": units,
        r"(rewhead|critic)\.bins": bins,
    }
    spaces = Spaces(observation_size, "discrete", actions)
    with precision("float32"):
        agent = build(overrides, spaces)
        state = jax.eval_shape(lambda: initial_state(agent, spaces, 2, 4))
    roots = tuple(f"{module.path}/" for module in agent.modules)
    return {name: leaf.shape for name, leaf in state.items() if name.startswith(roots)}


def parameter_counts(**sizes):
    counts = np.zeros((2, len(_NETWORKS), len(_LEAVES)), np.int64)
    for name, shape in _optimised(**sizes).items():
        place = _NETWORKS.index(name.split("/")[1]), _LEAVES.index(name.rpartition("/")[-1])
        counts[:, *place] += 1, np.prod(shape, dtype=int)
    return {"leaves": counts[0], "numbers": counts[1]}


def parameter_names(**sizes):
    lines = sorted(f"{name} {'x'.join(map(str, s))}" for name, s in _optimised(**sizes).items())
    return {"text": np.frombuffer("\n".join(lines).encode(), np.uint8).copy()}


_FRESH = {
    "dyn.rssm.deter": 64,
    "dyn.rssm.hidden": 64,
    "dyn.rssm.stoch": 8,
    "dyn.rssm.classes": 4,
    "dyn.rssm.blocks": 4,
    r".*\.units": 64,
}
_OUTPUTS = ("dec/out_vector", "rew/dist", "con/dist", "actor/action", "critic/dist")


def fresh_outputs(features, shift, seed):
    agent = given.agent(_FRESH, 4, 2)
    rows = len(features)
    latent = {"deter": features[:, :64], "stoch": features[:, 64:].reshape(rows, 8, 4)}

    def everything(latent):
        agent.dec(latent, bdims=1)
        agent.con(latent, bdims=1)
        agent.actor(latent, bdims=1)
        agent.dyn._prior(latent["deter"])
        agent.dyn.observe(
            latent, jnp.zeros((rows, 2)), jnp.zeros((rows, 64)), jnp.zeros(rows, bool), bdims=1
        )
        heads = (agent.rew, agent.critic, agent.slowcritic)
        return [head(latent, bdims=1).logits for head in heads]

    latent = jax.tree.map(jnp.asarray, latent)
    key = np.asarray([0, seed], np.uint32)
    with precision("float32"):
        state, _ = nj.pure(everything)({}, latent, seed=key, create=True, modify=True)
    layers = [f"agent/{name}/out" for name in _OUTPUTS]
    layers += ["agent/dyn/imglogit", "agent/dyn/obslogit"]
    kernels = [np.asarray(state[f"{layer}/kernel"]) for layer in layers]
    biases = [np.asarray(state[f"{layer}/bias"]) for layer in layers]
    for name in ("rew", "critic", "slowcritic"):
        # One column more than there are bins; it is dropped again.
        state[f"agent/{name}/dist/out/bias"] = jnp.pad(jnp.asarray(shift), (0, 1))
    with precision("float32"):
        _, logits = nj.pure(everything)(state, latent, seed=SEED, create=False, modify=False)
    names = ("reward_logits", "critic_logits", "slow_critic_logits")
    return {
        "outscale": np.asarray([np.sqrt(np.mean(k**2) * len(k)) for k in kernels], np.float32),
        "biases": np.asarray([np.abs(bias).max() for bias in biases], np.float32),
        **dict(zip(names, map(np.asarray, logits), strict=True)),
    }


OPERATIONS = {
    "dreamerv3.hidden_layer": hidden_layer,
    "dreamerv3.block_hidden_layer": block_hidden_layer,
    "dreamerv3.encode": encode,
    "dreamerv3.shallow_head": head,
    "dreamerv3.deep_head": head,
    "dreamerv3.continuous_actor": continuous_actor,
    "dreamerv3.parameter_counts": parameter_counts,
    "dreamerv3.parameter_names": parameter_names,
    "dreamerv3.fresh_outputs": fresh_outputs,
}
