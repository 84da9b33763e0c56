"""Rows, continue targets and rescaled actions as the core makes them."""

from __future__ import annotations

import contextlib
import types
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from core.dreamerv3 import world_model
from core.dreamerv3.config import Config
from core.dreamerv3.rssm import State
from core.dreamerv3.types import Rows
from core.environments import rows as collector
from core.environments.action_bounds import stretched
from core.environments.action_repeat import ActionRepeat
from core.environments.time_limit import TimeLimit
from core.spaces import Continuous
from parity.core_subject.running import quick_jit
from parity.operations import Answer


class Parts(NamedTuple):
    """What rows are made with; a seeded fault replaces a part.

    Attributes:
        init: The first row of an environment.
        current: The row to be acted on.
        advance: The next row.
        stored: Actions as they are stored, from those chosen and `is_last`.
        repeat: The action repeat around an environment.
        limit: The time limit around an environment.
    """

    init: Callable = collector.init
    current: Callable = collector.current
    advance: Callable = collector.advance
    stored: Callable = collector.zero_on_last
    repeat: Callable = ActionRepeat
    limit: Callable = TimeLimit


class ScriptedState(NamedTuple):
    """The number drawn at the reset, and the steps since."""

    start: jax.Array
    step: jax.Array


class Scripted:
    """The environment of `dreamerv3.rows`; observes start, step and the action taken."""

    def __init__(self, length: Any, rewards: Any, size: int):
        self._length, self._rewards = length, rewards
        self.observation_size = 2 + size
        self.action_space = Continuous(size)

    def reset(self, key):
        """Draws where an episode begins."""
        state = ScriptedState(jax.random.randint(key, (), 0, 1 << 24), jnp.int32(0))
        return state, self._observation(state, jnp.zeros(self.action_space.size))

    def step(self, key, state, action):
        """Counts one step."""
        del key
        state = state._replace(step=state.step + 1)
        ended = state.step >= self._length
        observation = self._observation(state, action)
        return state, observation, self._rewards[state.step - 1], ended, jnp.zeros((), bool)

    @staticmethod
    def _observation(state, action):
        # Whole numbers below 2^24 are exact in float32.
        return jnp.concatenate([jnp.stack([state.start, state.step]), action]).astype(jnp.float32)


@cache
def _program(parts: Parts, limit: int, repeat: int) -> Callable:
    """Plays N environments side by side, as the training loop does."""

    def environment(length, rewards, size):
        inner: Any = Scripted(length, rewards, size)
        inner = parts.limit(inner, limit) if limit else inner
        return parts.repeat(inner, repeat) if repeat > 1 else inner

    def play(keys, lengths, rewards, actions):
        size = actions.shape[-1]

        def start(key, length, reward):
            return parts.init(environment(length, reward, size), key)

        def move(length, reward, state, action):
            return parts.advance(environment(length, reward, size), state, action)

        def tick(states, action):
            row = parts.current(states)
            stored = parts.stored(action, row.is_last)
            return jax.vmap(move)(lengths, rewards, states, action), (row, stored)

        return jax.lax.scan(tick, jax.vmap(start)(keys, lengths, rewards), actions)[1]

    return quick_jit(play)


def rows(lengths, rewards, actions, limit, repeat, parts: Parts = Parts()) -> Answer:  # noqa: B008
    """See `dreamerv3.rows`."""
    keys = jax.random.split(jax.random.key(0), len(lengths))
    lengths = jnp.asarray(lengths, jnp.int32)
    row, stored = jax.device_get(
        _program(parts, limit, repeat)(keys, lengths, jnp.asarray(rewards), jnp.asarray(actions))
    )
    return {
        "start": row.observation[..., 0].astype(np.int64),
        "step": row.observation[..., 1].astype(np.int64),
        "taken": row.observation[..., 2:],
        "action": stored,
        "reward": row.reward,
        "is_first": row.is_first,
        "is_last": row.is_last,
        "is_terminal": row.is_terminal,
    }


@contextlib.contextmanager
def _noted(found: list) -> Iterator[None]:
    """Notes the targets of Bernoulli losses."""
    stock = world_model.distributions.bernoulli_loss

    def loss(logits, target):
        found.append(target)
        return stock(logits, target)

    world_model.distributions.bernoulli_loss = loss
    try:
        yield
    finally:
        world_model.distributions.bernoulli_loss = stock


def continue_target(
    is_first, is_last, is_terminal, losses: Callable = world_model.losses
) -> Answer:
    """See `dreamerv3.continue_target`: what the losses of the model ask of the continue head."""
    flags = (is_first, is_last, is_terminal)
    return {"target": np.asarray(quick_jit(partial(_target, losses))(*flags))}


def _target(losses: Callable, *flags: jax.Array) -> jax.Array:
    """The one target, with networks that answer with zeros."""
    shape = flags[0].shape
    config = Config(bins=3, stoch=1, classes=2)

    def head(outputs):
        return types.SimpleNamespace(apply=lambda *a, **kw: jnp.zeros((*shape, outputs)))

    networks: Any = types.SimpleNamespace(dec=head(1), rew=head(3), con=head(1))
    logits = jnp.zeros((*shape, 1, 2))
    state = State(jnp.zeros((*shape, 1)), logits)
    observed = world_model.Observed(jnp.zeros((*shape, 1)), state, logits, logits)
    zeros = jnp.zeros(shape)
    rows = Rows(zeros[..., None], zeros.astype(jnp.int32), zeros, *flags)
    found: list = []
    with _noted(found):
        losses(networks, config, dict.fromkeys(("dec", "rew", "con")), observed, rows)
    (target,) = found
    return target


def environment_action(action, low, high) -> Answer:
    """See `dreamerv3.environment_action`."""
    return {"received": np.array(stretched(jnp.asarray(action), low, high))}


TABLE = {
    "dreamerv3.rows": rows,
    "dreamerv3.continue_target": continue_target,
    "dreamerv3.environment_action": environment_action,
}
