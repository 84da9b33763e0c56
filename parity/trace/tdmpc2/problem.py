"""What is put to both sides: sizes, a batch, an observation to plan from, and all draws."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from core.tdmpc2.config import ERAS, Config
from core.tdmpc2.noise import DRAWN
from core.tdmpc2.tasks import Tasks
from parity.trace.quantity import Arrays

SIZES = ("tiny", "1", "5")
EPISODIC_PINS = ("eece801", "e9f5932")  # those that know episodes that end by themselves

_TINY = {
    "enc_dim": 8,
    "mlp_dim": 10,
    "latent_dim": 12,
    "simnorm_dim": 4,
    "num_q": 3,
    "bins": 9,
    "vmax": 5.0,
    "dropout": 0.2,
    "batch_size": 5,
    "num_samples": 20,
    "num_elites": 6,
    "num_pi_trajs": 4,
    "iterations": 2,
}
# The walker; a third task with fewer observations and actions where there are several.
_OBSERVATION, _ACTIONS, _EPISODE = 24, 6, 500
_TINY_OBSERVATION, _TINY_ACTIONS = 9, 3
_TASK_DIM = {"tiny": 3}

# The core's key for each of the reference's that decides a width.
_KEYS = {
    "enc_dim": "enc_dim",
    "mlp_dim": "mlp_dim",
    "latent_dim": "latent_dim",
    "num_enc_layers": "enc_layers",
    "simnorm_dim": "simnorm_dim",
    "num_q": "num_q",
    "num_bins": "bins",
    "vmax": "vmax",
    "dropout": "dropout",
    "horizon": "horizon",
    "batch_size": "batch_size",
    "num_samples": "num_samples",
    "num_elites": "num_elites",
    "num_pi_trajs": "num_pi_trajs",
    "iterations": "iterations",
}


@dataclasses.dataclass(frozen=True)
class Problem:
    """One configuration at one pin.

    Attributes:
        config: The core's, of the pin's era.
        observation_size: Length of an observation.
        action_size: Length of an action.
        episode_length: Steps of an episode.
        tasks: Where there are several.
        terminations: Whether episodes may end by themselves, which the paper's era knows not.
        seed: Of batches and draws.
    """

    config: Config
    observation_size: int
    action_size: int
    episode_length: int
    tasks: Tasks | None = None
    terminations: bool = False
    seed: int = 0

    def reference_settings(self, dtype: str) -> dict[str, Any]:
        """What the reference's worker builds its agent from.

        Args:
            dtype: float32, or float64 for the run that the others are held against.
        """
        overrides: dict[str, Any] = {
            theirs: getattr(self.config, ours) for theirs, ours in _KEYS.items()
        }
        overrides["vmin"] = -self.config.vmax
        overrides["bin_size"] = 2 * self.config.vmax / (self.config.bins - 1)
        overrides["episode_length"] = self.episode_length
        if self.config.episodic:
            overrides["episodic"] = True
        if self.tasks is not None:
            overrides |= {
                "multitask": True,
                "tasks": list(self.tasks.names),
                "task_dim": self.config.task_dim,
                "action_dims": list(self.tasks.action_sizes),
                "episode_lengths": list(self.tasks.episode_lengths),
            }
        return {
            "overrides": overrides,
            "observation_size": self.observation_size,
            "action_size": self.action_size,
            "dtype": dtype,
        }


def make_problem(
    pin: str,
    size: str = "tiny",
    *,
    multitask: bool = False,
    episodic: bool = False,
    batch: int | None = None,
    seed: int = 0,
) -> Problem:
    """The problem of a size.

    Args:
        pin: Short hash of the commit, which decides the era.
        size: tiny, 1 or 5.
        multitask: Three tasks instead of one.
        episodic: One task in the episodic mode, whose agent predicts ends of episodes.
        batch: Sequences; the size has a default.
        seed: Of batches and draws.
    """
    base = Config(**_TINY) if size == "tiny" else Config.of_size(int(size))
    config = base.replace(**ERAS[pin], episodic=episodic)
    if batch:
        config = config.replace(batch_size=batch)
    if size in _TASK_DIM:
        config = config.replace(task_dim=_TASK_DIM[size])
    observation, actions = (
        (_TINY_OBSERVATION, _TINY_ACTIONS) if size == "tiny" else (_OBSERVATION, _ACTIONS)
    )
    tasks = None
    if multitask:
        tasks = Tasks(
            ("one", "two", "three"),
            (observation, observation - 4, observation - 1),
            (actions, actions, actions - 2),
            (_EPISODE, 50, 250),
        )
    later = pin in EPISODIC_PINS
    return Problem(config, observation, actions, _EPISODE, tasks, later, seed)


def make_batch(problem: Problem, step: int) -> Arrays:
    """One batch of sequences, and of several tasks' padded with zeros.

    Every number comes from integers by exact arithmetic, so it is the same on every machine.
    """
    rng = np.random.default_rng([problem.seed, step])
    c = problem.config
    H, B = c.horizon, c.batch_size
    found = {
        "observation": rng.uniform(-2, 2, (H + 1, B, problem.observation_size)),
        "action": rng.uniform(-1, 1, (H, B, problem.action_size)),
        "reward": rng.uniform(-2, 3, (H, B)),
        "terminated": (rng.random((H, B)) < 0.2) * float(problem.terminations),
    }
    if problem.tasks is not None:
        # The last task is in no sequence: nothing may happen to what is not read.
        task = rng.integers(0, len(problem.tasks) - 1, B)
        sizes = np.asarray(problem.tasks.observation_sizes)[task]
        found["observation"] *= np.arange(problem.observation_size) < sizes[:, None]
        found["action"] *= problem.tasks.masks[task]
        return {k: v.astype(np.float32) for k, v in found.items()} | {"task": task}
    return {name: array.astype(np.float32) for name, array in found.items()}


def make_plan_inputs(problem: Problem, step: int) -> dict[str, Any]:
    """An observation in the middle of an episode, the plan before, and the task."""
    rng = np.random.default_rng([problem.seed, step, 1])
    observation = rng.uniform(-2, 2, problem.observation_size)
    previous = rng.uniform(-0.8, 0.8, (problem.config.horizon, problem.action_size))
    task = None
    if problem.tasks is not None:
        task = len(problem.tasks) - 1  # the one with the fewest actions
        observation *= np.arange(len(observation)) < problem.tasks.observation_sizes[task]
        previous *= problem.tasks.masks[task]
    return {
        "observation": observation.astype(np.float32),
        "previous": previous.astype(np.float32),
        "task": task,
    }


def make_update_noise(problem: Problem, step: int) -> Arrays:
    """The draws of one update, as fields of `UpdateNoise`; masks that are None are left out."""
    rng = np.random.default_rng([problem.seed, step, 2])
    c, A = problem.config, problem.action_size
    steps, latents = (c.horizon, c.batch_size), (c.horizon + 1, c.batch_size)
    found = {
        "target_action": _normal(rng, (*steps, A)),
        "target_q": _two(rng, c.num_q),
        "q_keep": _keep(rng, c, (c.num_q, *steps)),
        "policy_action": _normal(rng, (*latents, A)),
        "policy_q": _two(rng, c.num_q),
        "policy_keep": _keep(rng, c, (DRAWN, *latents)),
    }
    if c.q_dropout == "always":
        found["target_keep"] = _keep(rng, c, (DRAWN, *steps))
    return found


def make_plan_noise(problem: Problem, step: int) -> Arrays:
    """The draws of one plan, as fields of `PlanNoise`; a mask that is None is left out."""
    rng = np.random.default_rng([problem.seed, step, 3])
    c, A = problem.config, problem.action_size
    n = c.planner_iterations(A)
    found = {
        "policy_action": _normal(rng, (c.horizon, c.num_pi_trajs, A)),
        "samples": _normal(rng, (n, c.horizon, c.num_samples - c.num_pi_trajs, A)),
        "value_action": _normal(rng, (n, c.num_samples, A)),
        "q": np.stack([_two(rng, c.num_q) for _ in range(n)]),
        "elite": rng.gumbel(size=c.num_elites).astype(np.float32),
        "action": _normal(rng, (A,)),
    }
    if c.q_dropout == "always":
        found["q_keep"] = _keep(rng, c, (n, DRAWN, c.num_samples))
    return found


def _normal(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return rng.standard_normal(shape, np.float32)


def _two(rng: np.random.Generator, count: int) -> np.ndarray:
    return rng.permutation(count)[:DRAWN].astype(np.int32)


def _keep(rng: np.random.Generator, config: Config, shape: tuple[int, ...]) -> np.ndarray:
    return rng.random((*shape, config.mlp_dim)) >= config.dropout
