"""Faults of several tasks in one agent of TD-MPC2."""

from __future__ import annotations

from deviations.faults.replacing import Change, around
from deviations.faults.tdmpc2.seeding import fault
from parity.faults import Fault

KIND = "several tasks"


def _as_wide_as_mt80() -> list[Change]:
    """Latent states of mt30 that are as long at size 19 as those of mt80."""
    from core.tdmpc2 import config

    kept = {size: {"task_dim": widths["task_dim"]} for size, widths in config.MT30_WIDTHS.items()}
    return [(config, "MT30_WIDTHS", kept)]


def _written() -> list[Change]:
    """Planning shortens the vector in the table, as the reference does."""
    import jax.numpy as jnp

    from core.tdmpc2.agent import Agent
    from core.tdmpc2.tasks import shorten_rows

    def plan(sound, agent, params, observation, previous, t0, noise, task=None):
        index = jnp.asarray(0 if task is None else task)
        params.model.tasks[:] = shorten_rows(jnp.asarray(params.model.tasks), index)
        return sound(agent, params, observation, previous, t0, noise, task)

    return around(Agent, "plan", plan)


def _not_shortened() -> list[Change]:
    """Vectors that are read as they are."""
    from core.tdmpc2 import world_model

    return [(world_model, "shortened", lambda vectors: vectors)]


FAULTS: tuple[Fault, ...] = (
    fault(
        "X470",
        "vectors of tasks as long as those of mt30",
        KIND,
        "multitask_widths",
        {"task_dim": 64},
        "T14/core",
    ),
    fault(
        "X471",
        "mt30's shorter latent states at size 19 left out",
        KIND,
        "multitask_widths",
        _as_wide_as_mt80,
        "T14/widths",
    ),
    fault(
        "X472",
        "an evaluation that shortens vectors of tasks in the table",
        KIND,
        "evaluated_task",
        _written,
        "T15/core",
    ),
    fault(
        "X473",
        "vectors of tasks not shortened in an evaluation",
        KIND,
        "evaluated_task",
        _not_shortened,
        "T15/read",
    ),
    fault(
        "X600",
        "vectors of tasks moved by the policy's loss, as at the reference's head",
        KIND,
        "task_vectors",
        {"policy_trains_tasks": True},
        "T35/core",
    ),
    fault(
        "X601",
        "the policy's gradient by the vectors of tasks dropped where it is asked for",
        KIND,
        "task_vectors",
        {"policy_trains_tasks": False},
        "T35/core-head",
    ),
)
