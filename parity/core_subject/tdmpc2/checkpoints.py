"""What the core finds again in a checkpoint of a run."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from core.environments import make_environment
from core.tdmpc2.train import make_train
from core.tdmpc2.train_config import TrainConfig
from core.training.checkpoint import Checkpoints
from core.training.program import RunState
from parity.core_subject.running import quick_jit
from parity.core_subject.tdmpc2 import stage
from parity.operations import Answer

_SMALL = {
    **{"enc_dim": 4, "mlp_dim": 4, "latent_dim": 8, "num_q": 2, "bins": 5, "batch_size": 2},
    **{"num_samples": 4, "num_elites": 2, "num_pi_trajs": 1, "iterations": 1},
}


def _learned(leaf: jax.Array, rng: np.random.Generator) -> jax.Array:
    """Numbers as after some updates, in place of initial ones."""
    if not jnp.issubdtype(leaf.dtype, jnp.number):
        return leaf
    return leaf + jnp.asarray(rng.integers(1, 9, leaf.shape), leaf.dtype)


def _components(state: RunState) -> dict[str, list[np.ndarray]]:
    train = state.learners.train
    parts: dict[str, Any] = {
        "networks": train.params,
        "target_q": train.target_q,
        "model_optimizer": train.model_optimizer,
        "policy_optimizer": train.policy_optimizer,
        "scale": train.scale,
        "rest": state._replace(learners=state.learners._replace(train=train.updates)),
    }
    return {name: [_numbers(x) for x in jax.tree.leaves(part)] for name, part in parts.items()}


def _numbers(leaf: jax.Array) -> np.ndarray:
    keys = jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
    return np.asarray(jax.random.key_data(leaf) if keys else leaf)


def _same(one: list[np.ndarray], other: list[np.ndarray]) -> bool:
    return len(one) == len(other) and all(map(np.array_equal, one, other))


def restored_components(seed: int) -> Answer:
    """See `tdmpc2.restored_components`."""
    config = TrainConfig(stage.config(**_SMALL), steps=400, replay_capacity=400)
    init = quick_jit(make_train(config, make_environment("Pendulum-v1")).init)
    first, second = (
        init(jax.vmap(jax.random.key)(np.asarray([s], np.uint32))) for s in (seed, seed + 1)
    )
    rng = np.random.default_rng(seed)
    first = jax.tree.map(lambda leaf: _learned(leaf, rng), first)
    identity = {"run": "restored"}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "checkpoints"
        Checkpoints(path, identity).save(1, first)
        _, found = Checkpoints(path, identity).restore(second)
    wanted, before, after = map(_components, (first, second, found))
    answer: dict[str, int] = {name: _same(wanted[name], after[name]) for name in wanted}
    answer["before"] = sum(_same(wanted[name], before[name]) for name in wanted)
    return {name: np.asarray(value, np.int64) for name, value in answer.items()}


TABLE = {"tdmpc2.restored_components": restored_components}
