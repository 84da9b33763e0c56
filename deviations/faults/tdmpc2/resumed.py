"""Faults of runs of TD-MPC2 in several calls."""

from __future__ import annotations

from deviations.faults.tdmpc2.seeding import fault, within
from parity.faults import Fault

KIND = "resumption"
_TIMED, _EPISODIC = "core.tdmpc2.timed", "core.tdmpc2.episodic"


def _as_it_was(sound, replay, *to):
    """A replay that keeps the size of the call that began it."""
    del sound, to
    return replay


def _one_place_on(sound, replay, *to):
    """Episodes that are moved to the places beside their own."""
    import jax
    import jax.numpy as jnp

    return jax.tree.map(lambda part: jnp.roll(part, 1, axis=0), sound(replay, *to))


def _without_the_list(sound, replay, *to):
    """Rows that are moved, and what episodes they make forgotten."""
    import jax
    import jax.numpy as jnp

    found = sound(replay, *to)
    return found._replace(listed=jax.tree.map(jnp.zeros_like, found.listed))


def _being_written(sound, state, steps, key, batch_size, horizon):
    """The round that is being written drawn in the oldest one's stead."""
    where = sound(state, steps, key, batch_size, horizon)
    return where._replace(place=(where.place + 1) % len(state.reward))


def _before_the_running(sound, state, rows, key, batch_size, horizon):
    """Rows counted as held as if none had been added since the last end of an episode."""
    import jax.numpy as jnp

    del rows
    return sound(state, jnp.max(state.listed.running), key, batch_size, horizon)


FAULTS: tuple[Fault, ...] = (
    fault(
        "X783",
        "a resumed run whose replay keeps the size that the first call gave it",
        KIND,
        "resumed_slices",
        within(_TIMED, "fitted", _as_it_was),
        "T26/core-calls",
    ),
    fault(
        "X784",
        "carried episodes one place further than those of an uninterrupted run",
        KIND,
        "resumed_slices",
        within(_TIMED, "fitted", _one_place_on),
        "T26/core-calls",
    ),
    fault(
        "X785",
        "a resumed run whose rings keep the size that the first call gave them",
        KIND,
        "resumed_slices",
        within(_EPISODIC, "fitted_rings", _as_it_was),
        "T29/core-calls",
    ),
    fault(
        "X786",
        "rows carried into larger rings without the list of their episodes",
        KIND,
        "resumed_slices",
        within(_EPISODIC, "fitted_rings", _without_the_list),
        "T29/core-calls",
    ),
    fault(
        "X787",
        "the round that is being written drawn from a full replay",
        KIND,
        "resumed_slices",
        within("core.tdmpc2.episodes", "draw", _being_written),
        "T26/core-staging",
    ),
    fault(
        "X788",
        "rows of the running episode that are not counted where they overwrite older ones",
        KIND,
        "resumed_slices",
        within("core.tdmpc2.rings", "draw", _before_the_running),
        "T29/core-running",
    ),
)
