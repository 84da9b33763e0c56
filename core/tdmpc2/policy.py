"""The policy prior: a Gaussian, squashed by tanh.

The network's output is the mean and a bounded function of the logarithm of the standard
deviation, side by side. Source: `common/world_model.py:124-151@5f6fade`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from core.tdmpc2.config import Config

_HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)


class PolicySample(NamedTuple):
    """An action of the policy prior and what its loss needs of it.

    Attributes:
        mean: Squashed mean.
        log_std: Logarithm of the standard deviation before squashing.
        action: The action, in [−1, 1].
        entropy: What the policy's loss maximises beside the value.
    """

    mean: Float[Array, "*batch actions"]
    log_std: Float[Array, "*batch actions"]
    action: Float[Array, "*batch actions"]
    entropy: Float[Array, "*batch"]


def sample(
    outputs: Float[Array, "*batch two_actions"],
    noise: Float[Array, "*batch actions"],
    config: Config,
    mask: Float[Array, "*batch actions"] | None = None,
) -> PolicySample:
    """Draws actions.

    Args:
        outputs: Of the policy network.
        noise: Standard normal.
        config: Bounds of the deviation and the form of the entropy.
        mask: 1 for the actions that the task has, where not every task has all of them. The
            others are 0, and are not counted.
    """
    mean, raw = jnp.split(outputs, 2, axis=-1)
    low, high = config.log_std_min, config.log_std_max
    log_std = low + 0.5 * (high - low) * (jnp.tanh(raw) + 1)
    count: Array | int = noise.shape[-1]
    if mask is not None:
        mean, log_std, noise = mean * mask, log_std * mask, noise * mask
        count = mask.sum(-1)
    action = jnp.tanh(mean + noise * jnp.exp(log_std))
    # log |d tanh|, of which the density loses as much as squashing compresses.
    squashing = jnp.sum(jnp.log(jax.nn.relu(1 - action * action) + 1e-6), axis=-1)
    form = density_entropy if config.policy_entropy == "density" else scaled_entropy
    return PolicySample(jnp.tanh(mean), log_std, action, form(noise, log_std, squashing, count))


def density_entropy(
    noise: Float[Array, "*batch actions"],
    log_std: Float[Array, "*batch actions"],
    squashing: Float[Array, "*batch"],
    count: Float[Array, "*batch"] | int,
) -> Float[Array, "*batch"]:
    """The paper era's −log π: A times a Gaussian log-density whose constant is counted once.

    −[A · (Σ (−ε²/2 − ln σ) − ln √(2π)) − Σ ln |d tanh|] for A actions; the log-density of the
    squashed Gaussian would have neither the factor A nor a single constant.

    Source: `common/math.py:17-43@5f6fade`.
    """
    residual = jnp.sum(-0.5 * noise * noise - log_std, axis=-1)
    return squashing - count * (residual - _HALF_LOG_2PI)


def scaled_entropy(
    noise: Float[Array, "*batch actions"],
    log_std: Float[Array, "*batch actions"],
    squashing: Float[Array, "*batch"],
    count: Float[Array, "*batch"] | int,
) -> Float[Array, "*batch"]:
    """The later form: −log π of the squashed Gaussian, times a ratio that undoes the squashing.

    The ratio is A · (Gaussian log-density) / (log π + 1e-8), so that, but for the 1e-8, what is
    left is −A times the Gaussian log-density.

    Source: `common/world_model.py:158-184@e9f5932`.
    """
    gaussian = jnp.sum(-0.5 * noise * noise - log_std - _HALF_LOG_2PI, axis=-1)
    log_prob = gaussian - squashing
    return -log_prob * (count * gaussian / (log_prob + 1e-8))
