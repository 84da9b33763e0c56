"""Distributions over classes, actions and targets, as functions of their parameters.

Draws take their noise as an argument, so that two implementations can be given the same:
a class is argmax(logits + Gumbel noise), an action is mean + deviation · normal noise.
"""

from __future__ import annotations

import dataclasses
import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from core.dreamerv3.config import Config
from core.dreamerv3.types import Action, ActionSpace, Continuous, Discrete
from core.numerics import symlog, unimix_log_probs

# Squared errors of the decoder below this are 0: `jaxutils.py:182-199@29eb964`.
RECONSTRUCTION_TOLERANCE = 1e-8


def draw_onehot(
    logits: Float[Array, "*batch classes"], gumbel: Float[Array, "*batch classes"]
) -> Float[Array, "*batch classes"]:
    """Draws one class per row, one-hot, without a gradient."""
    index = jnp.argmax(logits + gumbel, axis=-1)
    return jax.nn.one_hot(index, logits.shape[-1], dtype=logits.dtype)


def sample_onehot(
    logits: Float[Array, "*batch classes"], gumbel: Float[Array, "*batch classes"]
) -> Float[Array, "*batch classes"]:
    """Draws one class per row, one-hot, with the gradient of the probabilities.

    The straight-through estimator: the value is the draw, the gradient is that of
    softmax(logits). Source: paper, section "World model learning";
    `jaxutils.py:114-135@29eb964`.
    """
    drawn = jax.lax.stop_gradient(draw_onehot(logits, gumbel))
    probs = jax.nn.softmax(logits, axis=-1)
    return drawn + (probs - jax.lax.stop_gradient(probs))


def categorical_kl(
    p_logits: Float[Array, "*batch classes"], q_logits: Float[Array, "*batch classes"]
) -> Float[Array, "*batch"]:
    """KL(p ‖ q) of two categoricals, in nats."""
    log_p = jax.nn.log_softmax(p_logits, axis=-1)
    log_q = jax.nn.log_softmax(q_logits, axis=-1)
    return jnp.sum(jnp.exp(log_p) * (log_p - log_q), axis=-1)


def categorical_entropy(logits: Float[Array, "*batch classes"]) -> Float[Array, "*batch"]:
    """Entropy of a categorical, in nats."""
    log_p = jax.nn.log_softmax(logits, axis=-1)
    return -jnp.sum(jnp.exp(log_p) * log_p, axis=-1)


def symlog_squared_error(
    predicted: Float[Array, "*batch size"], target: Float[Array, "*batch size"]
) -> Float[Array, "*batch"]:
    """Squared distance of a prediction from symlog(target), summed over the vector.

    Args:
        predicted: In symlog space.
        target: In units of the environment.

    Source: paper, equation 8; `jaxutils.py:179-207@29eb964`.
    """
    error = (predicted - symlog(target)) ** 2
    return jnp.sum(jnp.where(error < RECONSTRUCTION_TOLERANCE, 0.0, error), axis=-1)


def bernoulli_loss(
    logits: Float[Array, "*batch"], target: Float[Array, "*batch"]
) -> Float[Array, "*batch"]:
    """Cross entropy of a probability under sigmoid(logits), in nats."""
    return target * jax.nn.softplus(-logits) + (1 - target) * jax.nn.softplus(logits)


@dataclasses.dataclass(frozen=True)
class CategoricalPolicy:
    """A policy over n actions; inside the networks an action is a one-hot vector.

    Attributes:
        size: n, and the length of the actor's output and of an action's vector.
        unimix: Share of the uniform distribution.
    """

    size: int
    unimix: float

    def encode(self, action: Action) -> Float[Array, "*batch size"]:
        """The vector of an action of the environment."""
        return jax.nn.one_hot(action, self.size, dtype=jnp.float32)

    def decode(self, vector: Float[Array, "*batch size"]) -> Action:
        """The action of the environment that a vector stands for."""
        return jnp.argmax(vector, axis=-1).astype(jnp.int32)

    def logits(self, raw: Float[Array, "*batch size"]) -> Float[Array, "*batch size"]:
        """The mixed log-probabilities of the actor's output."""
        return unimix_log_probs(raw, self.unimix) if self.unimix else raw

    def sample(
        self, raw: Float[Array, "*batch size"], noise: Float[Array, "*batch size"]
    ) -> Float[Array, "*batch size"]:
        """Draws a vector; `noise` is Gumbel noise."""
        return draw_onehot(self.logits(raw), noise)

    def log_prob(
        self, raw: Float[Array, "*batch size"], vector: Float[Array, "*batch size"]
    ) -> Float[Array, "*batch"]:
        """Log-probability of a drawn vector, in nats."""
        return jnp.sum(vector * jax.nn.log_softmax(self.logits(raw), axis=-1), axis=-1)

    def entropy(self, raw: Float[Array, "*batch size"]) -> Float[Array, "*batch"]:
        """In nats."""
        return categorical_entropy(self.logits(raw))

    def entropy_range(self) -> tuple[float, float]:
        """The least and the largest entropy a categorical of this size can have."""
        return 0.0, math.log(self.size)

    def noise(self, key: Array, shape: tuple[int, ...]) -> Float[Array, "*shape size"]:
        """Noise for `sample`."""
        return jax.random.gumbel(key, (*shape, self.size))


