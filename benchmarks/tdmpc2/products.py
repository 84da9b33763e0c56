"""How many floating-point operations the matrix products of a program are.

Counted in its jaxpr, after what nobody uses is gone: a loop of known length counts as often as
it runs, of a branch its largest side. The core's update and plan compute no product twice, and
of an ensemble the two drawn networks where two are drawn, so the number is what the algorithm
needs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
from jax.interpreters import partial_eval

from core.tdmpc2.agent import Agent
from core.tdmpc2.losses import Batch


def of_update(agent: Agent) -> float:
    """Operations of one update, in 10⁹."""

    def update(key: Any, batch: Any) -> Any:
        return agent.update(agent.init(key), batch, agent.update_noise(key))

    c, size = agent.config, agent.observation_size
    H, B = c.horizon, c.batch_size
    shapes = ((H + 1, B, size), (H, B, agent.action_size), (H, B), (H, B))
    arrays = (jax.ShapeDtypeStruct(shape, "float32") for shape in shapes)
    return count(update, _key(), Batch(*arrays)) / 1e9


def of_plan(agent: Agent) -> float:
    """Operations of one planned action, in 10⁹."""

    def plan(key: Any, observation: Any) -> Any:
        params, carry = agent.init(key).params, agent.initial_carry(1)
        first = jax.numpy.zeros(1, bool)
        return agent.act(params, carry, observation, first, agent.acting_noise(key, 1))

    shape = (1, agent.observation_size)
    return count(plan, _key(), jax.ShapeDtypeStruct(shape, "float32")) / 1e9


def count(function: Callable[..., Any], *arguments: Any) -> float:
    """Operations of the matrix products of a function.

    Raises:
        ValueError: It has products in a loop of unknown length.
    """
    jaxpr = jax.make_jaxpr(function)(*arguments).jaxpr
    return _of(partial_eval.dce_jaxpr(jaxpr, [True] * len(jaxpr.outvars))[0])


def _key() -> Any:
    return jax.eval_shape(jax.random.key, 0)


def _of(jaxpr: Any) -> float:
    return sum(map(_of_equation, jaxpr.eqns))


def _of_equation(equation: Any) -> float:
    name, params = equation.primitive.name, equation.params
    if name == "dot_general":
        (contracted, _), _ = params["dimension_numbers"]
        left = equation.invars[0].aval.shape
        return 2.0 * equation.outvars[0].aval.size * math.prod(left[i] for i in contracted)
    if name == "cond":
        return max(_of(branch.jaxpr) for branch in params["branches"])
    inner = [value for value in params.values() if hasattr(value, "eqns") or _closed(value)]
    within = sum(_of(value.jaxpr if _closed(value) else value) for value in inner)
    if name == "while" and within:
        raise ValueError("nobody knows how often this loop multiplies")
    return within * (params["length"] if name == "scan" else 1)


def _closed(value: Any) -> bool:
    return hasattr(value, "jaxpr") and hasattr(value.jaxpr, "eqns")
