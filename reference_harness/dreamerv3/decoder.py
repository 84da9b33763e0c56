"""The decoder of danijar/dreamerv3, paper era, for an observation of one key or two.

Runs inside the side environment: the stock decoder with its stock distribution, and the
stock clipping by norms of tensors.
"""

import functools

import embodied
import jax
import jax.numpy as jnp
import numpy as np
from dreamerv3 import agent as stock
from dreamerv3 import nets
from dreamerv3 import ninjax as nj

from reference_harness.dreamerv3.agent import SEED, precision
from reference_harness.dreamerv3.optimizer import _clipped


@functools.cache
def _program(keys, units):
    """(from a state, features and observations by key to loss and clipped gradients, a state)."""
    config = embodied.Config(stock.Agent.configs["defaults"])
    config = config.update({"dec.simple.layers": 1, "dec.simple.units": units}).dec.simple
    spaces = {name: embodied.Space(np.float32, (size,)) for name, size in keys}
    decoder = nets.SimpleDecoder(spaces, **{**config, "inputs": ("deter",)}, name="dec")

    def loss(state, features, observations):
        def once():
            dists = decoder({"deter": features})
            losses = [-dists[name].log_prob(observations[name]) for name, _ in keys]
            return jnp.stack([one.mean() for one in losses]).sum()

        return nj.pure(once)(state, seed=SEED)[1]

    def call(state, features, observations):
        found, gradients = jax.value_and_grad(loss)(state, features, observations)
        return found, _clipped(state, gradients)

    @functools.cache
    def fresh(inputs):
        def once():
            decoder({"deter": jnp.zeros((1, 1, inputs))})

        return nj.init(once)({}, seed=SEED)

    return jax.jit(call), fresh


def decoder_gradient(features, observation, hidden, kernel, bias, first):
    """See `dreamerv3.decoder_gradient`."""
    size = observation.shape[-1]
    cuts = {"position": slice(0, first), "velocity": slice(first, size)}
    cuts = cuts if first else {"vector": slice(0, size)}
    keys = tuple((name, cut.stop - cut.start) for name, cut in cuts.items())
    with precision("float32"):
        call, fresh = _program(keys, hidden.shape[1])
        state = dict(fresh(features.shape[-1]))
        outputs = [name for name in state if "/out_" in name and name.endswith("/kernel")]
        state["dec/mlp0/kernel"] = jnp.asarray(hidden)
        for name, cut in cuts.items():
            state[f"dec/out_{name}/out/kernel"] = jnp.asarray(kernel[:, cut])
            state[f"dec/out_{name}/out/bias"] = jnp.asarray(bias[cut])
        if len(state) != 3 + 2 * len(keys):
            raise RuntimeError(f"the decoder has other parameters: {', '.join(state)}")
        given = {name: jnp.asarray(observation[..., cut]) for name, cut in cuts.items()}
        loss, clipped = call(state, jnp.asarray(features), given)
    parts = [
        [clipped[f"dec/out_{name}/out/{leaf}"] for name in cuts] for leaf in ("kernel", "bias")
    ]
    return {
        "heads": np.asarray(len(outputs), np.int64),
        "loss": np.asarray(loss),
        "kernel": np.concatenate(parts[0], -1),
        "bias": np.concatenate(parts[1], -1),
        "hidden_norm": np.asarray(jnp.linalg.norm(clipped["dec/mlp0/kernel"])),
    }


OPERATIONS = {"dreamerv3.decoder_gradient": decoder_gradient}
