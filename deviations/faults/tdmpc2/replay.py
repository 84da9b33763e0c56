"""Faults of TD-MPC2's replay."""

from __future__ import annotations

from collections.abc import Callable

from deviations.faults.replacing import Change, around
from deviations.faults.tdmpc2.seeding import fault
from parity.faults import Fault

KIND = "replay"
STARTS, SHARES = "tdmpc2-replay/starts", "tdmpc2-replay/shares"


def _of_episodes(name: str, wrong: Callable) -> Callable[[], list[Change]]:
    def changes() -> list[Change]:
        from core.tdmpc2 import episodes

        return around(episodes, name, wrong)

    return changes


def _longer(by: int) -> Callable:
    """Beginnings up to some steps after the last valid one."""

    def draw(sound, state, steps, key, batch_size, horizon):
        return sound(state, steps, key, batch_size, horizon - by)

    return draw


def _unfinished(sound, state, steps, key, batch_size, horizon):
    """The round that is being written drawn like all others."""
    where = sound(state, steps, key, batch_size, horizon)
    return where._replace(place=(where.place + 1) % len(state.reward))


def _early(sound, state, steps, key, batch_size, horizon):
    """The smaller of two beginnings."""
    import jax
    import jax.numpy as jnp

    found = sound(state, steps, key, batch_size, horizon)
    other = sound(state, steps, jax.random.fold_in(key, 1), batch_size, horizon)
    return found._replace(start=jnp.minimum(found.start, other.start))


def _rounded_down(sound, steps, length, n_envs, rounding="ceil"):
    """A run that holds no step more than asked for, as the reference's first commit."""
    del rounding
    return sound(steps, length, n_envs, "floor")


def _two_more(sound, *sizes, **how):
    """Two rounds more than what was asked for needs."""
    return sound(*sizes, **how) + 2


def _held_but_one(sound, state, steps):
    """One of the complete rounds is never sampled."""
    return sound(state, steps) - 1


def _no_staging(sound, capacity, *sizes):
    """The round that is being written takes the place of one that could be sampled."""
    return sound(max(1, capacity - 1), *sizes)


FAULTS: tuple[Fault, ...] = (
    fault(
        "F67",
        "a slice can begin at the first row after the episode's last valid one",
        KIND,
        "replay_slices",
        _of_episodes("draw", _longer(1)),
        STARTS,
    ),
    fault(
        "F67.early",
        "an episode's last window never drawn, as at the reference's first commit",
        KIND,
        "replay_slices",
        _of_episodes("draw", _longer(-1)),
        STARTS,
        "T34/core",
    ),
    fault(
        "X390",
        "the place that is being written drawn in the oldest round's stead",
        KIND,
        "replay_slices",
        _of_episodes("draw", _unfinished),
        STARTS,
    ),
    fault(
        "X391",
        "early beginnings drawn more often",
        KIND,
        "replay_slices",
        _of_episodes("draw", _early),
        SHARES,
    ),
    fault(
        "X474",
        "a capacity rounded down to whole rounds of episodes",
        KIND,
        "replay_capacity",
        _of_episodes("rounds", _rounded_down),
        "T26/core",
    ),
    fault(
        "X475",
        "one round fewer to be sampled than there is room for",
        KIND,
        "replay_capacity",
        _of_episodes("init", _no_staging),
        "T26/core",
        "T26/core-dmc",
        "T26/multiples",
        "T26/never-full",
    ),
    fault(
        "X603",
        "a replay of two rounds more than asked for",
        KIND,
        "replay_capacity",
        _of_episodes("rounds", _two_more),
        "T26/core",
        "T26/core-dmc",
        "T26/remainders",
    ),
    fault(
        "X476",
        "a round more to be written in than one",
        KIND,
        "replay_capacity",
        _of_episodes("held", _held_but_one),
        "T26/core-staged",
    ),
)
