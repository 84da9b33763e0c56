"""Two-hot outputs, initial kernels and the update schedule of danijar/dreamerv3 at its head.

Runs inside the side environment. Every answer comes from calling the reference's own classes;
this module only builds them, feeds them and reads them.
"""

import functools

import elements
import embodied.jax
import jax
import jax.numpy as jnp
import ninjax as nj
import numpy as np
from embodied.jax import nets, outs

from reference_harness.dreamerv3_head.networks import SEED, computing_in, defaults

_SCALAR = elements.Space(np.float32, ())


@functools.cache
def _compiled(function):
    return jax.jit(function)


def _run(function, mode, *arrays):
    call = _compiled(function) if mode == "compiled" else function
    return np.asarray(call(*map(jnp.asarray, arrays)))


def twohot_bins(count, mode):
    """See `dreamerv3.twohot_bins`: those that a head gives to its output."""

    def made(features):
        head = embodied.jax.heads.Head(_SCALAR, "symexp_twohot", bins=count, name="head")
        return nj.pure(lambda: head(features).bins)({}, seed=SEED, create=True)[1]

    with computing_in("float32"):
        call = jax.jit(made) if mode == "compiled" else made
        return {"bins": np.asarray(call(jnp.zeros((1, 1))))}


def _weights(value, bins, focus):
    """Target weights, read off the gradient of the reference's own loss.

    The negative loss has the gradient t − softmax(logits)·Σt by its logits, and with one logit
    at 200 the softmax is exactly one-hot in float32: every other component is exactly t.
    """
    logits = jnp.zeros((*value.shape, len(bins)), jnp.float32).at[..., focus].set(200.0)
    return jax.grad(lambda x: -outs.TwoHot(x, bins).loss(value).sum())(logits)


def _encode(value, bins):
    first, last = _weights(value, bins, 0), _weights(value, bins, len(bins) - 1)
    return first.at[..., 0].set(last[..., 0])


def _loss(logits, value, bins):
    return outs.TwoHot(logits, bins).loss(value)


def _decode(logits, bins):
    return outs.TwoHot(logits, bins).pred()


def _expectation(probs, bins):
    output = outs.TwoHot(jnp.zeros_like(probs), bins)
    output.probs = probs
    return output.pred()


def twohot_encode(value, bins, mode):
    """See `dreamerv3.twohot_encode`."""
    return {"weights": _run(_encode, mode, value, bins)}


def twohot_loss(logits, value, bins, mode):
    """See `dreamerv3.twohot_loss`."""
    return {"loss": _run(_loss, mode, logits, value, bins)}


def twohot_decode(logits, bins, mode):
    """See `dreamerv3.twohot_decode`."""
    return {"value": _run(_decode, mode, logits, bins)}


def twohot_expectation(probs, bins, mode):
    """See `dreamerv3.twohot_expectation`."""
    return {"value": _run(_expectation, mode, probs, bins)}


def twohot_head_at_init(features, shift, seed, mode):
    """See `dreamerv3.twohot_head_at_init`: the stock reward head at the 1m size."""
    settings = {**defaults().agent.rewhead, "units": 64}

    def predicted(x):
        return embodied.jax.MLPHead(_SCALAR, **settings, name="rew")(x, 1).pred()

    pure = nj.pure(predicted)
    with computing_in("float32"):
        x = jnp.asarray(features)
        state, _ = pure({}, x, seed=jax.random.PRNGKey(seed), create=True)
        (bias,) = [name for name in state if name.endswith("/logits/bias")]
        state = {**state, bias: jnp.asarray(shift)}

        def answer(state, x):
            return pure(state, x, seed=SEED, create=False)[1]

        call = jax.jit(answer) if mode == "compiled" else answer
        return {"value": np.asarray(call(state, x))}


def _draw(layer, inputs, seed):
    """The kernel that a layer creates from the Threefry key [0, seed]."""
    stock = nets.nj.seed
    nets.nj.seed = lambda *args, **kwargs: jax.random.PRNGKey(seed)
    try:
        # Both sides of a comparison draw from the same bits, in the mode of newer versions of jax.
        with computing_in("float32"), jax.threefry_partitionable(True):
            x = jnp.zeros((1, inputs), jnp.float32)
            state, _ = nj.pure(lambda: layer()(x))({}, seed=SEED, create=True)
    finally:
        nets.nj.seed = stock
    (kernel,) = [value for name, value in state.items() if name.endswith("/kernel")]
    return {"kernel": np.asarray(kernel)}


def kernel_init(fan_in, fan_out, outscale, seed):
    """See `dreamerv3.kernel_init`."""
    return _draw(lambda: nets.Linear(fan_out, outscale=outscale, name="linear"), fan_in, seed)


def block_kernel_init(blocks, fan_in, fan_out, outscale, seed):
    """See `dreamerv3.block_kernel_init`."""

    def layer():
        return nets.BlockLinear(blocks * fan_out, blocks, outscale=outscale, name="linear")

    return _draw(layer, blocks * fan_in, seed)


def update_schedule(numerator, denominator, steps):
    """See `dreamerv3.update_schedule`."""
    ratio = elements.when.Ratio(numerator / denominator)
    return {"updates": np.asarray([ratio(step) for step in steps], np.int64)}


OPERATIONS = {
    "dreamerv3.twohot_bins": twohot_bins,
    "dreamerv3.twohot_encode": twohot_encode,
    "dreamerv3.twohot_loss": twohot_loss,
    "dreamerv3.twohot_decode": twohot_decode,
    "dreamerv3.twohot_expectation": twohot_expectation,
    "dreamerv3.twohot_head_at_init": twohot_head_at_init,
    "dreamerv3.kernel_init": kernel_init,
    "dreamerv3.block_kernel_init": block_kernel_init,
    "dreamerv3.update_schedule": update_schedule,
}
