"""Seeds on several devices: each device runs the program for its share of the seeds.

Seeds have nothing to say to each other, so nothing is exchanged. On a CPU the devices are
parts of the host (`--xla_force_host_platform_device_count`): two programs with a core each
get more done than one program that shares out every product over both.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import jax
import jax.numpy as jnp
import psutil
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from core.config import ConfigError
from core.training.program import RunState, Train

_TOGETHER, _APART = PartitionSpec(), PartitionSpec("seeds")
_STATE = RunState(tick=_TOGETHER, learners=_APART)  # type: ignore[arg-type]


def seed_mesh(seeds: int, count: int) -> Mesh:
    """The first `count` devices, for so many seeds.

    Raises:
        ConfigError: There are fewer devices, or the seeds can not be shared out evenly.
    """
    available = jax.devices()
    if count < 1 or seeds % count:
        raise ConfigError(
            f"{seeds} seeds can not be shared out evenly over {count} devices; choose a number "
            f"of devices that divides the number of seeds"
        )
    if count > len(available):
        raise ConfigError(
            f"there are {len(available)} devices, not {count}; on a CPU, set XLA_FLAGS="
            f"--xla_force_host_platform_device_count={count} before jax is imported"
        )
    return Mesh(available[:count], ("seeds",))


def spread(train: Train, mesh: Mesh) -> Train:
    """The functions of a run, with the seeds spread over the devices of a mesh.

    Raises:
        ConfigError: How much a seed learns in a tick depends on the seed.
    """
    if mesh.size == 1:
        return train
    if not train.shareable:
        raise ConfigError(
            "the seeds of an episodic run learn in different ticks and stay together; choose "
            "--devices 1, or a run for each seed"
        )

    def shared(function: Any, takes: Any, gives: Any) -> Any:
        return jax.shard_map(function, mesh=mesh, in_specs=takes, out_specs=gives, check_vma=False)

    together = (_TOGETHER,) * (1 + len(train.constants))
    return dataclasses.replace(
        train,
        init=shared(train.init, (_APART,), _STATE),
        chunk=shared(train.chunk, (_STATE, *together), (_STATE, _APART)),
        evaluate=shared(train.evaluate, (_STATE,), _APART),
        constants=jax.device_put(train.constants, NamedSharding(mesh, _TOGETHER)),
    )


def place(state: Any, mesh: Mesh) -> Any:
    """A state, or its shapes, on the devices that it belongs to."""
    if mesh.size == 1:
        return state

    def put(leaf: Any, spec: PartitionSpec) -> Any:
        sharding = NamedSharding(mesh, spec)
        if isinstance(leaf, jax.ShapeDtypeStruct):
            return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=sharding)
        return jax.device_put(leaf, sharding)

    return RunState(
        put(state.tick, _TOGETHER),
        jax.tree.map(lambda leaf: put(leaf, _APART), state.learners),
    )


def check_memory(state: Any, mesh: Mesh) -> None:
    """Refuses a state that alone is larger than the memory for it.

    Args:
        state: Its shapes and dtypes.
        mesh: Its devices.

    Raises:
        ConfigError: It is. A state that fits may still leave too little for the updates.
    """
    needed = sum(math.prod(leaf.shape) * _itemsize(leaf) for leaf in jax.tree.leaves(state))
    device = mesh.devices.flat[0]
    if device.platform == "cpu":
        there = psutil.virtual_memory().total
    else:
        there = mesh.size * (device.memory_stats() or {}).get("bytes_limit", needed)
    if needed > there:
        raise ConfigError(
            f"the state of the run takes {needed / 1e9:,.1f} GB and the memory has "
            f"{there / 1e9:,.1f} GB; choose a smaller --size, --replay-capacity or number of seeds"
        )


def _itemsize(leaf: Any) -> int:
    # jax's default keys are two words.
    return 8 if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key) else leaf.dtype.itemsize
