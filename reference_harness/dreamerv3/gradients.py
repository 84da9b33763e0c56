"""Which loss reaches which network, and what an update changes, in danijar/dreamerv3.

Runs inside the side environment: the stock agent at a tiny size, its own `loss` and `train`.
"""

from __future__ import annotations

import functools
import re

import jax
import jax.numpy as jnp
import numpy as np
from dreamerv3 import ninjax as nj

from reference_harness.dreamerv3.agent import SEED, Spaces, build, initial_state, precision
from reference_harness.dreamerv3.stage import ACTION, OBSERVATION

LOSSES = (OBSERVATION, "reward", "cont", "dyn", "rep", "actor", "critic", "replay_critic")
NETWORKS = (
    "enc/",
    r"dyn/(?!img)",
    "dyn/img",
    "dec/",
    "rew/",
    "con/",
    "actor/",
    "critic/",
    "slowcritic/",
)
BATCH, LENGTH = 2, 3


def _overrides(**more):
    widths = {"deter": 8, "hidden": 6, "stoch": 4, "classes": 4, "blocks": 2}
    bare = ("dec.simple", "rewhead", "conhead", "actor", "critic")
    return {
        "jax.platform": "cpu",
        **{f"dyn.rssm.{key}": value for key, value in widths.items()},
        **{f"dyn.rssm.{part}layers": 0 for part in ("img", "obs")},
        **{f"{head}.layers": 0 for head in bare},
        "enc.simple.layers": 1,
        r".*\.units": 6,
        r"(rewhead|critic)\.bins": 7,
        "imag_length": 2,
        **more,
    }


def _parameters(state):
    """The names of each network's parameters."""
    patterns = [re.compile(f"agent/{network}") for network in NETWORKS]
    return [[name for name in state if pattern.match(name)] for pattern in patterns]


@functools.cache
def _agent(kind, learning_rate):
    settings = {"opt.lr": learning_rate, "opt.warmup": 1} if learning_rate else {}
    spaces = Spaces(3, kind, 2)
    agent = build(_overrides(**settings), spaces)
    return agent, initial_state(agent, spaces, BATCH, LENGTH + 1)


def _drawn(state, rng):
    """The state with every parameter drawn anew, so that none is 0."""
    names = {name for network in _parameters(state) for name in network}
    return {
        name: jnp.asarray(rng.uniform(-2, 2, value.shape), jnp.float32) if name in names else value
        for name, value in state.items()
    }


def _batch(kind, rng):
    rows = (BATCH, LENGTH + 1)
    never = jnp.zeros(rows, bool)
    action = rng.uniform(-1, 1, (*rows, 2)) if kind == "continuous" else rng.integers(0, 2, rows)
    return {
        OBSERVATION: jnp.asarray(rng.uniform(-2, 2, (*rows, 3)), jnp.float32),
        ACTION: jnp.asarray(action, jnp.float32 if kind == "continuous" else jnp.int32),
        "reward": jnp.asarray(rng.uniform(-2, 2, rows), jnp.float32),
        **dict.fromkeys(("is_first", "is_last", "is_terminal"), never),
        "stepid": jnp.zeros((*rows, 20), jnp.uint8),
        "deter": jnp.asarray(rng.uniform(-1, 1, (*rows, 8)), jnp.float32),
        "stoch": jnp.asarray(rng.integers(0, 4, (*rows, 4)), jnp.int32),
    }


@functools.cache
def _flow_program(kind):
    agent, state = _agent(kind, 0.0)

    def loss(data, carry):
        data = {k: v[:, 1:] for k, v in data.items() if k in (*agent.obs_space, ACTION)}
        return agent.loss(agent.preprocess(data), carry)

    names = [name for network in _parameters(state) for name in network]

    def flow(state, data):
        others = {name: value for name, value in state.items() if name not in names}

        def losses(parameters):
            carry = nj.pure(agent.init_train)({}, BATCH, seed=SEED, create=True)[1]
            returned = nj.pure(loss)({**others, **parameters}, data, carry, seed=SEED)[1]
            total, (_, _, metrics) = returned
            return jnp.stack([*(metrics[f"{name}_loss"] for name in LOSSES), total])

        values, pull = jax.vjp(losses, {name: state[name] for name in names})
        return jax.vmap(pull)(jnp.eye(len(values)))[0]

    return jax.jit(flow)


def gradient_flow(kind, seed):
    rng = np.random.default_rng(seed)
    with precision("float32"):
        _, fresh = _agent(kind, 0.0)
        state = _drawn(fresh, rng)
        gradients = _flow_program(kind)(state, _batch(kind, rng))
    reaches = [
        [
            any(np.any(np.asarray(gradients[name][i])) for name in network)
            for i in range(len(LOSSES))
        ]
        for network in _parameters(state)
    ]
    flat = [np.asarray(g, np.float64).reshape(len(LOSSES) + 1, -1) for g in gradients.values()]
    return {"reaches": np.asarray(reaches, np.int64).T.copy(), "scales": _scales(np.hstack(flat))}


def _scales(gradients):
    """How much the gradients before the last one count in the last one, in least squares."""
    *losses, total = gradients
    sizes = np.linalg.norm(losses, axis=1)
    return np.linalg.lstsq(np.transpose(losses) / sizes, total, rcond=None)[0] / sizes


@functools.cache
def _train_program(kind, learning_rate):
    agent, _ = _agent(kind, learning_rate)

    def train(state, data):
        carry = nj.pure(agent.init_train)({}, BATCH, seed=SEED, create=True)[1]
        return nj.pure(agent.train)(state, data, carry, seed=SEED)[0]

    return jax.jit(train)


def ownership(kind, seed, learning_rate):
    rng = np.random.default_rng(seed)
    with precision("float32"):
        _, fresh = _agent(kind, learning_rate)
        state, changed = _drawn(fresh, rng), []
        for _ in range(2):
            after = _train_program(kind, learning_rate)(state, _batch(kind, rng))
            changed.append(
                [
                    np.mean([np.any(after[name] != state[name]) for name in network])
                    for network in _parameters(state)
                ]
            )
            state = after
    return {"changed": np.asarray(changed, np.float32)}


OPERATIONS = {"dreamerv3.gradient_flow": gradient_flow, "dreamerv3.ownership": ownership}
