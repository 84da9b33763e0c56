"""What the replay of danijar/dreamerv3 hands out and takes back, paper era.

Runs inside the side environment. Rows go through the reference's own `embodied.replay.Replay`
with the stock options; batches come from its own `dataset`, and pass through the stock
agent's own `train`, which splits off the context and says what is to be written back. In the
place of its optimiser stands a function that notes what it is given.
"""

import functools

import embodied
import jax
import jax.numpy as jnp
import numpy as np
from dreamerv3 import main
from dreamerv3 import ninjax as nj

from reference_harness.dreamerv3.agent import SEED, Spaces, build, precision
from reference_harness.dreamerv3.events import configured
from reference_harness.scratch import scratch

_CLASSES = 32
_COLUMNS = ("action", "reward", "is_first", "is_last", "is_terminal")


@functools.cache
def _agent():
    """A stock agent with a recurrent state of one number and one categorical variable."""
    size = {"deter": 1, "stoch": 1, "classes": _CLASSES, "blocks": 1}
    overrides = {f"dyn.rssm.{name}": value for name, value in size.items()}
    return build(overrides, Spaces(observation_size=1, kind="discrete", actions=1 << 20))


def _train(agent, data, carry, deter, stoch):
    """One call of the stock `train` in which training infers the given latents.

    Returns:
        The rows it trains on, the carry it starts from, and what is to be written back.
    """
    seen = {}

    def optimise(modules, loss, rows, carry, has_aux):
        seen.update(rows=rows, carry=carry)
        latents = {
            "deter": jnp.asarray(deter)[..., None],
            "stoch": jax.nn.one_hot(jnp.asarray(stoch), _CLASSES)[:, :, None],
        }
        return {}, ({"replay_outs": latents}, carry, {})

    agent.opt, agent.updater = optimise, lambda: None
    outs, _, _ = nj.pure(lambda: agent.train(data, carry))({}, seed=SEED)[1]
    return seen["rows"], seen["carry"], {k: np.asarray(v) for k, v in outs["replay"].items()}


def replay(capacity, batch, length, after, mark, new_deter, new_stoch, **columns):
    """See `dreamerv3.replay`."""
    ticks, envs = mark.shape
    stored = embodied.replay.Replay(length + 1, envs * (capacity - length), online=True)
    dataset = iter(stored.dataset(batch, length + 1))
    drawn = []
    with precision("float32"):
        agent = _agent()
        carry = nj.pure(agent.init_train)({}, batch, seed=SEED)[1]
        known = {*agent.obs_space, *agent.act_space, *agent.aux_spaces}
        d = 0
        for k in range(ticks):
            for n in range(envs):
                row = {name: columns[name][k, n] for name in _COLUMNS}
                row |= {"vector": mark[k, n, None], "deter": columns["deter"][k, n, None]}
                stored.add(row | {"stoch": columns["stoch"][k, n, None]}, n)
            while d < len(after) and after[d] == k + 1:
                data = next(dataset)
                online = data["is_online"][:, 0]
                given = {name: jnp.asarray(v) for name, v in data.items() if name in known}
                rows, (latent, action), back = _train(
                    agent, given, carry, new_deter[d], new_stoch[d]
                )
                stored.update(back)
                drawn.append(
                    {
                        "online": online,
                        "mark": rows["vector"][..., 0],
                        **{name: rows[name] for name in _COLUMNS},
                        "context_deter": latent["deter"][..., 0],
                        "context_stoch": latent["stoch"][..., 0, :].argmax(-1).astype(jnp.int32),
                        "context_action": action["action"],
                    }
                )
                d += 1
    return {name: np.stack([np.asarray(one[name]) for one in drawn]) for name in drawn[0]}


def replay_size(limit, envs, steps):
    """See `dreamerv3.replay_size`: the stock program's own replay, which counts sequences."""
    del steps  # a run does not limit it
    with scratch() as folder:
        config = configured(0, folder, envs, batch=16, length=64, train_ratio=32.0)
        config = config.update({"replay.size": limit}) if limit else config
        return {"held": np.asarray(main.make_replay(config).capacity, np.int64)}


OPERATIONS = {"dreamerv3.replay": replay, "dreamerv3.replay_size": replay_size}
