"""Faults of what reaches what, how much each loss counts, and who owns which parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from deviations.faults.dreamerv3.learning import Change, around, seeded
from parity.faults import Fault

KIND = "gradients and ownership"
REPORTED = "reported in re-implementations"
FLOW, OWNERSHIP = ("gradient_flow",), ("ownership",)


def _dynamics_backpropagation() -> list[Change]:
    from core.dreamerv3 import world_model
    from deviations.faults.dreamerv3.trajectories import without_stops

    return around(world_model, "imagine", without_stops(world_model))


def _detached_rewards() -> list[Change]:
    import jax

    from core.dreamerv3 import world_model

    def wrong(sound, networks, config, params, observed, rows):
        found = sound(networks, config, params, observed, rows)
        detached = jax.lax.stop_gradient(observed)
        reward = sound(networks, config, params, detached, rows)
        return found._replace(rew=reward.rew)

    return around(world_model, "losses", wrong)


def _detached_replay() -> list[Change]:
    import jax

    from core.dreamerv3 import actor_critic

    def wrong(sound, networks, config, params, slow_critic, features, *rest):
        features = jax.lax.stop_gradient(features)
        return sound(networks, config, params, slow_critic, features, *rest)

    return around(actor_critic, "replay_losses", wrong)


def _owning(*left_out: str) -> Callable[[], list[Change]]:
    """An optimiser that does not own some networks."""

    def changes() -> list[Change]:
        import optax

        from core.dreamerv3 import agent

        def wrong(sound, config):
            def mask(params: dict[str, Any]) -> dict[str, bool]:
                return {name: name in left_out for name in params}

            return optax.chain(sound(config), optax.masked(optax.set_to_zero(), mask))

        return around(agent, "make_optimizer", wrong)

    return changes


def _forgotten_slow_critic() -> list[Change]:
    from core.dreamerv3.agent import Agent

    return [(Agent, "_slow_critic", lambda agent, state, critic: state.slow_critic)]


FAULTS = (
    Fault(
        "F12.flow",
        "gradient of imagined losses flows through the imagined steps",
        KIND,
        seeded("F12.flow", FLOW, _dynamics_backpropagation),
        ("gradient-flow/map",),
        REPORTED,
    ),
    Fault(
        "F15",
        "optimiser does not own the continue head",
        KIND,
        seeded("F15", OWNERSHIP, _owning("con")),
        ("ownership/changed",),
        REPORTED,
    ),
    Fault(
        "F15.slow",
        "slow critic follows nothing",
        KIND,
        seeded("F15.slow", OWNERSHIP, _forgotten_slow_critic),
        ("ownership/changed",),
    ),
    Fault(
        "F16",
        "reward loss does not reach the recurrent model",
        KIND,
        seeded("F16", FLOW, _detached_rewards),
        ("gradient-flow/map",),
        REPORTED,
    ),
    Fault(
        "X195",
        "critic's loss on replayed rows does not reach the recurrent model",
        KIND,
        seeded("X195", FLOW, _detached_replay),
        ("gradient-flow/map",),
    ),
    Fault(
        "X196",
        "scales of the two KL losses exchanged",
        KIND,
        seeded("X196", FLOW, dyn_scale=0.1, rep_scale=1.0),
        ("gradient-flow/scales",),
    ),
    Fault(
        "X197",
        "critic's loss on replayed rows counts in full",
        KIND,
        seeded("X197", FLOW, repval_scale=1.0),
        ("gradient-flow/scales",),
    ),
)
