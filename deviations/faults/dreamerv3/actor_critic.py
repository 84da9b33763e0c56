"""Faults of the losses of actor and critic on imagined trajectories."""

from __future__ import annotations

from deviations.faults.dreamerv3.learning import Change, around
from deviations.faults.dreamerv3.trajectories import (
    BOTH_RETURNS,
    HEADS,
    NUMBERS,
    REPLAY,
    fault,
    on_losses,
    on_trajectories,
    without_stops,
)

ACTOR_LOSSES = (
    "imagination-losses/discrete-actor-loss",
    "imagination-losses/continuous-actor-loss",
)
CRITIC_LOSSES = (
    "imagination-losses/discrete-critic-loss",
    "imagination-losses/continuous-critic-loss",
)


def _own_target(imagined, reward, config):
    return {"slow_values": imagined.values[:-1]}


def _outcome_scored() -> list[Change]:
    """Log-probability and entropy of the state that an action leads to."""
    import jax.numpy as jnp

    from parity.core_subject.dreamerv3 import stage

    def after(sound, policy, *args):
        return jnp.roll(sound(policy, *args), -1, axis=0)

    return [
        *around(stage.GivenNumbers, "log_prob", after),
        *around(stage.GivenNumbers, "entropy", after),
    ]


def _outcome_weight(found, config):
    scored = found.log_probs * found.advantages + config.actent * found.entropies
    return {"actor": -found.weights[1:] * scored}


def _entropy_twice(found, config):
    bonus = found.weights[:-1] * config.actent * found.entropies
    return {"actor": found.actor - bonus}


def _summed_over_time(found, config):
    return {"actor": found.actor * len(found.actor), "critic": found.critic * len(found.critic)}


def _through_returns(found, config):
    """The loss that descends −return directly, as for continuous actions in older versions."""
    bonus = config.actent * found.entropies
    return {"actor": -found.weights[:-1] * (found.advantages + bonus)}


def _unstopped() -> list[Change]:
    from core.dreamerv3 import world_model

    return around(world_model, "imagine", without_stops(world_model))


def _logits_for_values() -> list[Change]:
    from core.dreamerv3 import twohot

    return [(twohot, "decode", lambda logits, bins: logits.mean(-1))]


FAULTS = (
    fault(
        "F02",
        "logits used where the decoded scalar is meant",
        HEADS,
        _logits_for_values,
        (*BOTH_RETURNS, *CRITIC_LOSSES),
    ),
    fault(
        "F06.sum",
        "losses summed over time instead of averaged",
        (*NUMBERS, *HEADS),
        on_losses(_summed_over_time),
        ("actor-loss/values", "actor-loss/gradients", *ACTOR_LOSSES, *CRITIC_LOSSES),
    ),
    fault(
        "F09",
        "action scored at the outcome state",
        ("actor_loss",),
        _outcome_scored,
        ("actor-loss/values", "actor-loss/gradients", "actor-loss/entropy-coefficient"),
    ),
    fault(
        "F09.weight",
        "weight of an action includes its own termination",
        ("actor_loss", *HEADS),
        on_losses(_outcome_weight),
        ("actor-loss/values", "actor-loss/gradients", *ACTOR_LOSSES),
    ),
    fault(
        "F12",
        "actor descends the return itself instead of the score function",
        HEADS,
        on_losses(_through_returns),
        (
            *ACTOR_LOSSES,
            "imagination-losses/discrete-actor-gradient",
            "imagination-losses/continuous-actor-gradient",
        ),
    ),
    fault(
        "F12.baseline",
        "gradient of the actor's loss flows through advantages",
        HEADS,
        _unstopped,
        (
            "imagination-losses/discrete-actor-gradient",
            "imagination-losses/continuous-actor-gradient",
        ),
    ),
    fault(
        "F14",
        "entropy added twice",
        ("actor_loss", *HEADS),
        on_losses(_entropy_twice),
        ("actor-loss/entropy-coefficient", "actor-loss/values", "actor-loss/gradients"),
    ),
    fault(
        "X176",
        "critic regressed to its own prediction instead of the slow critic's",
        HEADS,
        on_trajectories(_own_target),
        (
            *CRITIC_LOSSES,
            "imagination-losses/discrete-critic-gradient",
            "imagination-losses/continuous-critic-gradient",
        ),
    ),
    fault(
        "X177",
        "no regression to the slow critic",
        (*HEADS, *REPLAY),
        list,
        (*CRITIC_LOSSES, "replay-critic-loss/loss", "replay-critic-loss/gradient"),
        slowreg=0.0,
    ),
    fault(
        "X182",
        "entropy coefficient ten times as large",
        HEADS,
        list,
        ACTOR_LOSSES,
        actent=3e-3,
    ),
)
