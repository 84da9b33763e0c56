"""The optimiser and the slow critic, answered by danijar/dreamerv3 at 29eb964 and 2411f7d.

Runs inside the side environment.
"""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
import optax
from dreamerv3 import agent as stock
from dreamerv3 import jaxutils
from dreamerv3 import ninjax as nj

from reference_harness.dreamerv3.agent import SEED
from reference_harness.dreamerv3.stage import Stage, as_numpy, compiled

SETTINGS = stock.Agent.configs["defaults"]["opt"]


def _clipped(params, gradients):
    clip = jaxutils.scale_by_agc(SETTINGS["agc"], SETTINGS["pmin"])
    return clip.update(gradients, clip.init(params), params)[0]


def gradient_clipping(kernel, bias, kernel_gradient, bias_gradient):
    params = {"kernel": kernel, "bias": bias}
    gradients = {"kernel": kernel_gradient, "bias": bias_gradient}
    return as_numpy(compiled(_clipped)(params, gradients))


def _normalised(gradients):
    s = SETTINGS
    chain = optax.chain(
        jaxutils.scale_by_rms(s["beta2"], s["eps"]), jaxutils.scale_by_momentum(s["beta1"])
    )

    def step(state, gradient):
        update, state = chain.update(gradient, state)
        return state, update

    return {"updates": jax.lax.scan(step, chain.init(gradients[0]), gradients)[1]}


def laprop(gradients):
    return as_numpy(compiled(_normalised)(gradients))


class _Layer(nj.Module):
    """A kernel and a bias."""

    def __init__(self, kernel, bias):
        self._shapes = {"kernel": kernel, "bias": bias}

    def __call__(self):
        return {name: self.get(name, jnp.zeros, shape) for name, shape in self._shapes.items()}


@functools.cache
def _optimizer(kernel, bias, learning_rate, warmup):
    """One step of the stock optimiser on a loss that is linear in its parameters."""
    layer = _Layer(kernel, bias, name="layer")
    settings = {**SETTINGS, "warmup": warmup}
    del settings["lr"]
    opt = jaxutils.Optimizer(learning_rate, **settings, name="opt")

    def loss(gradients):
        # Its gradient in a parameter is the given one, to the last bit.
        products = [(gradients[name] * value).sum() for name, value in layer().items()]
        return sum(products)

    def step(gradients):
        opt([layer], loss, gradients)

    pure = nj.pure(step)
    return jax.jit(lambda state, gradients: pure(state, gradients, seed=SEED, create=True)[0])


def _trajectory(kernel, bias, kernel_gradients, bias_gradients, learning_rate, warmup, updates):
    step = _optimizer(kernel.shape, bias.shape, learning_rate, warmup)
    state = {
        "layer/kernel": jnp.asarray(kernel),
        "layer/bias": jnp.asarray(bias),
        "opt/step/value": jnp.asarray(updates, jnp.int32),
    }
    seen = []
    for gradients in zip(kernel_gradients, bias_gradients, strict=True):
        state = step(state, dict(zip(("kernel", "bias"), gradients, strict=True)))
        seen.append((np.asarray(state["layer/kernel"]), np.asarray(state["layer/bias"])))
    return dict(zip(("kernels", "biases"), map(np.stack, zip(*seen, strict=True)), strict=True))


def optimizer(kernel, bias, kernel_gradients, bias_gradients, learning_rate, warmup):
    return _trajectory(kernel, bias, kernel_gradients, bias_gradients, learning_rate, warmup, 0)


def warmup_factor(updates, warmup):
    """How far a gradient of 1 moves a parameter at 0 when the full step size is 1.

    LaProp's first update of a gradient is its sign, so the distance is the factor.
    """
    zeros, ones = np.zeros((1, 1), np.float32), np.ones((1, 1, 1), np.float32)
    # Clipping by the norm comes first, and does not change a sign.
    moved = [
        _trajectory(zeros, zeros[0], ones, ones[0], 1.0, warmup, int(count))["kernels"].item()
        for count in updates
    ]
    return {"factor": np.asarray([-x for x in moved], np.float32)}


def _slow(critic, initial, updates):
    stage = _stage()
    source, target = ("agent/critic/parameters", "agent/slowcritic/parameters")
    counter = "agent/updater/updates/value"
    state = {target: initial, counter: updates}

    def step(state, params):
        state = nj.pure(stage.agent.updater)({**state, source: params})[0]
        return {name: state[name] for name in (target, counter)}, state[target]

    return {"slow": jax.lax.scan(step, state, critic)[1]}


_stage = functools.cache(Stage)


def slow_critic(critic, initial, updates):
    return as_numpy(compiled(_slow)(critic, initial, jnp.asarray(updates, jnp.int32)))


OPERATIONS = {
    "dreamerv3.gradient_clipping": gradient_clipping,
    "dreamerv3.laprop": laprop,
    "dreamerv3.optimizer": optimizer,
    "dreamerv3.warmup_factor": warmup_factor,
    "dreamerv3.slow_critic": slow_critic,
}
