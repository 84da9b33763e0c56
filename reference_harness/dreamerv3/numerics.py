"""Operations answered by danijar/dreamerv3 at 29eb964 and 2411f7d.

Runs inside the side environment. Every answer comes from calling the reference's own
classes; this module only builds them, feeds them and reads them. Where the reference
computes a thing only in the middle of a layer, the layer gets weights that pass the
inputs through unchanged (an identity kernel, exact in float32).
"""

import functools

import embodied
import jax
import jax.numpy as jnp
import numpy as np
from dreamerv3 import jaxutils, nets
from dreamerv3 import ninjax as nj

# Both sides of a comparison draw from the same Threefry bits; this is the mode that
# newer versions of jax have as their default.
jax.config.update("jax_threefry_partitionable", True)


def _run(function, mode, *args):
    call = jax.jit(function) if mode == "compiled" else function
    return call(*args)


@functools.cache
def _compiled(function):
    return jax.jit(function)


def _elementwise(function, mode, x):
    call = _compiled(function) if mode == "compiled" else function
    return np.asarray(call(jnp.asarray(x)))


def symlog(x, mode):
    return {"y": _elementwise(jaxutils.symlog, mode, x)}


def symexp(x, mode):
    return {"y": _elementwise(jaxutils.symexp, mode, x)}


def _through(module, kernel, x, mode):
    """Calls a module whose only parameters are one given kernel and a zero bias.

    Args:
        module: Makes the module; called inside the pure function.
        kernel: [inputs, outputs] values for every parameter called `kernel`.
        x: [B, inputs] inputs.
        mode: eager or compiled.
    """
    pure = nj.pure(module)
    created, _ = pure({}, x, seed=0, create=True, modify=True)
    state = {
        key: jnp.asarray(kernel) if key.endswith("/kernel") else jnp.zeros_like(value)
        for key, value in created.items()
    }
    return _run(lambda s, y: pure(s, y, seed=0)[1], mode, state, x)


def latent_log_probs(logits, unimix, mode):
    classes = logits.shape[-1]

    def module(x):
        rssm = nets.RSSM(stoch=1, classes=classes, unimix=unimix, name="rssm")
        return rssm._logit("logit", x)[..., 0, :]

    out = _through(module, np.eye(classes, dtype=np.float32), jnp.asarray(logits), mode)
    return {"log_probs": np.asarray(out)}


def actor_log_probs(logits, unimix, mode):
    classes = logits.shape[-1]

    def module(x):
        return nets.Dist((classes,), "onehot", unimix=unimix, name="dist")(x).logits

    out = _through(module, np.eye(classes, dtype=np.float32), jnp.asarray(logits), mode)
    return {"log_probs": np.asarray(out)}


def _head_distribution(count):
    """A `Dist` layer over `count` bins whose logits are its inputs."""

    def module(x):
        dist = nets.Dist((), "symexp_twohot", bins=count, name="dist")(x)
        return dist.bins

    return module


def twohot_bins(count, mode):
    # An odd number of bins gets one padding column, which the layer drops again.
    kernel = np.eye(count, count + count % 2, dtype=np.float32)
    logits = jnp.zeros((1, count), jnp.float32)
    return {"bins": np.asarray(_through(_head_distribution(count), kernel, logits, mode))}


def _weights(value, bins, focus):
    """Target weights, read off the gradient of the reference's own log-probability.

    d/dlogits Σ t·(logits − logsumexp) = t − softmax(logits)·Σt, and with one logit at
    200 the softmax is exactly one-hot in float32: every other component is exactly t.
    """
    logits = jnp.zeros((*value.shape, len(bins)), jnp.float32).at[..., focus].set(200.0)

    def total(logits):
        return jaxutils.TwoHotDist(logits, bins).log_prob(value).sum()

    return jax.grad(total)(logits)


def _encode(value, bins):
    first, last = _weights(value, bins, 0), _weights(value, bins, len(bins) - 1)
    return first.at[..., 0].set(last[..., 0])


def twohot_encode(value, bins, mode):
    call = _compiled(_encode) if mode == "compiled" else _encode
    return {"weights": np.asarray(call(jnp.asarray(value), jnp.asarray(bins)))}


def _loss(logits, value, bins):
    return -jaxutils.TwoHotDist(logits, bins).log_prob(value)


def twohot_loss(logits, value, bins, mode):
    call = _compiled(_loss) if mode == "compiled" else _loss
    arrays = map(jnp.asarray, (logits, value, bins))
    return {"loss": np.asarray(call(*arrays))}


def _decode(logits, bins):
    return jaxutils.TwoHotDist(logits, bins).mean()


def twohot_decode(logits, bins, mode):
    call = _compiled(_decode) if mode == "compiled" else _decode
    return {"value": np.asarray(call(jnp.asarray(logits), jnp.asarray(bins)))}


