"""Faults of TD-MPC2's networks and their dropout."""

from __future__ import annotations

from typing import Any

from deviations.faults.tdmpc2.seeding import fault, within
from parity.faults import Fault

MODEL = "core.tdmpc2.world_model:WorldModel"
KIND = "networks"
ENSEMBLE = tuple(f"tdmpc2-q-ensemble/{claim}" for claim in ("equal", "min", "mean"))
USES_THEN, USES_NOW = "tdmpc2-q-dropout-paper/uses", "tdmpc2-q-dropout-head/uses"


def _jnp() -> Any:
    import jax.numpy as jnp

    return jnp


def _symlog_observations(sound, self, params, observation):
    from core.numerics import symlog

    return sound(self, params, symlog(observation))


def _residual(sound, self, params, latent, action):
    return latent + sound(self, params, latent, action)


def _action_first(sound, self, params, latent, action):
    jnp = _jnp()
    both = jnp.concatenate([action, latent], axis=-1)
    return sound(self, params, both[..., : latent.shape[-1]], both[..., latent.shape[-1] :])


def _halved_actions(sound, self, params, latent, action, *keep):
    return sound(self, params, latent, action / 2, *keep)


def _first_two(sound, self, params, members, latent, action, keep):
    return sound(self, params, _jnp().arange(2), latent, action, keep)


def _one_network(sound, self, params, members, latent, action, keep):
    return sound(self, params, members.at[1].set(members[0]), latent, action, keep)


def _no_dropout(sound, x, keep, rate):
    return x


def _fixed_rate(sound, key, config, shape):
    return sound(key, config.replace(dropout=0.01), shape)


FAULTS: tuple[Fault, ...] = (
    fault(
        "X320",
        "observations compressed by symlog, as DreamerV3 does",
        KIND,
        "encode",
        within(MODEL, "encode", _symlog_observations),
        "tdmpc2-encoder/equal",
    ),
    fault(
        "X321",
        "dynamics that predict a change of the latent state",
        KIND,
        "next",
        within(MODEL, "next", _residual),
        "tdmpc2-dynamics/equal",
    ),
    fault(
        "X322",
        "the action before the latent state",
        KIND,
        "reward_logits",
        within(MODEL, "reward_logits", _action_first),
        "tdmpc2-reward-head/equal",
    ),
    fault(
        "X323",
        "actions halved on their way into the Q networks",
        KIND,
        "q_logits q_value",
        within(MODEL, "q_logits", _halved_actions),
        *ENSEMBLE,
    ),
    fault(
        "X324",
        "always the first two Q networks",
        KIND,
        "q_value",
        within(MODEL, "drawn_values", _first_two),
        *ENSEMBLE[1:],
    ),
    fault(
        "X325",
        "one Q network drawn twice",
        KIND,
        "q_value",
        within(MODEL, "drawn_values", _one_network),
        *ENSEMBLE[1:],
    ),
    fault(
        "F62",
        "dropout without effect in the vectorised ensemble",
        KIND,
        "q_logits q_value dropout_in_use",
        within("core.tdmpc2.layers", "drop", _no_dropout),
        *ENSEMBLE,
        USES_THEN,
        USES_NOW,
    ),
    fault(
        "F62.rate",
        "a change of the dropout rate without effect in the vectorised ensemble",
        KIND,
        "dropout_in_use",
        within("core.tdmpc2.noise", "keep_mask", _fixed_rate),
        USES_THEN,
        USES_NOW,
    ),
    fault(
        "X326",
        "no dropout in targets and plans of the paper's era",
        KIND,
        "dropout_in_use",
        {"q_dropout": "training"},
        USES_THEN,
        "T30/core",
    ),
    fault(
        "X327",
        "dropout in targets and plans of later commits",
        KIND,
        "dropout_in_use",
        {"q_dropout": "always"},
        USES_NOW,
        "T30/core-later",
    ),
    fault(
        "X328",
        "a policy network of another activation",
        KIND,
        "policy_outputs",
        within("core.tdmpc2.layers", "mish", lambda sound, x: _jnp().tanh(x)),
        "tdmpc2-policy-network/equal",
    ),
    fault(
        "X329",
        "a hidden layer of the encoder too many",
        "parameters",
        "parameter_counts",
        {"enc_layers": 3},
        "tdmpc2-parameters/counts",
        "tdmpc2-parameters/total",
    ),
)
