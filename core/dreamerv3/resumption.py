"""Rings of another size: what a run to another end goes on with."""

from __future__ import annotations

import jax
import numpy as np

from core.dreamerv3.replay import ReplayState
from core.training.resumption import resized


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
        return resized(ring, axis, capacity)

    return state._replace(
        rows=jax.tree.map(sized, state.rows), latents=jax.tree.map(sized, state.latents)
    )
