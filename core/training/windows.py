"""What a run adds up between two log lines, on the device.

Everything is part of the run's state and cut at fixed ticks of the run, so the numbers do
not depend on how the run was divided into chunks, nor on whether it was interrupted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

RECENT = 10
Values = TypeVar("Values")


class Episodes(NamedTuple):
    """Returns of the training episodes of every environment.

    Attributes:
        score: Return so far of the episode that is running.
        length: Its steps so far.
        recent: Returns of the last ten finished episodes, a ring.
        finished: Episodes finished since the run began.
        window_score: Sum of the returns of the episodes that finished in this window.
        window_length: Likewise of their lengths.
        window_finished: How many those are.
    """

    score: Float[Array, " n_envs"]
    length: Int[Array, " n_envs"]
    recent: Float[Array, "n_envs recent"]
    finished: Int[Array, " n_envs"]
    window_score: Float[Array, ""]
    window_length: Int[Array, ""]
    window_finished: Int[Array, ""]


class Sums(NamedTuple):
    """Sums of the metrics of the updates of this window.

    Attributes:
        updates: How many there were.
        totals: In float32, so a thousand values near ln 2 would come out 1e-5 too large.
        excess: By how much rounding has made each total too large, to set that right.
    """

    updates: Int[Array, ""]
    totals: dict[str, Float[Array, ""]]
    excess: dict[str, Float[Array, ""]]


class Fault(NamedTuple):
    """The first loss term that was not finite.

    Attributes:
        update: The update, counted from 1; 0 while all is well.
        term: Its index in the agent's list of them.
    """

    update: Int[Array, ""]
    term: Int[Array, ""]


def no_episodes(n_envs: int) -> Episodes:
    """Before the first row."""
    zeros, none = jnp.zeros(n_envs, jnp.float32), jnp.zeros(n_envs, jnp.int32)
    recent = jnp.zeros((n_envs, RECENT), jnp.float32)
    return Episodes(zeros, none, recent, none, zeros[0], none[0], none[0])


def add_step(
    episodes: Episodes,
    reward: Float[Array, " n_envs"],
    is_first: Bool[Array, " n_envs"],
    is_last: Bool[Array, " n_envs"],
) -> Episodes:
    """Counts the rows that a step of the environments has led to.

    An episode counts as finished by the step that ends it, one tick before its last row
    enters the replay (protocol, statistic S2).
    """
    score = jnp.where(is_first, 0.0, episodes.score + reward)
    length = jnp.where(is_first, 0, episodes.length + 1)
    slot = jnp.arange(RECENT) == (episodes.finished % RECENT)[:, None]
    return Episodes(
        score=score,
        length=length,
        recent=jnp.where(slot & is_last[:, None], score[:, None], episodes.recent),
        finished=episodes.finished + is_last,
        window_score=episodes.window_score + jnp.sum(jnp.where(is_last, score, 0.0)),
        window_length=episodes.window_length + jnp.sum(jnp.where(is_last, length, 0)),
        window_finished=episodes.window_finished + jnp.sum(is_last, dtype=jnp.int32),
    )


def begin(episodes: Episodes, is_first: Bool[Array, " n_envs"]) -> Episodes:
    """Forgets the episodes before those whose first step comes next.

    For a collector without rows that lead from one episode to the next, which `add_step` takes
    for the beginning.
    """
    return episodes._replace(
        score=jnp.where(is_first, 0.0, episodes.score),
        length=jnp.where(is_first, 0, episodes.length),
    )


def episode_metrics(episodes: Episodes) -> dict[str, Float[Array, ""]]:
    """Figures of the training episodes.

    Returns:
        `episode/return` and `episode/length`: means over the episodes that finished in this
        window, NaN without one; `episode/count`: how many; `episode/recent_return`: the mean
        over environments of the mean of the last ten returns of each, NaN while one
        environment has finished none.
    """
    held = jnp.minimum(episodes.finished, RECENT)
    total = jnp.sum(episodes.recent, axis=-1)
    return {
        "episode/return": episodes.window_score / episodes.window_finished,
        "episode/length": episodes.window_length / episodes.window_finished,
        "episode/count": episodes.window_finished.astype(jnp.float32),
        "episode/recent_return": jnp.mean(total / held),
    }


def no_sums(names: Mapping[str, object]) -> Sums:
    """Before the first update of a window."""
    zeros = {name: jnp.zeros((), jnp.float32) for name in names}
    return Sums(jnp.zeros((), jnp.int32), zeros, dict(zeros))


def add_update(sums: Sums, metrics: Mapping[str, Float[Array, ""]]) -> Sums:
    """Adds the metrics of one update, by compensated summation (Kahan 1965)."""
    totals, excess = {}, {}
    for name, total in sums.totals.items():
        value = metrics[name] - sums.excess[name]
        totals[name] = total + value
        excess[name] = (totals[name] - total) - value
    return Sums(sums.updates + 1, totals, excess)


def mean_metrics(sums: Sums) -> dict[str, Float[Array, ""]]:
    """Means over the updates of the window under `train/`, NaN before the first one."""
    return {f"train/{name}": total / sums.updates for name, total in sums.totals.items()}


def start_window(fresh: Bool[Array, ""], episodes: Episodes, sums: Sums) -> tuple[Episodes, Sums]:
    """Empties the window if `fresh`; what goes across windows stays."""
    cut = episodes._replace(
        window_score=emptied(fresh, episodes.window_score),
        window_length=emptied(fresh, episodes.window_length),
        window_finished=emptied(fresh, episodes.window_finished),
    )
    return cut, emptied(fresh, sums)


def emptied(fresh: Bool[Array, ""], values: Values) -> Values:
    """Zeros in place of a tree of numbers if `fresh`."""
    return jax.tree.map(lambda value: jnp.where(fresh, jnp.zeros_like(value), value), values)


def no_fault() -> Fault:
    """While all is well."""
    return Fault(jnp.zeros((), jnp.int32), jnp.zeros((), jnp.int32))


def check(
    fault: Fault,
    metrics: Mapping[str, Float[Array, ""]],
    update: Int[Array, ""],
    terms: tuple[str, ...],
) -> Fault:
    """Remembers the first term that is not finite.

    Args:
        fault: So far.
        metrics: Of this update.
        update: Its number, counted from 1.
        terms: Names of the metrics that must be finite, in the order in which an update
            computes them: a fault is named where it began.
    """
    bad = ~jnp.isfinite(jnp.stack([metrics[name] for name in terms]))
    first = (fault.update == 0) & jnp.any(bad)
    return Fault(
        jnp.where(first, update, fault.update),
        jnp.where(first, jnp.argmax(bad).astype(jnp.int32), fault.term),
    )
