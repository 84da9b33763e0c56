"""Going on from a checkpoint, perhaps to another end than the run that saved had in mind."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh

from core.config import ConfigError
from core.dreamerv3.checkpoint import CheckpointError, Checkpoints
from core.dreamerv3.devices import place
from core.dreamerv3.replay import ReplayState
from core.dreamerv3.train import RunState
from core.dreamerv3.train_config import TrainConfig


def resume(
    checkpoints: Checkpoints, config: TrainConfig, shape: RunState, mesh: Mesh
) -> tuple[int, RunState]:
    """The newest checkpoint as the state of a run with these steps and this replay.

    The run goes on bit by bit as one that had them from the start.

    Args:
        checkpoints: Which has one.
        config: Of the run that goes on.
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
        ring = fitted(state.learners.replay, config.ring_rows)
    except ValueError as error:
        raise CheckpointError(
            f"the run in {checkpoints.folder} can not go on with this --steps and "
            f"--replay-capacity: {error}"
        ) from error
    state = state._replace(learners=state.learners._replace(replay=ring))
    for found, wanted in zip(jax.tree.leaves(state), jax.tree.leaves(shape), strict=True):
        if found.shape != wanted.shape:
            raise CheckpointError(
                f"{checkpoints.folder} holds arrays of other shapes ({found.shape}, not "
                f"{wanted.shape}): the environment or this program was another version; use that "
                f"one, or another folder"
            )
    return rows, place(state, mesh)


def fitted(state: ReplayState, capacity: int) -> ReplayState:
    """Rings of another size that hold the same rows.

    While nothing has been overwritten, row t of the run lies in slot t whatever the size,
    and the slots beyond are as they were in the beginning.

    Args:
        state: Rings of one seed [n_envs, rows, ...], or of several [seeds, n_envs, rows, ...].
        capacity: Rows per environment.

    Raises:
        ValueError: Rows have been overwritten, or would have been in rings of that size.
    """
    axis = state.rows.reward.ndim - 1
    n_envs, held = state.rows.reward.shape[-2:]
    added = int(np.max(np.asarray(state.added)))
    if held == capacity:
        return state
    if added > held:
        raise ValueError(
            f"its replay of {held:,} rows per environment has overwritten older ones, and this run "
            f"would hold {capacity:,}; choose --replay-capacity {held * n_envs} or another --logdir"
        )
    if added > capacity:
        raise ValueError(
            f"its replay holds {added:,} rows per environment, and this run would have kept only "
            f"{capacity:,} of them; choose --replay-capacity {held * n_envs} or another --logdir"
        )

    def sized(ring: jax.Array) -> jax.Array:
        # On the host: a device may have no room for both.
        rows = np.asarray(ring)[(slice(None),) * axis + (slice(capacity),)]
        room = [(0, 0)] * rows.ndim
        room[axis] = (0, capacity - rows.shape[axis])
        return jnp.asarray(np.pad(rows, room))

    return state._replace(
        rows=jax.tree.map(sized, state.rows), latents=jax.tree.map(sized, state.latents)
    )
