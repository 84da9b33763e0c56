"""What the replay of danijar/dreamerv3 hands out and takes back, at its head.

Runs inside the side environment. Rows go through the reference's own replay with its own
options; batches come from its own stream, and pass through the stock agent's own `train`, which
splits off the context and says what is to be written back. In the place of its optimiser stands
a function that notes what it is given.
"""

import functools
import types

import embodied
import jax
import jax.numpy as jnp
import ninjax as nj
import numpy as np
from dreamerv3 import main

from reference_harness.dreamerv3_head.agent import FLAGS, build
from reference_harness.dreamerv3_head.loop import configured, noting
from reference_harness.dreamerv3_head.networks import SEED, computing_in
from reference_harness.scratch import scratch

_CLASSES = 32
_COLUMNS = ("action", "reward", *FLAGS)


@functools.cache
def _agent():
    """A stock model with a recurrent state of one number and one categorical variable."""
    model = build(1 << 20, deter=1, hidden=1, stoch=1, classes=_CLASSES, blocks=1)
    model.slowval = types.SimpleNamespace(update=lambda: None)
    return model


def _train(agent, carry, data, deter, stoch):
    """One call of the stock `train` in which training infers the given latents.

    Returns:
        The rows it trains on, the previous actions, the latent before them, and what is to be
        written back.
    """
    noted = {}

    def optimise(loss, carry, rows, previous, training, has_aux):
        noted.update(rows=rows, previous=previous["action"], latent=carry[1])
        latents = {
            "deter": jnp.asarray(deter)[..., None],
            "stoch": jax.nn.one_hot(jnp.asarray(stoch), _CLASSES)[:, :, None],
        }
        return {}, (carry, ({}, latents, {}), {}, {})

    agent.opt = optimise
    outs = nj.pure(lambda: agent.train(carry, data))({}, seed=SEED)[1][1]
    back = {name: np.asarray(value) for name, value in outs["replay"].items()}
    return noted["rows"], noted["previous"], noted["latent"], back


def replay(capacity, batch, length, after, mark, new_deter, new_stoch, **columns):
    """See `dreamerv3.replay`."""
    ticks, envs = mark.shape
    stored = embodied.replay.Replay(length + 1, envs * (capacity - length), online=True)
    flags = noting(stored)
    config = configured(0, "", envs, batch, length, 32.0, ticks)
    stream, drawn, d = iter(main.make_stream(config, stored, "train")), [], 0
    with computing_in("float32"):
        agent = _agent()
        carry = nj.pure(lambda: agent.init_train(batch))({}, seed=SEED)[1]
        for k in range(ticks):
            for n in range(envs):
                row = {name: columns[name][k, n] for name in _COLUMNS}
                row |= {"vector": mark[k, n, None], "consec": np.int32(0)}
                row |= {"dyn/deter": columns["deter"][k, n, None]}
                row |= {"dyn/stoch": np.eye(1, _CLASSES, columns["stoch"][k, n], np.float32)}
                stored.add(row, n)
            while d < len(after) and after[d] == k + 1:
                flags.clear()
                data = {name: jnp.asarray(value) for name, value in next(stream).items()}
                rows, previous, latent, back = _train(
                    agent, carry, data, new_deter[d], new_stoch[d]
                )
                stored.update(back)
                drawn.append(
                    {
                        "online": np.asarray([online for _, online in flags], bool),
                        "mark": rows["vector"][..., 0],
                        "action": data["action"][:, -length:],
                        **{name: rows[name] for name in ("reward", *FLAGS)},
                        "context_deter": latent["deter"][..., 0],
                        "context_stoch": latent["stoch"][..., 0, :].argmax(-1).astype(jnp.int32),
                        "context_action": previous[:, 0],
                    }
                )
                d += 1
    return {name: np.stack([np.asarray(one[name]) for one in drawn]) for name in drawn[0]}


def replay_size(limit, envs, steps):
    """See `dreamerv3.replay_size`: the stock program's own replay, which counts sequences."""
    with scratch() as folder:
        config = configured(0, folder, envs, 16, 64, 32.0, steps)
        config = config.update({"replay.size": limit}) if limit else config
        return {"held": np.asarray(main.make_replay(config, "replay").capacity, np.int64)}


OPERATIONS = {"dreamerv3.replay": replay, "dreamerv3.replay_size": replay_size}
