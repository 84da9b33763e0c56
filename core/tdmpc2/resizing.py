"""A replay of another size: what a run to another end goes on with (row T26)."""

from __future__ import annotations

from core.tdmpc2.episodes import Episodes
from core.tdmpc2.rings import Rings, places
from core.training.resumption import resized


def fitted(state: Episodes, steps: int, capacity: int) -> Episodes:
    """The same episodes in a replay of another size.

    While nothing has been overwritten, round i lies in place i whatever the size, and the
    places beyond are as they were in the beginning.

    Args:
        state: Of one seed [places, n_envs, ...], or of several [seeds, places, n_envs, ...].
        steps: Of each environment so far.
        capacity: Complete rounds that can be sampled.

    Raises:
        ValueError: Episodes have been overwritten, or would have been in a replay of that size.
    """
    places, n_envs, length = state.reward.shape[-3:]
    if places == capacity + 1:
        return state
    now = f"choose --replay-capacity {(places - 1) * n_envs * length} or another --logdir"
    complete = steps // length
    if complete >= places:
        raise ValueError(
            f"its replay of {places - 1:,} episodes per environment has overwritten older ones, "
            f"and this run would hold {capacity:,}; {now}"
        )
    if complete > capacity:
        raise ValueError(
            f"its replay holds {complete:,} episodes per environment, and this run would have "
            f"kept only {capacity:,} of them; {now}"
        )
    axis = state.reward.ndim - 3
    return Episodes(*(resized(part, axis, capacity + 1) for part in state))


def fitted_rings(state: Rings, added: int, capacity: int, horizon: int) -> Rings:
    """The same rows in rings of another size, as `fitted`.

    Args:
        state: Of one seed [n_envs, rows, ...], or of several [seeds, n_envs, rows, ...].
        added: Rows that each ring has been given.
        capacity: Rows per environment.
        horizon: Steps of a slice.

    Raises:
        ValueError: Rows have been overwritten, or would have been in rings of that size.
    """
    n_envs, held = state.reward.shape[-2:]
    if held == capacity:
        return state
    now = f"choose --replay-capacity {held * n_envs} or another --logdir"
    if added > held:
        raise ValueError(
            f"its replay of {held:,} rows per environment has overwritten older ones, and this "
            f"run would hold {capacity:,}; {now}"
        )
    if added > capacity:
        raise ValueError(
            f"its replay holds {added:,} rows per environment, and this run would have kept only "
            f"{capacity:,} of them; {now}"
        )
    axis, size = state.reward.ndim - 1, places(capacity, horizon)
    listed = state.listed._replace(
        first=resized(state.listed.first, axis, size), last=resized(state.listed.last, axis, size)
    )
    observation, action, reward, terminated = (resized(p, axis, capacity) for p in state[:-1])
    return Rings(observation, action, reward, terminated, listed)
