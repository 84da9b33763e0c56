"""The core's decoder, which has one output layer for the whole observation."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import optax

from core.dreamerv3 import distributions
from core.dreamerv3.heads import LinearHead
from core.dreamerv3.networks import apply
from core.dreamerv3.optimizer import clip_by_agc
from parity.operations import Answer


def _loss(head: LinearHead, params, features, observation):
    decoded = apply(head, params, features)
    return jnp.mean(distributions.symlog_squared_error(decoded, observation))


@cache
def _program(units: int, size: int, loss: Callable, clip: Callable) -> tuple[Callable, Callable]:
    head = LinearHead(1, units, size)
    clipping: optax.GradientTransformation = clip()

    def call(params, features, observation):
        found, gradients = jax.value_and_grad(lambda p: loss(head, p, features, observation))(
            params
        )
        clipped, _ = clipping.update(gradients, clipping.init(params), params)
        return found, clipped

    def fresh(features):
        return head.init(jax.random.key(0), features)["params"]

    return jax.jit(call), fresh


def decoder_gradient(
    features,
    observation,
    hidden,
    kernel,
    bias,
    first,
    loss: Callable = _loss,
    clip: Callable = clip_by_agc,
) -> Answer:
    """See `dreamerv3.decoder_gradient`."""
    if first:
        raise ValueError("the core has one key")
    call, fresh = _program(hidden.shape[1], observation.shape[-1], loss, clip)
    layer = fresh(features)["hidden0"]
    layer = {**layer, "linear": {**layer["linear"], "kernel": jnp.asarray(hidden)}}
    params = {"hidden0": layer, "out": {"kernel": jnp.asarray(kernel), "bias": jnp.asarray(bias)}}
    found, clipped = call(params, features, observation)
    return {
        "heads": np.asarray(1, np.int64),
        "loss": np.asarray(found),
        "kernel": np.asarray(clipped["out"]["kernel"]),
        "bias": np.asarray(clipped["out"]["bias"]),
        "hidden_norm": np.asarray(jnp.linalg.norm(clipped["hidden0"]["linear"]["kernel"])),
    }


TABLE = {"dreamerv3.decoder_gradient": decoder_gradient}
