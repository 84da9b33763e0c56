"""Faults of returns, weights and advantages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from deviations.faults.dreamerv3 import actor_critic, replay_critic
from deviations.faults.dreamerv3.learning import Change, around
from deviations.faults.dreamerv3.trajectories import (
    BOTH_RETURNS,
    HEADS,
    NUMBERS,
    REPLAY,
    fault,
    on_losses,
    on_trajectories,
)


def _no_continues(imagined, reward, config):
    import jax.numpy as jnp

    return {"continues": jnp.full_like(imagined.continues, config.discount)}


def _early_rewards(imagined, reward, config):
    import jax.numpy as jnp

    return {"rewards": jnp.concatenate([reward[None], imagined.rewards[:-1]])}


def _start_counts() -> list[Change]:
    import jax.numpy as jnp

    from core.dreamerv3 import actor_critic

    def wrong(sound, *args):
        *rest, cont = args
        return sound(*rest, jnp.ones_like(cont))

    return around(actor_critic, "imagination_losses", wrong)


def _returns(change: Callable[..., Any]) -> Callable[[], list[Change]]:
    """λ-returns of other (rewards, discounts, λ, values)."""

    def changes() -> list[Change]:
        from core.dreamerv3 import actor_critic

        def wrong(sound, *args):
            return sound(*change(*args))

        return around(actor_critic, "lambda_returns", wrong)

    return changes


def _endless(rewards, discounts, lambdas, values):
    import jax.numpy as jnp

    return rewards, jnp.full_like(discounts, 1 - 1 / 333), lambdas, values


def _exchanged(rewards, discounts, lambdas, values):
    return rewards, discounts, 1 - lambdas, values


def _early_values(rewards, discounts, lambdas, values):
    import jax.numpy as jnp

    return rewards, discounts, lambdas, jnp.concatenate([values[:1], values[:-1]])


def _wrong_last_value() -> list[Change]:
    """The last return is followed by 0 in the place of the last value."""
    import jax.numpy as jnp

    from core.dreamerv3 import actor_critic

    def wrong(sound, rewards, discounts, lambdas, values):
        # The last step is r + d · ((1 − λ) v + λ v): take the second part away.
        lambdas = jnp.broadcast_to(jnp.asarray(lambdas), rewards.shape)
        missing = discounts[-1] * lambdas[-1] * values[-1]
        return sound(rewards.at[-1].add(-missing), discounts, lambdas, values)

    return around(actor_critic, "lambda_returns", wrong)


def _never_updated() -> list[Change]:
    from core.dreamerv3 import normaliser

    return [(normaliser, "update", lambda state, returns, *, rate: state)]


def _no_limit() -> list[Change]:
    from core.dreamerv3 import normaliser

    return [(normaliser, "scale", lambda state, *, limit: state.high - state.low)]


def _standard_deviation(found, config):
    return {"advantages": (found.returns - found.values[:-1]) / found.returns.std()}


FAULTS = (
    fault(
        "F04",
        "continue head not used in imagined returns and weights",
        (*NUMBERS, *HEADS),
        on_trajectories(_no_continues),
        (
            "imagined-returns/figures",
            "imagined-returns/returns",
            "imagined-returns/weights",
            "actor-loss/values",
            *BOTH_RETURNS,
        ),
    ),
    fault(
        "F05.path",
        "return normaliser never updated where losses are computed",
        NUMBERS,
        _never_updated,
        ("imagined-returns/normaliser", "imagined-returns/advantages"),
    ),
    fault(
        "F07",
        "reward one step early in the λ-return",
        NUMBERS,
        on_trajectories(_early_rewards),
        ("imagined-returns/figures", "imagined-returns/returns"),
    ),
    fault(
        "F08",
        "terminal ignored in the λ-return",
        NUMBERS,
        _returns(_endless),
        ("imagined-returns/figures", "imagined-returns/returns"),
    ),
    fault(
        "X170",
        "termination of the replayed start not counted in the weights",
        (*NUMBERS, *HEADS),
        _start_counts,
        ("imagined-returns/weights", "actor-loss/values", *BOTH_RETURNS),
    ),
    fault(
        "X171",
        "last return not bootstrapped with the last value",
        NUMBERS,
        _wrong_last_value,
        ("imagined-returns/returns",),
    ),
    fault(
        "X172",
        "value of the state that a step starts from in the λ-return",
        NUMBERS,
        _returns(_early_values),
        ("imagined-returns/figures", "imagined-returns/returns"),
    ),
    fault(
        "X173",
        "λ and 1 − λ exchanged",
        (*NUMBERS, *REPLAY),
        _returns(_exchanged),
        ("imagined-returns/returns", "replay-critic-loss/returns"),
    ),
    fault(
        "X174",
        "no lower limit of the return normaliser's scale",
        NUMBERS,
        _no_limit,
        ("imagined-returns/advantages",),
    ),
    fault(
        "X175",
        "advantages divided by the standard deviation of the returns",
        NUMBERS,
        on_losses(_standard_deviation),
        ("imagined-returns/advantages",),
    ),
    *actor_critic.FAULTS,
    *replay_critic.FAULTS,
)
