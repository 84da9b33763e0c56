"""Faults of plans that stop at predicted ends of episodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from deviations.faults.tdmpc2.ends import KIND
from deviations.faults.tdmpc2.seeding import fault, within
from parity.faults import Fault

PLAN = ("tdmpc2-plan-episodic/values",)
CUT = (*PLAN, "tdmpc2-plan-episodic/ends")
GIVEN = ("tdmpc2-plan-episodic/threshold", "T29/core-plan")
PLANS = "episodic_plan planned_values"


def _jnp() -> Any:
    import jax.numpy as jnp

    return jnp


def _stopping(rule: Callable[[list[Any]], list[Any]], *, before: bool = False):
    """A rollout that counts steps by another rule.

    Args:
        rule: From where each of the H steps is an end to what counts: a factor for each of the H
            rewards, and one for the last value.
        before: Whether the head is asked of the states before the steps.
    """

    def rollout(sound, model, params, discount, latent, actions):
        found = sound(model, params, discount, latent, actions)
        if found.alive is None:
            return found
        from core.tdmpc2 import ends

        jnp, rewards, over = _jnp(), [], []
        for t, action in enumerate(actions):
            logits = model.reward_logits(params, latent, action)
            rewards.append(discount**t * model.support.decode(logits))
            following = model.next(params, latent, action)
            asked = jnp.broadcast_to(latent, following.shape) if before else following
            over.append(1.0 * ends.predicted(model.termination_logits(params, asked)))
            latent = following
        factors = rule(over)
        total = sum(f * r for f, r in zip(factors, rewards, strict=False))
        return found._replace(total=total, alive=factors[-1])

    return within("core.tdmpc2.planner", "rollout", rollout)


def _alive(over: list[Any]) -> list[Any]:
    """Before each step and after the last one, whether no end has been met."""
    alive = [_jnp().ones_like(over[0])]
    for end in over:
        alive.append(alive[-1] * (1 - end))
    return alive


def _not_added_up(over: list[Any]) -> list[Any]:
    return [_jnp().ones_like(over[0]), *(1 - end for end in over)]


def _without_its_own(over: list[Any]) -> list[Any]:
    alive = _alive(over)
    return [*alive[1:], alive[-1]]


def _with_last_value(over: list[Any]) -> list[Any]:
    return [*_alive(over)[:-1], _jnp().ones_like(over[0])]


def _value_alone(over: list[Any]) -> list[Any]:
    return [*(_jnp().ones_like(end) for end in over), _alive(over)[-1]]


def _a_step_late(over: list[Any]) -> list[Any]:
    alive = _alive(over)
    return [alive[0], *alive[:-1]]


def _all_counts(over: list[Any]) -> list[Any]:
    return [_jnp().ones_like(over[0])] * (len(over) + 1)


def _policy_goes_on(sound, model, params, discount, latent, actions):
    """The policy's own sequences are not stopped."""
    found = sound(model, params, discount, latent, actions)
    if found.alive is None or actions.shape[1] != model.config.num_pi_trajs:
        return found
    plain = model.config.replace(episodic=False)
    import dataclasses

    whole = sound(dataclasses.replace(model, config=plain), params, discount, latent, actions)
    return found._replace(total=whole.total, alive=_jnp().ones_like(found.alive))


def _logit_for_probability(sound, logits):
    del sound
    return logits > 0.5


def _at_least_half(sound, logits):
    del sound
    return logits >= 0


FAULTS: tuple[Fault, ...] = (
    fault(
        "X751",
        "only the step before decides whether a plan has ended",
        KIND,
        PLANS,
        _stopping(_not_added_up),
        *PLAN,
        *GIVEN,
    ),
    fault(
        "X752",
        "the reward of the step that leads to an end not counted",
        KIND,
        PLANS,
        _stopping(_without_its_own),
        *PLAN,
        *GIVEN,
    ),
    fault(
        "X753",
        "the last value counted after an end",
        KIND,
        PLANS,
        _stopping(_with_last_value),
        *PLAN,
        *GIVEN,
    ),
    fault(
        "X754",
        "rewards counted after an end",
        KIND,
        PLANS,
        _stopping(_value_alone),
        *PLAN,
        *GIVEN,
    ),
    fault(
        "X755",
        "a plan that stops a step late",
        KIND,
        PLANS,
        _stopping(_a_step_late),
        *CUT,
        *GIVEN,
    ),
    fault(
        "X756",
        "plans that do not stop at ends",
        KIND,
        PLANS,
        _stopping(_all_counts),
        *CUT,
        *GIVEN,
        "T29/plan",
    ),
    fault(
        "X757",
        "a plan that asks for ends in the states before the steps",
        KIND,
        "episodic_plan",
        _stopping(_alive, before=True),
        *CUT,
        "T29/plan",
    ),
    fault(
        "X758",
        "the policy's own sequences not stopped at ends",
        KIND,
        "episodic_plan",
        within("core.tdmpc2.planner", "rollout", _policy_goes_on),
        *PLAN,
    ),
    fault(
        "X759",
        "a logit above 1/2 taken for an end",
        KIND,
        PLANS,
        within("core.tdmpc2.ends", "predicted", _logit_for_probability),
        GIVEN[0],
    ),
    fault(
        "X760",
        "a probability of 1/2 taken for an end",
        KIND,
        "planned_values",
        within("core.tdmpc2.ends", "predicted", _at_least_half),
        GIVEN[0],
    ),
    fault(
        "X764",
        "plans that stop at ends outside of the episodic mode",
        KIND,
        "planned_values",
        {"episodic": True},
        "T29/core-off",
    ),
)