def _expectation(probs, bins):
    dist = jaxutils.TwoHotDist(jnp.zeros_like(probs), bins)
    dist.probs = probs
    return dist.mean()


def twohot_expectation(probs, bins, mode):
    call = _compiled(_expectation) if mode == "compiled" else _expectation
    return {"value": np.asarray(call(jnp.asarray(probs), jnp.asarray(bins)))}


def twohot_head_at_init(features, shift, seed, mode):
    """The stock reward head (`configs.yaml`, rewhead) at the 1m size."""

    def module(x):
        head = nets.MLP(
            (),
            layers=1,
            units=64,
            dist="symexp_twohot",
            outscale=0.0,
            bins=255,
            act="silu",
            norm="rms",
            winit="normal",
            name="rew",
        )
        return head(x, bdims=1).mean()

    pure = nj.pure(module)
    x = {"tensor": jnp.asarray(features)}
    state, _ = pure({}, x, seed=seed, create=True, modify=True)
    # The layer has one padding column, which it drops again.
    state = {**state, "rew/dist/out/bias": jnp.pad(jnp.asarray(shift), (0, 1))}
    return {"value": np.asarray(_run(lambda s, y: pure(s, y, seed=0)[1], mode, state, x))}


def _draw(module, x, seed):
    """The kernel that a layer creates from the Threefry key [0, seed]."""
    stock = nets.nj.seed
    nets.nj.seed = lambda *args, **kwargs: jax.random.PRNGKey(seed)
    try:
        state, _ = nj.pure(module)({}, x, seed=0, create=True, modify=True)
    finally:
        nets.nj.seed = stock
    (kernel,) = [value for key, value in state.items() if key.endswith("/kernel")]
    return np.asarray(kernel)


def kernel_init(fan_in, fan_out, outscale, seed):
    def module(x):
        return nets.Linear(fan_out, outscale=outscale, name="linear")(x)

    return {"kernel": _draw(module, jnp.zeros((1, fan_in), jnp.float32), seed)}


def block_kernel_init(blocks, fan_in, fan_out, outscale, seed):
    def module(x):
        layer = nets.BlockLinear(blocks * fan_out, blocks, outscale=outscale, name="linear")
        return layer(x)

    return {"kernel": _draw(module, jnp.zeros((1, blocks * fan_in), jnp.float32), seed)}


def _rms_norm(x, scale):
    def module(y):
        return nets.Norm("rms", name="norm")(y)

    return nj.pure(module)({"norm/scale": scale}, x)[1]


def rms_norm(x, scale, mode):
    call = _compiled(_rms_norm) if mode == "compiled" else _rms_norm
    return {"y": np.asarray(call(jnp.asarray(x), jnp.asarray(scale)))}


def _normaliser_step(state, returns):
    def module(x):
        # The stock configuration of `retnorm`.
        moments = nets.jaxutils.Moments(
            "perc", rate=0.01, limit=1.0, perclo=5.0, perchi=95.0, name="retnorm"
        )
        return moments(x)[1]

    return nj.pure(module)(state, returns, create=False, modify=True)


def return_normaliser(returns, initial, mode):
    call = _compiled(_normaliser_step) if mode == "compiled" else _normaliser_step
    low, high = "retnorm/low/value", "retnorm/high/value"
    state = {low: jnp.asarray(initial[0]), high: jnp.asarray(initial[1])}
    trajectory = []
    for batch in returns:
        state, scale = call(state, jnp.asarray(batch))
        trajectory.append((state[low], state[high], scale))
    columns = np.asarray(trajectory, np.float32).T.copy()
    return dict(zip(("low", "high", "scale"), columns, strict=True))


def update_schedule(numerator, denominator, steps):
    ratio = embodied.when.Ratio(numerator / denominator)
    return {"updates": np.asarray([ratio(step) for step in steps], np.int64)}


OPERATIONS = {
    "dreamerv3.symlog": symlog,
    "dreamerv3.symexp": symexp,
    "dreamerv3.latent_log_probs": latent_log_probs,
    "dreamerv3.actor_log_probs": actor_log_probs,
    "dreamerv3.twohot_bins": twohot_bins,
    "dreamerv3.twohot_encode": twohot_encode,
    "dreamerv3.twohot_loss": twohot_loss,
    "dreamerv3.twohot_decode": twohot_decode,
    "dreamerv3.twohot_expectation": twohot_expectation,
    "dreamerv3.twohot_head_at_init": twohot_head_at_init,
    "dreamerv3.kernel_init": kernel_init,
    "dreamerv3.block_kernel_init": block_kernel_init,
    "dreamerv3.rms_norm": rms_norm,
    "dreamerv3.return_normaliser": return_normaliser,
    "dreamerv3.update_schedule": update_schedule,
}
