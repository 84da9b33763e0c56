"""CartPole-v1 as gymnax computes it, in numpy and float32, as a stream of rows.

The reference's environment has no JAX of the kind that gymnax needs, so the pole is balanced
here anew: the same equations in the same order of operations, explicit Euler with the velocities
before the step, and the same rules of termination and truncation. All constants are float32
scalars, because numpy 1 computes a float32 scalar with a Python number in float64.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

LIMIT = 500  # steps, after which an episode is cut off

_f32 = np.float32
_ONE = _f32(1.0)
_GRAVITY = _f32(9.8)
_TOTAL_MASS = _f32(1.1)
_POLE_MASS = _f32(0.1)
_HALF_LENGTH = _f32(0.5)
_MASS_TIMES_LENGTH = _f32(0.05)
_FORCE = _f32(10.0)
_TAU = _f32(0.02)  # seconds of one step
_FOUR_THIRDS = _f32(4.0 / 3.0)
_FARTHEST = _f32(2.4)
_STEEPEST = _f32(12 * 2 * np.pi / 360)  # radians

Row = dict[str, Any]


def fallen(state: np.ndarray) -> bool:
    """Whether a state [position, velocity, angle, angular velocity] ends its episode."""
    position, _, angle, _ = state
    return bool(abs(position) > _FARTHEST or abs(angle) > _STEEPEST)


def advance(state: np.ndarray, action: int) -> np.ndarray:
    """The state [4], float32, one step later.

    Args:
        state: [position, velocity, angle, angular velocity], float32.
        action: 0 pushes to the left, 1 to the right.
    """
    position, velocity, angle, spin = state
    push = _FORCE if action else -_FORCE
    cosine, sine = np.cos(angle), np.sin(angle)
    shared = (push + _MASS_TIMES_LENGTH * (spin * spin) * sine) / _TOTAL_MASS
    inertia = _HALF_LENGTH * (_FOUR_THIRDS - _POLE_MASS * (cosine * cosine) / _TOTAL_MASS)
    angular = (_GRAVITY * sine - cosine * shared) / inertia
    linear = shared - _MASS_TIMES_LENGTH * angular * cosine / _TOTAL_MASS
    return np.array(
        [
            position + _TAU * velocity,
            velocity + _TAU * linear,
            angle + _TAU * spin,
            spin + _TAU * angular,
        ],
        np.float32,
    )


class CartPole:
    """One environment, which emits L + 1 rows for an episode of L steps.

    Row 0 shows the state after the reset, and the last row the state in which the episode
    ended; a reset takes a row of its own.

    Args:
        rng: Draws the states after resets.
        ended: Called at the end of every episode with its `row_last` (which row of this
            environment, from 0, was its last), `length`, `score` and `terminal`.
    """

    def __init__(self, rng: np.random.Generator, ended: Callable[[Row], None] | None = None):
        self._rng = rng
        self._ended = ended
        self._row = -1
        self._state: np.ndarray | None = None
        self._time = 0
        self._score = 0.0

    def step(self, action: int, reset: bool) -> Row:
        """The next row.

        Args:
            action: 0 or 1; of no account with `reset`.
            reset: Begin an episode.

        Raises:
            RuntimeError: The episode is over, or none has begun, and there is no reset.
        """
        self._row += 1
        if reset:
            self._begin(self._rng.uniform(-0.05, 0.05, 4).astype(np.float32))
            return self._show(0.0, first=True)
        if self._state is None:
            raise RuntimeError("CartPole was stepped beyond the end of an episode")
        # gymnax rewards the state that the action was taken in, which is never a fallen one.
        reward = _ONE - _f32(fallen(self._state))
        self._state = advance(self._state, action)
        self._time += 1
        self._score += float(reward)
        terminal = fallen(self._state)
        last = terminal or self._time >= LIMIT
        row = self._show(reward, last=last, terminal=terminal)
        if last:
            self._state = None
            if self._ended is not None:
                figures = {"length": self._time, "score": self._score, "terminal": terminal}
                self._ended({"row_last": self._row, **figures})
        return row

    def _begin(self, state: np.ndarray, time: int = 0) -> None:
        self._state, self._time, self._score = state, time, 0.0

    def _show(
        self, reward: Any, *, first: bool = False, last: bool = False, terminal: bool = False
    ) -> Row:
        assert self._state is not None
        flags = {"is_first": first, "is_last": last, "is_terminal": terminal}
        return {"vector": self._state.copy(), "reward": np.float32(reward), **flags}
