"""What is put to both sides: sizes, a batch, and the random draws.

The batch is made to meet what an implementation may get wrong: sequences that begin in the
middle of an episode and such that begin one, ends and resets inside a sequence, ends that
are terminal and ends that are not, a sequence of nothing but terminal rows, actions beyond
[−1, 1], and as many sequences as rows only if one asks for that.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

import numpy as np

from core.dreamerv3.config import Config
from core.dreamerv3.types import ActionSpace, Continuous, Discrete
from parity.trace.quantity import Arrays, Dtype

SIZES = ("tiny", "1m", "12m")

# Sequences and rows of a sequence. B and T differ so that swapped axes are seen.
_BATCHES = {"tiny": (4, 7), "1m": (16, 64), "12m": (4, 16)}
_TINY = Config(units=16, hidden=12, deter=32, stoch=5, classes=4, blocks=4, imag_horizon=6, bins=63)
# CartPole at 1m, the walker at 12m; three actions tell a transposition from a reversal.
_OBSERVATIONS = {"tiny": 4, "1m": 4, "12m": 24}
_ACTIONS = {
    ("tiny", "discrete"): Discrete(3),
    ("tiny", "continuous"): Continuous(2),
    ("1m", "discrete"): Discrete(2),
    ("1m", "continuous"): Continuous(1),
    ("12m", "discrete"): Discrete(6),
    ("12m", "continuous"): Continuous(6),
}

# How clear a categorical draw must be: well above what rounding moves a logit by.
MARGINS = {"float32": 1e-2, "bfloat16": 0.5}


@dataclasses.dataclass(frozen=True)
class Problem:
    """One configuration, and the shape of its batches.

    Attributes:
        config: The core's configuration; beyond widths, horizon and bins it is the default,
            which must be the reference's.
        observation_size: Length of an observation.
        actions: The action space.
        batch: Sequences.
        length: Rows of each.
        seed: Of the batches and the draws.
    """

    config: Config
    observation_size: int
    actions: ActionSpace
    batch: int
    length: int
    seed: int = 0

    @property
    def kind(self) -> Literal["discrete", "continuous"]:
        """Of the actions."""
        return "discrete" if isinstance(self.actions, Discrete) else "continuous"

    @property
    def dtype(self) -> str:
        """The compute dtype of both sides."""
        return self.config.compute_dtype

    def reference_settings(self, dtype: str) -> dict[str, Any]:
        """What the reference's worker builds its agent from.

        Args:
            dtype: float32, bfloat16, or float64 for the run that the others are held against.
        """
        c = self.config
        size = self.actions.n if isinstance(self.actions, Discrete) else self.actions.size
        return {
            "overrides": {
                "jax.platform": "cpu",
                "dyn.rssm.deter": c.deter,
                "dyn.rssm.hidden": c.hidden,
                "dyn.rssm.stoch": c.stoch,
                "dyn.rssm.classes": c.classes,
                "dyn.rssm.blocks": c.blocks,
                r".*\.units": c.units,
                "imag_length": c.imag_horizon,
                r"(rewhead|critic)\.bins": c.bins,
            },
            "spaces": {
                "observation_size": self.observation_size,
                "kind": self.kind,
                "actions": size,
            },
            "batch": self.batch,
            "length": self.length,
            "dtype": dtype,
        }


def make_problem(
    size: str,
    kind: Literal["discrete", "continuous"],
    *,
    dtype: Dtype = "float32",
    batch: int | None = None,
    length: int | None = None,
    seed: int = 0,
) -> Problem:
    """The problem of a size.

    Args:
        size: tiny, 1m or 12m.
        kind: Of the actions.
        dtype: The compute dtype.
        batch: Sequences; the size has a default.
        length: Rows of each, at least 2; likewise.
        seed: Of the batches and the draws.
    """
    small = _TINY if size == "tiny" else Config.of_size(size)
    default_batch, default_length = _BATCHES[size]
    return Problem(
        small.replace(compute_dtype=dtype),
        _OBSERVATIONS[size],
        _ACTIONS[size, kind],
        batch or default_batch,
        length or default_length,
        seed,
    )


def make_rows(problem: Problem, step: int) -> Arrays:
    """One batch, [batch, length + 1, ...] by column; row 0 of each sequence is the context.

    The columns are the reference's: vector, action, reward, is_first, is_last, is_terminal,
    stepid, and deter and stoch, the latent state that replay keeps of each row. Every number
    comes from integers by exact arithmetic, so it is the same on every machine.
    """
    rng = np.random.default_rng([problem.seed, step])
    c, shape = problem.config, (problem.batch, problem.length + 1)
    ends = rng.random(shape) < 2.0 / problem.length
    ends[0, 0] = False  # this sequence goes on from its context
    if problem.batch > 1:
        ends[1, 0] = True  # this one begins an episode
    is_last = ends
    is_first = np.zeros(shape, bool)
    is_first[:, 1:] = is_last[:, :-1]
    is_terminal = is_last & (rng.random(shape) < 0.6)
    if problem.batch > 2:
        is_first[2] = is_last[2] = is_terminal[2] = True
    if isinstance(problem.actions, Discrete):
        action = rng.integers(0, problem.actions.n, shape).astype(np.int32)
        action[is_last] = 0
    else:
        action = rng.uniform(-1.5, 1.5, (*shape, problem.actions.size)).astype(np.float32)
        action[is_last] = 0
    reward = np.where(is_first, 0.0, rng.uniform(-3.0, 4.0, shape)).astype(np.float32)
    return {
        "vector": rng.uniform(-6, 6, (*shape, problem.observation_size)).astype(np.float32),
        "action": action,
        "reward": reward,
        "is_first": is_first,
        "is_last": is_last,
        "is_terminal": is_terminal,
        "stepid": np.zeros((*shape, 20), np.uint8),
        "deter": rng.uniform(-1, 1, (*shape, c.deter)).astype(np.float32),
        "stoch": rng.integers(0, c.classes, (*shape, c.stoch)).astype(np.int32),
    }


def make_noise(problem: Problem, step: int) -> Arrays:
    """The draws of one update: posterior, prior and action, laid out as `TrainNoise`."""
    rng = np.random.default_rng([problem.seed, step, 1])
    c, n = problem.config, problem.batch * problem.length
    if isinstance(problem.actions, Discrete):
        action = rng.gumbel(size=(c.imag_horizon + 1, n, problem.actions.n))
    else:
        action = rng.normal(size=(c.imag_horizon + 1, n, problem.actions.size))
    noise = {
        "posterior": rng.gumbel(size=(problem.length, problem.batch, c.stoch, c.classes)),
        "prior": rng.gumbel(size=(c.imag_horizon, n, c.stoch, c.classes)),
        "action": action,
    }
    return {name: array.astype(np.float32) for name, array in noise.items()}
