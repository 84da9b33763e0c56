"""With which precision the core computes."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from core.dreamerv3.config import Config
from core.dreamerv3.heads import TwoHotHead
from core.dreamerv3.networks import Encoder, apply
from core.numerics import rms_norm
from parity.operations import Answer


def _bits(tree) -> np.ndarray:
    (dtype,) = {leaf.dtype for leaf in jax.tree.leaves(tree)}
    return np.asarray(jnp.finfo(dtype).nmant + 1, np.int64)


def default_precision(config: Callable[[], Config] = Config) -> Answer:
    """See `dreamerv3.default_precision`."""
    made = config()
    encoder = Encoder(made.enc_layers, made.units, jnp.dtype(made.compute_dtype))
    key, observation = jax.random.key(0), jnp.zeros(3)
    embedding, variables = jax.eval_shape(lambda: encoder.init_with_output(key, observation))
    critic = TwoHotHead(made.critic_layers, made.units, made.bins)
    slow = jax.eval_shape(lambda: critic.init(key, embedding_like(embedding)))
    return {
        "activations": _bits(embedding),
        "parameters": _bits(variables),
        "slow_critic": _bits(slow),
    }


def embedding_like(shape: jax.ShapeDtypeStruct) -> jax.Array:
    """Features in the dtype that the networks compute in."""
    return jnp.zeros(shape.shape, shape.dtype)


def low_precision_norm(x, scale, norm: Callable = rms_norm) -> Answer:
    """See `dreamerv3.low_precision_norm`."""
    low = jnp.asarray(x, jnp.bfloat16)
    return {"y": np.asarray(norm(low, jnp.asarray(scale)).astype(jnp.float32))}


def slow_critic_logits(dtype, features, kernel) -> Answer:
    """See `dreamerv3.slow_critic_logits`."""
    head = TwoHotHead(layers=0, units=1, bins=kernel.shape[1])
    params = {"out": {"kernel": jnp.asarray(kernel), "bias": jnp.zeros(kernel.shape[1])}}
    return {"logits": np.asarray(apply(head, params, jnp.asarray(features, dtype)))}


TABLE = {
    "dreamerv3.default_precision": default_precision,
    "dreamerv3.low_precision_norm": low_precision_norm,
    "dreamerv3.slow_critic_logits": slow_critic_logits,
}
