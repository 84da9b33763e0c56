"""The policies' distributions, as the core computes them."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from core.dreamerv3.distributions import Policy, make_policy
from core.dreamerv3.types import Continuous, Discrete
from parity.core_subject.dreamerv3 import stage
from parity.core_subject.dreamerv3.stage import answers, compiled
from parity.operations import Answer


def _common(policy: Policy, raw: Array, vector: Array) -> dict[str, Array]:
    def log_prob(raw: Array) -> Array:
        return policy.log_prob(raw, vector)

    return {
        "log_prob": log_prob(raw),
        "entropy": policy.entropy(raw),
        "log_prob_slope": jax.grad(lambda x: log_prob(x).sum())(raw),
        "entropy_slope": jax.grad(lambda x: policy.entropy(x).sum())(raw),
    }


def _discrete(raw: Array, action: Array, gumbel: Array) -> dict[str, Array]:
    policy = make_policy(Discrete(raw.shape[-1]), stage.config_of())
    drawn = policy.decode(policy.sample(raw, gumbel))
    return {**_common(policy, raw, policy.encode(action)), "drawn": drawn}


def discrete_policy(raw: np.ndarray, action: np.ndarray, gumbel: np.ndarray) -> Answer:
    """See `dreamerv3.discrete_policy`."""
    return answers(compiled(_discrete)(raw, action, gumbel))


def _continuous(mean: Array, deviation: Array, action: Array, normal: Array) -> dict[str, Array]:
    policy = make_policy(Continuous(mean.shape[-1]), stage.config_of())
    raw = jnp.concatenate([mean, deviation], axis=-1)
    loc, scale = policy.moments(raw)  # type: ignore[union-attr]
    common = _common(policy, raw, policy.encode(action))
    slopes = {name: x.reshape(len(x), 2, -1) for name, x in common.items() if x.ndim == 2}
    return {
        **common,
        **slopes,
        "loc": loc,
        "scale": scale,
        "drawn": policy.decode(policy.sample(raw, normal)),
    }


def continuous_policy(
    mean: np.ndarray, deviation: np.ndarray, action: np.ndarray, normal: np.ndarray
) -> Answer:
    """See `dreamerv3.continuous_policy`."""
    return answers(compiled(_continuous)(mean, deviation, action, normal))


TABLE = {
    "dreamerv3.discrete_policy": discrete_policy,
    "dreamerv3.continuous_policy": continuous_policy,
}
