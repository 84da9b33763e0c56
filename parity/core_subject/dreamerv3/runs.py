"""How the core's training loop counts, and how it goes on from a checkpoint."""

from __future__ import annotations

import contextlib
import hashlib
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from core.dreamerv3 import train
from core.dreamerv3.config import Config
from core.dreamerv3.train import make_train
from core.dreamerv3.train_config import TrainConfig
from core.training.program import RunState, Train
from parity.core_subject.dreamerv3.rows import Scripted
from parity.core_subject.dreamerv3.stand_in import Counting, StandIn
from parity.core_subject.running import quick_jit
from parity.implementations import NotHereError
from parity.operations import Answer

TINY = {"deter": 3, "stoch": 2, "classes": 4, "blocks": 1, "warmup": 3, "learning_rate": 0.03}


@contextlib.contextmanager
def _in_place_of_the_agent(stand_in: type[StandIn]) -> Iterator[None]:
    stock = train.Agent
    train.Agent = stand_in  # type: ignore[misc]
    try:
        yield
    finally:
        train.Agent = stock


def _functions(config: TrainConfig, stand_in: type[StandIn]) -> Train:
    """The core's training loop, with a stand-in for the agent's networks."""
    rewards = jnp.asarray([1.0, -0.5, 0.25, 2.0, 0.0, -1.0])
    with _in_place_of_the_agent(stand_in):
        return make_train(config, Scripted(5, rewards, 1))


def _keys(seed: int) -> jax.Array:
    return jax.vmap(jax.random.key)(np.asarray([seed], np.uint32))


def trained_updates(
    envs, batch, length, train_ratio, ticks, make: Callable[..., TrainConfig] = TrainConfig
) -> Answer:
    """See `dreamerv3.trained_updates`."""
    agent = Config(batch_size=batch, batch_length=length, train_ratio=train_ratio, **TINY)
    return {"updates": _counted(make(agent, steps=ticks * envs, n_envs=envs)).copy()}


@cache  # several claims ask the same, and compiling the loop takes seconds
def _counted(config: TrainConfig) -> np.ndarray:
    functions = _functions(config, Counting)

    def tick(state, _):
        state, _ = functions.chunk(state, jnp.int32(1))
        return state, state.learners.train.updates[0]

    def count(keys):
        return jax.lax.scan(tick, functions.init(keys), length=config.ticks)[1]

    return np.asarray(quick_jit(count, level=1)(_keys(0)), np.int64)


@cache
def _resumable() -> tuple[Train, Callable, Callable]:
    agent = Config(batch_size=3, batch_length=4, train_ratio=12.0, **TINY)
    functions = _functions(TrainConfig(agent, steps=120, n_envs=2, replay_capacity=40), StandIn)
    init = quick_jit(functions.init)
    # From shapes, as the core's own runs do it, so that one program serves what is restored.
    shape = jax.eval_shape(functions.init, _keys(0))
    return functions, init, quick_jit(functions.chunk).lower(shape, jnp.int32(1)).compile()


def fresh(seed: int) -> RunState:
    """The state of a resumable run before its first tick."""
    return _resumable()[1](_keys(seed))


def resumed_run(
    seed, ticks, interrupted_at, forget: Callable[[RunState, int], RunState] | None = None
) -> Answer:
    """See `dreamerv3.resumed_run`.

    Args:
        seed: See there.
        ticks: See there.
        interrupted_at: See there.
        forget: For seeded faults: from what was restored, and the seed, to what is gone on with.
    """
    functions, init, chunk = _resumable()
    state, ran = init(_keys(seed)), 0
    if interrupted_at:
        state, _ = chunk(state, jnp.int32(interrupted_at))
        state, ran = _restored(state, jax.eval_shape(functions.init, _keys(seed))), interrupted_at
        state = forget(state, seed) if forget else state
    state, _ = chunk(state, jnp.int32(ticks - ran))
    return {
        name: np.frombuffer(_digest(part), np.uint8) for name, part in _components(state).items()
    }


def repeated_run(seed, ticks, platform, key: Callable[[int], jax.Array] = _keys) -> Answer:
    """See `dreamerv3.repeated_run`."""
    try:
        (device, *_) = jax.devices(platform)
    except RuntimeError:
        raise NotHereError(f"there is no {platform.upper()} here") from None
    with jax.default_device(device), _compiled_anew():
        _, init, chunk = _resumable.__wrapped__()
        state, _ = chunk(init(key(seed)), jnp.int32(ticks))
        return {
            name: np.frombuffer(_digest(part), np.uint8)
            for name, part in _components(state).items()
        }


@contextlib.contextmanager
def _compiled_anew() -> Iterator[None]:
    """Without programs that were kept on disk."""
    kept = jax.config.jax_enable_compilation_cache  # type: ignore[attr-defined]
    jax.config.update("jax_enable_compilation_cache", False)
    try:
        yield
    finally:
        jax.config.update("jax_enable_compilation_cache", kept)


def _restored(state: RunState, like: Any) -> RunState:
    """The state by way of a checkpoint on disk, read as another process reads it."""
    from core.training.checkpoint import Checkpoints

    identity = {"run": "resumed"}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "checkpoints"
        Checkpoints(path, identity).save(1, state)
        return Checkpoints(path, identity).restore(like)[1]


def _components(state: RunState) -> dict[str, Any]:
    """The state, by the names of `dreamerv3.resumed_run`."""
    learner = state.learners
    model, replay, environments = learner.train, learner.replay, learner.environments
    return {
        "parameters": model.params,
        "slow_critic": model.slow_critic,
        "optimiser": model.opt_state,
        "normaliser": model.normaliser,
        "environments": (environments.simulation, environments.row),
        "carry": learner.carry,
        "rows": replay.rows,
        "latents": replay.latents,
        "counters": (state.tick, replay.added, replay.dequeued, model.updates, learner.fault),
        "keys": (learner.key, environments.key),
        "metrics": (learner.episodes, learner.sums),
    }


def _digest(tree: Any) -> bytes:
    digest = hashlib.sha256()
    for leaf in jax.tree.leaves(tree):
        if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            leaf = jax.random.key_data(leaf)
        array = np.ascontiguousarray(leaf)
        digest.update(f"{array.dtype}{array.shape}".encode() + array.tobytes())
    return digest.digest()


TABLE = {
    "dreamerv3.trained_updates": trained_updates,
    "dreamerv3.resumed_run": resumed_run,
    "dreamerv3.repeated_run": repeated_run,
}
