"""Faults of TD-MPC2's planner."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from deviations.faults.replacing import Change, around
from deviations.faults.tdmpc2.seeding import REPORTED, fault
from parity.faults import Fault
from parity.implementations import OperationTable

KIND = "planner"
FIT = tuple(f"tdmpc2-fit/{claim}" for claim in ("equal", "formula", "figures"))


def _plans(*claims: str) -> tuple[str, ...]:
    return tuple(f"tdmpc2-plan-{era}/{claim}" for era in ("paper", "head") for claim in claims)


def _in(name: str, wrong: Callable) -> Callable[[], list[Change]]:
    def changes() -> list[Change]:
        from core.tdmpc2 import planner

        return around(planner, name, wrong)

    return changes


def _jnp() -> Any:
    import jax.numpy as jnp

    return jnp


def _unclipped(sound, actions, weights, config):
    return sound(actions, weights, config.replace(min_std=1e-9, max_std=1e9))


def _unweighted(sound, actions, weights, config):
    return sound(actions, _jnp().full_like(weights, 1 / len(weights)), config)


def _not_shifted(sound, previous, t0):
    return _jnp().where(t0, 0.0, previous)


def _carried_over(sound, previous, t0):
    return sound(previous, _jnp().zeros_like(t0))


def _undiscounted(sound, model, params, discount, latent, actions):
    return sound(model, params, 1.0, latent, actions)


def _no_policy(sound, model, params, latent, noise):
    return _jnp().zeros_like(noise)


def _best_elite(sound, model, params, discount, observation, previous, t0, noise):
    greedy = noise._replace(elite=0 * noise.elite)
    return sound(model, params, discount, observation, previous, t0, greedy)


def _mean_action(sound, model, params, discount, observation, previous, t0, noise):
    found = sound(model, params, discount, observation, previous, t0, noise)
    last = found.iterations.fitted
    action = _jnp().clip(last.mean[-1, 0] + last.std[-1, 0] * noise.action, -1, 1)
    return found._replace(action=action)


def _first_two(sound, model, params, discount, observation, previous, t0, noise):
    first = noise._replace(q=_jnp().zeros_like(noise.q).at[:, 1].set(1))
    return sound(model, params, discount, observation, previous, t0, first)


def _answered(change: Callable[[dict[str, Any], dict[str, Any]], dict[str, Any]]):
    """Plans whose inputs are changed, or whose answers."""

    def overrides() -> OperationTable:
        from parity.core_subject.tdmpc2 import TABLE

        def plan(**inputs: Any) -> dict[str, Any]:
            return change(dict(inputs), dict(TABLE["tdmpc2.plan"](**inputs)))

        return {"tdmpc2.plan": plan}

    return overrides


def _keeps_mean(inputs: dict[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
    return answer if inputs["explore"] else {**answer, "mean": inputs["previous"].copy()}


def _refits_scale(inputs: dict[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
    """The running scale updated with the values of an evaluation's plan."""
    import numpy as np

    from parity.core_subject.tdmpc2 import TABLE

    values = answer["values"][-1:]
    moved = TABLE["tdmpc2.running_scale"](values=values, initial=inputs["scale"], tau=0.01)
    changed = answer["changed"] + int(moved["scale"][0] != inputs["scale"])
    return {**answer, "changed": np.asarray(changed, np.int64)}


def _without_mask() -> OperationTable:
    from parity.core_subject.tdmpc2 import TABLE

    def plan(mask: Any, **inputs: Any) -> Any:
        import numpy as np

        return TABLE["tdmpc2.plan"](mask=np.ones_like(mask), **inputs)

    return {"tdmpc2.plan": plan}


def _direct(id: str, title: str, overrides: Callable[[], OperationTable], *caught: str) -> Fault:
    return Fault(id, title, KIND, overrides, caught, REPORTED)


def _cut_by_a_head() -> list[Change]:
    """Values that are 0 where a head that nothing trains predicts an end."""
    from core.tdmpc2.world_model import WorldModel

    def values(sound, model, q, members, latent, *rest):
        return sound(model, q, members, latent, *rest) * (latent[:, 0] > 1 / 8)

    return around(WorldModel, "drawn_values", values)


FAULTS: tuple[Fault, ...] = (
    fault(
        "X602",
        "plans cut by a termination head that nothing trains",
        KIND,
        "fresh_values",
        _cut_by_a_head,
        "T37/core",
    ),
    fault(
        "F63",
        "temperature missing in the elites' weights",
        KIND,
        "fit plan",
        {"temperature": 1.0},
        *FIT,
        *_plans("fits", "warm-start"),
    ),
    fault(
        "X370",
        "elites that all weigh the same",
        KIND,
        "fit plan",
        _in("fit", _unweighted),
        *FIT,
        *_plans("fits", "warm-start"),
    ),
    fault(
        "X371",
        "standard deviations without their least one",
        KIND,
        "fit",
        _in("fit", _unclipped),
        *FIT[:2],
    ),
    fault(
        "X372",
        "previous mean not shifted by a step",
        KIND,
        "plan",
        _in("warm_start", _not_shifted),
        *_plans("warm-start"),
    ),
    fault(
        "X373",
        "previous mean carried over into a new episode",
        KIND,
        "plan",
        _in("warm_start", _carried_over),
        *_plans("fits"),
    ),
    fault(
        "X374",
        "rewards of a plan not discounted",
        KIND,
        "plan",
        _in("rollout", _undiscounted),
        *_plans("values"),
    ),
    fault(
        "X375",
        "the policy's own sequences missing from a plan",
        KIND,
        "plan",
        _in("policy_trajectories", _no_policy),
        *_plans("values"),
        "tdmpc2-plan-paper/fits",
    ),
    fault(
        "X376",
        "always the first two Q networks in a plan",
        KIND,
        "plan",
        _in("plan", _first_two),
        *_plans("values"),
    ),
    fault(
        "X377",
        "the best elite's action instead of a drawn one's",
        KIND,
        "plan",
        _in("plan", _best_elite),
        *_plans("evaluation-action", "action"),
    ),
    fault(
        "X378",
        "the mean's action instead of a drawn elite's",
        KIND,
        "plan",
        _in("plan", _mean_action),
        *_plans("evaluation-action", "action"),
    ),
    fault(
        "X379",
        "no dropout in the plans of the paper's era",
        KIND,
        "plan",
        {"q_dropout": "training"},
        "tdmpc2-plan-paper/values",
    ),
    _direct(
        "F69",
        "an evaluation that leaves the planner's mean as it was before",
        _answered(_keeps_mean),
        *_plans("evaluation"),
    ),
    _direct(
        "F69.scale",
        "an evaluation that refits the running scale",
        _answered(_refits_scale),
        *_plans("evaluation"),
    ),
    _direct(
        "F71",
        "mask of a task's actions missing in the planner",
        _without_mask,
        *_plans("masked"),
    ),
)
