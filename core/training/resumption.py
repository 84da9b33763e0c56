"""Going on from a checkpoint, perhaps to another end than the run that saved had in mind."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh

from core.config import ConfigError
from core.training.checkpoint import CheckpointError, Checkpoints
from core.training.devices import place
from core.training.program import RunState, Train
from core.training.train_config import TrainConfig


def resume(
    checkpoints: Checkpoints, config: TrainConfig, train: Train, shape: RunState, mesh: Mesh
) -> tuple[int, RunState]:
    """The newest checkpoint as the state of a run with these steps and this replay.

    The run goes on bit by bit as one that had them from the start.

    Args:
        checkpoints: Which has one.
        config: Of the run that goes on.
        train: Its functions, of which `fit` is called.
        shape: Shapes, dtypes and shardings of its state.
        mesh: Its devices.

    Returns:
        Rows so far, and the state.

    Raises:
        ConfigError: The checkpoint is beyond the last step of the run.
        CheckpointError: See `Checkpoints.restore`; or its replay has overwritten rows that
            this run would still hold, or holds some that this run would have overwritten.
    """
    rows, state = checkpoints.restore(shape)
    if int(state.tick) > config.ticks:
        raise ConfigError(
            f"the run in {checkpoints.folder.parent} has {rows:,} rows already, more than the "
            f"{config.steps:,} of --steps; choose more to go on, or another --logdir"
        )
    try:
        state = train.fit(state)
    except ValueError as error:
        raise CheckpointError(
            f"the run in {checkpoints.folder} can not go on with this --steps and "
            f"--replay-capacity: {error}"
        ) from error
    for found, wanted in zip(jax.tree.leaves(state), jax.tree.leaves(shape), strict=True):
        if found.shape != wanted.shape:
            raise CheckpointError(
                f"{checkpoints.folder} holds arrays of other shapes ({found.shape}, not "
                f"{wanted.shape}): the environment or this program was another version; use that "
                f"one, or another folder"
            )
    return rows, place(state, mesh)


def resized(ring: jax.Array, axis: int, length: int) -> jax.Array:
    """An array with another length of one axis: cut, or filled up with zeros."""
    # On the host: a device may have no room for both.
    kept = np.asarray(ring)[(slice(None),) * axis + (slice(length),)]
    room = [(0, 0)] * kept.ndim
    room[axis] = (0, length - kept.shape[axis])
    return jnp.asarray(np.pad(kept, room))