@dataclasses.dataclass(frozen=True)
class NormalPolicy:
    """A policy over vectors: independent normals with squashed mean and deviation.

    The mean is tanh of the actor's first half, the deviation lies between `minstd` and
    `maxstd`. A draw is not clipped: what leaves [−1, 1] is clipped by the environment and
    rescaled by the recurrent model.

    Attributes:
        size: Length of an action; the actor's output is twice as long.
        minstd: Least deviation.
        maxstd: Largest deviation.

    Source: `nets.py:492-499@29eb964`.
    """

    size: int
    minstd: float
    maxstd: float

    def encode(self, action: Action) -> Float[Array, "*batch size"]:
        """The vector of an action: itself."""
        return jnp.asarray(action, jnp.float32)

    def decode(self, vector: Float[Array, "*batch size"]) -> Action:
        """The action of a vector: itself."""
        return jnp.asarray(vector, jnp.float32)

    def moments(
        self, raw: Float[Array, "*batch two_sizes"]
    ) -> tuple[Float[Array, "*batch size"], Float[Array, "*batch size"]]:
        """Mean and deviation of the actor's output."""
        mean, std = jnp.split(raw, 2, axis=-1)
        std = (self.maxstd - self.minstd) * jax.nn.sigmoid(std + 2.0) + self.minstd
        return jnp.tanh(mean), std

    def sample(
        self, raw: Float[Array, "*batch two_sizes"], noise: Float[Array, "*batch size"]
    ) -> Float[Array, "*batch size"]:
        """Draws a vector; `noise` is standard normal."""
        mean, std = self.moments(raw)
        return mean + std * noise

    def log_prob(
        self, raw: Float[Array, "*batch two_sizes"], vector: Float[Array, "*batch size"]
    ) -> Float[Array, "*batch"]:
        """Log-density of a drawn vector, in nats, summed over its components."""
        mean, std = self.moments(raw)
        normalised = (vector - mean) / std
        return jnp.sum(-0.5 * normalised**2 - jnp.log(std) - 0.5 * math.log(2 * math.pi), axis=-1)

    def entropy(self, raw: Float[Array, "*batch two_sizes"]) -> Float[Array, "*batch"]:
        """Differential entropy, in nats, summed over the components."""
        _, std = self.moments(raw)
        return jnp.sum(jnp.log(std) + _UNIT_NORMAL_ENTROPY, axis=-1)

    def entropy_range(self) -> tuple[float, float]:
        """The entropies at the least and at the largest deviation."""
        low, high = (_UNIT_NORMAL_ENTROPY + math.log(std) for std in (self.minstd, self.maxstd))
        return self.size * low, self.size * high

    def noise(self, key: Array, shape: tuple[int, ...]) -> Float[Array, "*shape size"]:
        """Noise for `sample`."""
        return jax.random.normal(key, (*shape, self.size))


_UNIT_NORMAL_ENTROPY = 0.5 + 0.5 * math.log(2 * math.pi)

Policy = CategoricalPolicy | NormalPolicy


def make_policy(space: ActionSpace, config: Config) -> Policy:
    """The policy's distribution for an action space."""
    match space:
        case Discrete(n):
            return CategoricalPolicy(n, config.actor_unimix)
        case Continuous(size):
            return NormalPolicy(size, config.minstd, config.maxstd)
