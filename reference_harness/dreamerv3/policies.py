"""The policies' distributions, answered by danijar/dreamerv3 at 29eb964 and 2411f7d.

Runs inside the side environment. The distribution is what the stock agent's actor answers;
its draws are its own, from random bits that are replaced by the given noise.
"""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
from dreamerv3 import ninjax as nj

from reference_harness.dreamerv3.agent import SEED, precision, replaced
from reference_harness.dreamerv3.stage import ACTION, Stage, as_numpy, compiled

_stage = functools.cache(Stage)


def _noise(noise):
    """The function that draws random numbers of any shape, answering with these."""

    def draw(key, shape=(), dtype=jnp.float32, **kwargs):
        del key, kwargs
        return noise.reshape(shape).astype(dtype)

    return draw


def _distribution(stage, outputs, noise):
    """The actor's distribution in the replayed states, and one draw from it."""

    def actor(features):
        dist = stage.agent.actor(features)[ACTION]
        return dist, dist.sample(seed=nj.seed())

    draw = _noise(noise)
    changes = ((jax.random, "gumbel", draw), (jax.random, "normal", draw))
    with precision("float32"), replaced(*changes):
        state = stage.parameters(**outputs)
        return nj.pure(actor)(state, stage.features(), seed=SEED, create=False)[1]


def _discrete(shape, raw, action, gumbel):
    rows, classes = shape
    stage = _stage("discrete", classes, length=rows)
    taken = jax.nn.one_hot(action, classes)

    def read(raw):
        dist, drawn = _distribution(stage, {f"actor__{ACTION}__out": raw}, gumbel)
        return dist.log_prob(taken)[0], dist.entropy()[0], drawn[0]

    log_prob, entropy, drawn = read(raw)
    return {
        "log_prob": log_prob,
        "entropy": entropy,
        "log_prob_slope": jax.grad(lambda x: read(x)[0].sum())(raw),
        "entropy_slope": jax.grad(lambda x: read(x)[1].sum())(raw),
        "drawn": jnp.argmax(drawn, -1).astype(jnp.int32),
    }


def discrete_policy(raw, action, gumbel):
    return as_numpy(compiled(_discrete, raw.shape)(raw, action, gumbel))


def _continuous(shape, mean, deviation, action, normal):
    rows, size = shape
    stage = _stage("continuous", size, length=rows)

    def read(mean, deviation):
        outputs = {f"actor__{ACTION}__out": mean, f"actor__{ACTION}__std": deviation}
        dist, drawn = _distribution(stage, outputs, normal)
        inner = dist.distribution
        return dist.log_prob(action)[0], dist.entropy()[0], drawn[0], inner.loc[0], inner.scale[0]

    def slopes(place):
        return jax.grad(lambda *x: read(*x)[place].sum(), (0, 1))(mean, deviation)

    log_prob, entropy, drawn, loc, scale = read(mean, deviation)
    return {
        "loc": loc,
        "scale": scale,
        "log_prob": log_prob,
        "entropy": entropy,
        "log_prob_slope": jnp.stack(slopes(0), 1),
        "entropy_slope": jnp.stack(slopes(1), 1),
        "drawn": drawn,
    }


def continuous_policy(mean, deviation, action, normal):
    return as_numpy(compiled(_continuous, mean.shape)(mean, deviation, action, normal))


OPERATIONS = {
    "dreamerv3.discrete_policy": discrete_policy,
    "dreamerv3.continuous_policy": continuous_policy,
}
