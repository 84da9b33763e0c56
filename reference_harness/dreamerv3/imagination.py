"""Imagination in danijar/dreamerv3, paper era, and what its training step does around it.

Runs inside the side environment. Imagination stands in the middle of the agent's loss, so
that loss is called, with the networks that have no part in imagination replaced by
constants; see `imagine`.
"""

from __future__ import annotations

import contextlib
import functools

import jax
import jax.numpy as jnp
import numpy as np
from dreamerv3 import jaxutils
from dreamerv3 import ninjax as nj

from reference_harness.dreamerv3 import given
from reference_harness.dreamerv3.agent import SEED, precision, replaced


class _Constant:
    """A head, and the distribution it returns: one mean, and no loss."""

    def __init__(self, value):
        self._value = value

    def __call__(self, inputs, *args, **kwargs):
        del args, kwargs
        self._shape = inputs["deter"].shape[:-1]
        return self

    def mean(self):
        return jnp.full(self._shape, self._value, jnp.float32)

    def log_prob(self, value):
        del value
        return jnp.zeros(self._shape, jnp.float32)


class _Scored:
    """A distribution that keeps what it is asked the log-probability of."""

    def __init__(self, inner, keep):
        self._inner, self._keep = inner, keep

    def __getattr__(self, name):
        return getattr(self._inner, name)

    def log_prob(self, value):
        self._keep["actions"] = value
        return self._inner.log_prob(value)


# With these, a reward of 1, a continuation of 1 and a value of 0 everywhere, every advantage
# and every weight is exactly 1: the actor's loss is minus the log-probability of an action.
_SCORING = {"return_lambda": 0.0, "actent": 0.0, "replay_critic_loss": False}


def imagine(deter, stoch, prior_noise, action_noise, **parameters):
    state, _ = given.split_parameters(parameters)
    overrides = {**given.widths({**parameters, "stoch": stoch}), **_SCORING}
    overrides["imag_length"] = len(prior_noise)
    agent = given.agent(overrides, 1, action_noise.shape[-1])
    rows = len(deter)

    def loss(start):
        kept = {}
        replayed = {name: value[:, None] for name, value in start.items()}
        replayed["logit"] = jnp.zeros_like(replayed["stoch"])

        def rewards(inputs, dist):
            kept.update(inputs)  # the last call is that on the imagined states
            return dist

        def policy(inputs, dists):
            if inputs["deter"].ndim == 2:
                return dists
            return {name: _Scored(dist, kept) for name, dist in dists.items()}

        zeros, no = jnp.zeros((rows, 1), jnp.float32), jnp.zeros((rows, 1), bool)
        data = {
            **{"reward": zeros, "cont": zeros, "action": zeros.astype(jnp.int32)},
            **{"is_first": no, "is_last": no, "is_terminal": no},
        }
        value = _Constant(0.0)
        with replaced(
            (agent, "enc", lambda data: zeros),
            (agent, "dec", lambda outs: {}),
            (agent, "rew", given.Reading(_Constant(1.0), rewards)),
            (agent, "con", _Constant(1.0)),
            (agent, "critic", value),
            (agent, "slowcritic", value),
            (agent, "actor", given.Reading(agent.actor, policy)),
            (agent, "retnorm", lambda returns, update: (0.0, 1.0)),
            (agent.dyn, "observe", lambda *args: (start, replayed)),
            (jaxutils, "balance_stats", lambda *args: {}),
        ):
            _, (outs, _, _) = agent.loss(data, (start, {"action": jnp.zeros(rows, jnp.int32)}))
        return kept, outs["actor_loss"]

    draws = given.Draws(now=(action_noise[0],), scans=[(prior_noise, action_noise[1:])])
    kept, actor_loss = given.call(loss, state, {"deter": deter, "stoch": stoch}, draws=draws)
    return {
        "deters": kept["deter"].swapaxes(0, 1).copy(),
        "classes": np.argmax(kept["stoch"], -1).swapaxes(0, 1).astype(np.int64),
        "actions": np.argmax(kept["actions"], -1).swapaxes(0, 1).astype(np.int64),
        "scores": -actor_loss.T.copy(),
    }


_TINY = {
    "dyn.rssm.deter": 8,
    "dyn.rssm.hidden": 4,
    "dyn.rssm.stoch": 3,
    "dyn.rssm.classes": 4,
    "dyn.rssm.blocks": 2,
    r".*\.units": 4,
}


class _SeenError(Exception):
    """Ends a computation of which nothing more is wanted."""


def previous_actions(context_action, action, actions):
    agent = given.agent(_TINY, 1, actions)
    batch, length = action.shape
    seen = {}

    def observe(carry, action, embed, reset):
        del carry, embed, reset
        seen.update(action)
        raise _SeenError

    def loss(data, context):
        with replaced((agent, "enc", lambda data: None), (agent.dyn, "observe", observe)):
            agent.loss(data, (None, {"action": context}))

    data = {"action": jnp.asarray(action), "is_first": jnp.zeros((batch, length), bool)}
    with contextlib.suppress(_SeenError):
        nj.pure(loss)({}, data, jnp.asarray(context_action), seed=SEED)
    return {"vectors": np.asarray(seen["action"])}


def imagined_counts(batch, length):
    agent = given.agent(_TINY, 1, 2)
    seen = {}

    def read(inputs, dist):
        seen.update(inputs)  # the last call is that on the imagined states
        return dist

    def loss(data):
        carry = agent.init_train(batch)
        with replaced((agent, "rew", given.Reading(agent.rew, read))):
            _, (outs, _, _) = agent.loss(data, carry)
        return seen["deter"], outs["actor_loss"]

    zeros = jnp.zeros((batch, length), jnp.float32)
    data = {
        **{"vector": zeros[..., None], "reward": zeros, "cont": zeros},
        **dict.fromkeys(("is_first", "is_last", "is_terminal"), zeros > 0),
        "action": zeros.astype(jnp.int32),
    }
    with precision("float32"):
        fresh = functools.partial(nj.pure(loss), {}, seed=SEED, create=True)
        _, (states, scored) = jax.eval_shape(fresh, data)
    counts = (states.shape[0], states.shape[1], scored.shape[1])
    names = ("trajectories", "states", "scored")
    return {name: np.asarray(n, np.int64) for name, n in zip(names, counts, strict=True)}


OPERATIONS = {
    "dreamerv3.imagine": imagine,
    "dreamerv3.previous_actions": previous_actions,
    "dreamerv3.imagined_counts": imagined_counts,
}
