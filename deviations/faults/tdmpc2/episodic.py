"""Faults of TD-MPC2's episodes that may end by themselves."""

from __future__ import annotations

from collections.abc import Callable

from deviations.faults.replacing import Change, around
from deviations.faults.tdmpc2.seeding import fault
from parity.faults import Fault

KIND = "episodes that end"


def _of(module: str, name: str, wrong: Callable) -> Callable[[], list[Change]]:
    """A function of a module of the core, replaced where that module finds it."""

    def changes() -> list[Change]:
        import importlib

        return around(importlib.import_module(f"core.tdmpc2.{module}"), name, wrong)

    return changes


def _one_longer(sound, state, rows, key, batch_size, horizon):
    """A slice can begin at the first row after an episode's last valid one."""
    return sound(state, rows, key, batch_size, horizon - 1)


def _newer(sound, state, rows, key, batch_size, horizon):
    """The later of two slices."""
    import jax
    import jax.numpy as jnp

    found = sound(state, rows, key, batch_size, horizon)
    other = sound(state, rows, jax.random.fold_in(key, 1), batch_size, horizon)
    return found._replace(row=jnp.maximum(found.row, other.row))


def _without_tails(sound, state, rows, key, batch_size, horizon):
    """An episode forgotten once one of its rows is overwritten."""
    import jax.numpy as jnp

    listed, capacity = state.listed, state.reward.shape[1]
    each = jnp.arange(len(listed.gone))
    oldest = listed.first[each, listed.gone % listed.first.shape[1]]
    gone = listed.gone + (oldest < rows - capacity)
    short = state._replace(listed=listed._replace(gone=gone))
    return sound(short, rows, key, batch_size, horizon)


def _never_terminal(sound, state, row, seen, action, horizon):
    """Ends by themselves stored as ends by time."""
    return sound(state, row, seen._replace(is_terminal=seen.is_terminal & False), action, horizon)


def _always(sound, state):
    """A replay thought to have something to sample from the start."""
    del sound
    return state.listed.count.sum() >= 0


def _rounded_down() -> list[Change]:
    """As many rows for each environment as there are for certain."""
    from core.tdmpc2.episodic import Episodic

    def capacity(mode):
        return min(mode.config.replay_capacity, mode.config.steps) // mode.config.n_envs

    return [(Episodic, "capacity", property(capacity))]


def _half_of_it() -> list[Change]:
    """Half of the rows that are asked for."""
    from core.tdmpc2.episodic import Episodic

    def capacity(mode):
        held = min(mode.config.replay_capacity, mode.config.steps)
        return -(-held // mode.config.n_envs) // 2

    return [(Episodic, "capacity", property(capacity))]


def _through_ends(sound, model, params, target_q, discount, batch, noise):
    """Targets that go on past an episode's end."""
    past = batch._replace(terminated=0 * batch.terminated)
    return sound(model, params, target_q, discount, past, noise)


def _with_rate(sound, model, params, batch, target, noise):
    """A loss that grows with the number of ends."""
    found = sound(model, params, batch, target, noise)
    return found._replace(total=found.total + batch.terminated.mean())


def _not_discounted(sound, model, params, discount, latent, actions):
    """Rewards of a plan that are not discounted."""
    return sound(model, params, 1.0 + 0 * discount, latent, actions)


def _one_per_tick(sound, stepped, ratio):
    """One update per tick, however many environments stepped."""
    del sound, stepped, ratio
    return 1


def _later() -> list[Change]:
    """A seed phase that is longer by a step."""
    import dataclasses

    from core.tdmpc2.schedule import Schedule

    def of(sound, *arguments):
        found = sound(*arguments)
        return dataclasses.replace(found, last_random=found.last_random + 1)

    return around(Schedule, "of", of)


FAULTS: tuple[Fault, ...] = (
    fault(
        "X570",
        "a slice of rows can begin one row after the last valid one",
        KIND,
        "row_slices",
        _of("rings", "draw", _one_longer),
        "T29/core-shares",
        "T29/core-tail",
    ),
    fault(
        "X571",
        "newer rows drawn more often",
        KIND,
        "row_slices",
        _of("rings", "draw", _newer),
        "T29/core-shares",
        "T29/core-tail",
    ),
    fault(
        "X572",
        "an episode forgotten once a row of it is overwritten",
        KIND,
        "row_slices",
        _of("rings", "draw", _without_tails),
        "T29/core-tail",
    ),
    fault(
        "X573",
        "ends by themselves stored as ends by time",
        KIND,
        "row_slices",
        _of("rings", "add", _never_terminal),
        "T29/core-shares",
    ),
    fault(
        "X574",
        "updates from a replay with nothing to sample",
        KIND,
        "row_slices episodic_run",
        _of("rings", "can_sample", _always),
        "T29/core-refuses",
        "T29/core-waits",
    ),
    fault(
        "X575",
        "a capacity in rows rounded down",
        KIND,
        "row_capacity",
        _rounded_down,
        "T29/core-capacity",
    ),
    fault(
        "X576",
        "half of the rows held",
        KIND,
        "row_capacity",
        _half_of_it,
        "T29/capacity",
        "T29/core-capacity",
    ),
    fault(
        "X577",
        "targets that go on past an episode's end",
        KIND,
        "td_targets",
        _of("losses", "targets", _through_ends),
        "T29/targets",
    ),
    fault(
        "X578",
        "a loss that grows with the number of ends",
        KIND,
        "episodic_loss",
        _of("losses", "model_losses", _with_rate),
        "T29/core-loss",
    ),
    fault(
        "X579",
        "rewards of a plan not discounted",
        KIND,
        "planned_values",
        _of("planner", "rollout", _not_discounted),
        "T29/core-plan",
    ),
    fault(
        "X580",
        "one update per tick, however many environments stepped",
        KIND,
        "episodic_run",
        _of("episodic", "updates_for", _one_per_tick),
        "T29/core-updates",
    ),
    fault(
        "X581",
        "a seed phase that is longer by a row",
        KIND,
        "episodic_run",
        _later,
        "T29/core-seed",
    ),
)
