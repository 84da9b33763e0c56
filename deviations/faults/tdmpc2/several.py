"""Faults of TD-MPC2 that show with several environments, or with counts that do not divide."""

from __future__ import annotations

from deviations.faults.tdmpc2.events import EVENTS
from deviations.faults.tdmpc2.events import KIND as SCHEDULES
from deviations.faults.tdmpc2.seeding import fault, within
from parity.faults import Fault

KIND = "replay"
EPISODES, RINGS = "core.tdmpc2.episodes", "core.tdmpc2.rings"
SCHEDULE = "core.tdmpc2.schedule"


def _of_the_first(sound, state, steps, key, batch_size, horizon):
    """Slices of the first environment alone."""
    where = sound(state, steps, key, batch_size, horizon)
    return where._replace(environment=0 * where.environment)


def _environment_first(sound, state, rows, key, batch_size, horizon):
    """An environment drawn first, and then an episode of it."""
    import jax
    import jax.numpy as jnp

    def one(key):
        chosen, rest = jax.random.split(key)
        listed, each = state.listed, jnp.arange(len(state.listed.gone))
        environment = jax.random.randint(chosen, (), 0, len(each))
        gone = jnp.where(each == environment, listed.gone, listed.count)
        its = state._replace(listed=listed._replace(gone=gone))
        return jax.tree.map(lambda x: x[0], sound(its, rows, rest, 1, horizon))

    return jax.vmap(one)(jax.random.split(key, batch_size))


def _forgotten(after: int):
    """An episode that leaves the list some rows after it has become too short."""

    def listed(sound, before, row, seen, capacity, horizon):
        return sound(before, row, seen, capacity + after, horizon)

    return listed


def _room_for_fewer(sound, capacity, horizon):
    """A list of half of the episodes that a ring can hold."""
    return sound(capacity, horizon) // 2


def _rounded_up(sound, stepped, updates_per_step):
    """Updates rounded up to a whole number."""
    import math

    del sound
    return max(1, math.ceil(stepped * updates_per_step))


def _half_up(sound, stepped, updates_per_step):
    """Halves of updates rounded up, as in other languages."""
    import math

    del sound
    return max(1, math.floor(stepped * updates_per_step + 0.5))


def _longer_share(sound, seed_steps, episode_length, n_envs, updates_per_step):
    """Each environment's share of the seed steps rounded up."""
    found = sound(seed_steps, episode_length, n_envs, updates_per_step)
    last = max(-(-seed_steps // n_envs), episode_length)
    return type(found)(found.burst, found.per_step, last)


FAULTS: tuple[Fault, ...] = (
    fault(
        "X770",
        "updates per tick rounded up",
        SCHEDULES,
        EVENTS,
        within(SCHEDULE, "updates_for", _rounded_up),
        "T28/core-ratio",
    ),
    fault(
        "X771",
        "halves of updates rounded up",
        SCHEDULES,
        EVENTS,
        within(SCHEDULE, "updates_for", _half_up),
        "T28/core-ratio",
    ),
    fault(
        "X772",
        "updates in the episodic mode rounded up",
        SCHEDULES,
        EVENTS,
        within("core.tdmpc2.episodic", "updates_for", _rounded_up),
        "T28/core-episodic",
    ),
    fault(
        "X773",
        "the seed steps' share of each environment rounded up",
        SCHEDULES,
        EVENTS,
        within(f"{SCHEDULE}:Schedule", "of", _longer_share),
        "T7/core-phase",
    ),
    fault(
        "X765",
        "of several environments the first alone is sampled",
        KIND,
        "shared_slices",
        within(EPISODES, "draw", _of_the_first),
        "T7/core-replay",
    ),
    fault(
        "X766",
        "environments as likely as one another, however many episodes they have",
        KIND,
        "shared_slices",
        within(RINGS, "draw", _environment_first),
        "T29/core-rings",
    ),
    fault(
        "X767",
        "an episode sampled when H rows of it are left",
        KIND,
        "row_slices",
        within(RINGS, "_listed", _forgotten(1)),
        "T29/core-edge",
    ),
    fault(
        "X768",
        "an episode forgotten while H + 1 rows of it are left",
        KIND,
        "row_slices",
        within(RINGS, "_listed", _forgotten(-1)),
        "T29/core-edge",
    ),
    fault(
        "X769",
        "room for half of the episodes that a ring can hold",
        KIND,
        "row_slices",
        within(RINGS, "places", _room_for_fewer),
        "T29/core-edge",
    ),
)
