"""The decoder, the norm and the precision of danijar/dreamerv3 at its head.

Runs inside the side environment.
"""

import contextlib
import functools
import pathlib

import elements
import embodied.jax
import jax
import jax.numpy as jnp
import ninjax as nj
import numpy as np
import ruamel.yaml
from dreamerv3 import main, rssm
from embodied.jax import nets, opt

SEED = np.zeros(2, np.uint32)


@functools.cache
def defaults():
    """The stock configuration."""
    path = pathlib.Path(main.__file__).parent / "configs.yaml"
    return elements.Config(ruamel.yaml.YAML(typ="safe").load(path.read_text())["defaults"])


@contextlib.contextmanager
def computing_in(dtype):
    """The networks compute in it."""
    stock, nets.COMPUTE_DTYPE = nets.COMPUTE_DTYPE, getattr(jnp, dtype)
    try:
        yield
    finally:
        nets.COMPUTE_DTYPE = stock


@functools.cache
def _decoder(keys, units):
    """(from a state, features and observations by key to loss and clipped gradients, a state)."""
    settings = {**defaults().agent.dec.simple, "layers": 1, "units": units}
    clip = opt.clip_by_agc(defaults().agent.opt.agc)
    spaces = {name: elements.Space(np.float32, (size,)) for name, size in keys}
    decoder = rssm.Decoder(spaces, **settings, name="dec")

    def decoded(features):
        # The features stand in the recurrent state; the other part is one number, 0.
        state = {"deter": features, "stoch": jnp.zeros((*features.shape[:2], 1))}
        reset = jnp.zeros(features.shape[:2], bool)
        return decoder({}, state, reset, training=True)[2]

    def loss(state, features, observations):
        def once():
            recons = decoded(features)
            losses = [recons[name].loss(observations[name]) for name, _ in keys]
            return sum(one.mean() for one in losses)

        return nj.pure(once)(state, seed=SEED)[1]

    def call(state, features, observations):
        found, gradients = jax.value_and_grad(loss)(state, features, observations)
        return found, clip.update(gradients, clip.init(state), state)[0]

    @functools.cache
    def fresh(inputs):
        return nj.init(lambda: decoded(jnp.zeros((1, 1, inputs))))({}, seed=SEED)

    return jax.jit(call), fresh


def decoder_gradient(features, observation, hidden, kernel, bias, first):
    """See `dreamerv3.decoder_gradient`."""
    size = observation.shape[-1]
    cuts = {"position": slice(0, first), "velocity": slice(first, size)}
    cuts = cuts if first else {"vector": slice(0, size)}
    keys = tuple((name, cut.stop - cut.start) for name, cut in cuts.items())
    with computing_in("float32"):
        call, fresh = _decoder(keys, hidden.shape[1])
        state = dict(fresh(features.shape[-1]))
        outputs = [name for name in state if name.endswith("/pred/kernel")]
        zero = np.zeros((1, hidden.shape[1]), np.float32)
        state["dec/mlp/linear0/kernel"] = jnp.concatenate([zero, hidden])
        for name, cut in cuts.items():
            state[f"dec/vec/{name}/pred/kernel"] = jnp.asarray(kernel[:, cut])
            state[f"dec/vec/{name}/pred/bias"] = jnp.asarray(bias[cut])
        if len(state) != 3 + 2 * len(keys):
            raise RuntimeError(f"the decoder has other parameters: {', '.join(state)}")
        given = {name: jnp.asarray(observation[..., cut]) for name, cut in cuts.items()}
        loss, clipped = call(state, jnp.asarray(features), given)
    parts = [
        [clipped[f"dec/vec/{name}/pred/{leaf}"] for name in cuts] for leaf in ("kernel", "bias")
    ]
    return {
        "heads": np.asarray(len(outputs), np.int64),
        "loss": np.asarray(loss),
        "kernel": np.concatenate(parts[0], -1),
        "bias": np.concatenate(parts[1], -1),
        "hidden_norm": np.asarray(jnp.linalg.norm(clipped["dec/mlp/linear0/kernel"])),
    }


def _bits(dtypes):
    (dtype,) = dtypes
    return np.asarray(jnp.finfo(dtype).nmant + 1, np.int64)


def default_precision():
    """See `dreamerv3.default_precision`."""
    settings, flags = defaults().agent, jnp.zeros((1, 1), bool)
    spaces = {"vector": elements.Space(np.float32, (3,))}
    with computing_in(defaults().jax.compute_dtype):
        encoder = rssm.Encoder(spaces, **{**settings.enc.simple, "units": 4}, name="enc")
        scalar = elements.Space(np.float32, ())
        heads = [
            embodied.jax.MLPHead(scalar, **{**settings.value, "units": 4, "bins": 3}, name=name)
            for name in ("val", "slowval")
        ]
        slow = embodied.jax.SlowModel(heads[1], source=heads[0], **settings.slowvalue)

        def once():
            tokens = encoder({}, {"vector": jnp.zeros((1, 1, 3))}, flags, training=True)[2]
            heads[0](tokens, 2)
            slow.update()
            return tokens

        state, tokens = jax.eval_shape(lambda: nj.pure(once)({}, seed=SEED, create=True))

    def kernels(part):
        return {
            leaf.dtype
            for name, leaf in state.items()
            if name.startswith(part) and name.endswith("/kernel")
        }

    return {
        "activations": _bits({tokens.dtype}),
        "parameters": _bits(kernels("enc/")),
        "slow_critic": _bits(kernels("slowval/")),
    }


def low_precision_norm(x, scale):
    """See `dreamerv3.low_precision_norm`."""
    with computing_in("bfloat16"):

        def once(values):
            return nets.Norm("rms", name="norm")(values)

        state = {"norm/scale": jnp.asarray(scale)}
        y = nj.pure(once)(state, jnp.asarray(x, jnp.bfloat16), seed=SEED)[1]
    return {"y": np.asarray(y.astype(jnp.float32))}


OPERATIONS = {
    "dreamerv3.decoder_gradient": decoder_gradient,
    "dreamerv3.default_precision": default_precision,
    "dreamerv3.low_precision_norm": low_precision_norm,
}
