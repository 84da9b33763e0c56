"""With which precision danijar/dreamerv3 computes, paper era.

Runs inside the side environment.
"""

import jax
import jax.numpy as jnp
import numpy as np
from dreamerv3 import agent as stock
from dreamerv3 import nets
from dreamerv3 import ninjax as nj

from reference_harness.dreamerv3.agent import SEED, Spaces, build, precision

_SPACES = Spaces(observation_size=3, kind="discrete", actions=2)


def _made(function):
    """What a function of the agent returns, and the parameters that it makes, as shapes."""

    def once():
        return nj.pure(function)({}, seed=SEED, create=True)

    state, out = jax.eval_shape(once)
    return out, {leaf.dtype for name, leaf in state.items() if name.endswith("/kernel")}


def _bits(dtypes):
    (dtype,) = dtypes
    return np.asarray(jnp.finfo(dtype).nmant + 1, np.int64)


def default_precision():
    """See `dreamerv3.default_precision`."""
    with precision(stock.Agent.configs["defaults"]["jax"]["compute_dtype"]):
        agent = build({r".*\.units": 4}, _SPACES)
        flags = jnp.zeros((1, 1), bool)
        data = {"vector": jnp.zeros((1, 1, 3)), "is_first": flags}
        size = agent.config.dyn.rssm
        state = {
            "deter": jnp.zeros((1, 1, size.deter)),
            "stoch": jnp.zeros((1, 1, size.stoch, size.classes)),
        }
        embedding, kernels = _made(lambda: agent.enc(data))
        _, slow = _made(lambda: agent.slowcritic(state).logits)
    return {
        "activations": _bits({embedding.dtype}),
        "parameters": _bits(kernels),
        "slow_critic": _bits(slow),
    }


def low_precision_norm(x, scale):
    """See `dreamerv3.low_precision_norm`."""
    with precision("bfloat16"):

        def once(values):
            return nets.Norm("rms", name="norm")(values)

        state = {"norm/scale": jnp.asarray(scale)}
        y = nj.pure(once)(state, jnp.asarray(x, jnp.bfloat16))[1]
    return {"y": np.asarray(y.astype(jnp.float32))}


def slow_critic_logits(dtype, features, kernel):
    """See `dreamerv3.slow_critic_logits`."""
    inputs, bins = kernel.shape
    size = {"deter": inputs, "stoch": 1, "classes": 1, "blocks": 1}
    overrides = {f"dyn.rssm.{name}": value for name, value in size.items()}
    with precision(dtype):
        agent = build({**overrides, "critic.layers": 0, "critic.bins": bins}, _SPACES)
        padded = jnp.zeros((inputs + 1, bins + 1)).at[:inputs, :bins].set(kernel)
        state = {
            "agent/slowcritic/dist/out/kernel": padded,
            "agent/slowcritic/dist/out/bias": jnp.zeros(bins + 1),
        }
        seen = {"deter": jnp.asarray(features), "stoch": jnp.zeros((len(features), 1, 1))}

        def once():
            return agent.slowcritic(seen, bdims=1).logits

        logits = nj.pure(once)(state, seed=SEED, create=False)[1]
    return {"logits": np.asarray(logits)}


OPERATIONS = {
    "dreamerv3.default_precision": default_precision,
    "dreamerv3.low_precision_norm": low_precision_norm,
    "dreamerv3.slow_critic_logits": slow_critic_logits,
}
