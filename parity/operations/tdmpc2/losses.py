"""Targets and losses on given predictions, and a whole update on given parameters.

Everything is time-major: H steps of B sequences.
"""

from __future__ import annotations

from parity.operations import Array, Operation, Setting
from parity.operations.tdmpc2.networks import MEMBERS
from parity.operations.tdmpc2.parameters import (
    DYNAMICS,
    ENCODER,
    KEEP,
    LIMIT,
    NORMED_LINEAR,
    POLICY,
    RATE,
    REWARD,
    SIMPLICES,
    TARGET_Q,
    Q,
)

RHO = Setting("rho", float, "ρ, the weight of each step relative to the one before; 0.5")
DISCOUNT = Setting("discount", float, "γ")
ERA = Setting(
    "era",
    str,
    "paper: the Q networks drop in targets too, the entropy is density (see `tdmpc2.policy`); "
    "head, from eece801 on: they do not, and it is scaled",
    ("paper", "head"),
)
_Q_LOGITS = Array("q_logits", "M H B N", "float32", "of all Q networks")
_REWARD = Array("reward", "H B", "float32", "received for each action")
_TERMINATED = Array(
    "terminated", "H B", "float32", "1 where the episode ended by itself; 0 in the paper's era"
)

TD_TARGETS = Operation(
    "tdmpc2.td_targets",
    "reward + γ · (1 − terminated) · the smaller of the values of the two drawn target networks, "
    "each decoded from its logits (see `tdmpc2.twohot_decode`)",
    (_Q_LOGITS, MEMBERS, _REWARD, _TERMINATED, DISCOUNT, LIMIT),
    (Array("returns", "H B", "float32", "targets, in units of the value", noise=1e-5),),
)

MODEL_LOSS = Operation(
    "tdmpc2.model_loss",
    "The losses of the model: the mean squared error of rolled-out latent states, and the two-hot "
    "cross entropies of rewards and of all Q networks' values, each the mean over sequences (and "
    "features, and networks), weighted by ρᵗ and averaged over the H steps. The total is "
    "consistency_coef · consistency + reward_coef · reward + value_coef · value",
    (
        Array("latents", "H B L", "float32", "rolled out: the states after each action"),
        Array("next_latents", "H B L", "float32", "encoded from what was observed then"),
        Array("reward_logits", "H B N", "float32", "of the reward head"),
        _REWARD,
        _Q_LOGITS,
        Array("returns", "H B", "float32", "targets of the values"),
        RHO,
        Setting("consistency_coef", float, "20 in training"),
        Setting("reward_coef", float, "0.1 in training"),
        Setting("value_coef", float, "0.1 in training"),
        LIMIT,
    ),
    (
        Array("consistency", "", "float32", "weighted, without its coefficient", noise=1e-6),
        Array("reward", "", "float32", "weighted, without its coefficient", noise=1e-6),
        Array("value", "", "float32", "weighted, without its coefficient", noise=1e-6),
        Array("total", "", "float32", "with all coefficients", noise=1e-6),
        Array("latents_gradient", "H B L", "float32", "of the total", noise=1e-5),
        Array("reward_gradient", "H B N", "float32", "of the total, in the logits", noise=1e-5),
        Array("value_gradient", "M H B N", "float32", "of the total, in the logits", noise=1e-5),
    ),
)

POLICY_LOSS = Operation(
    "tdmpc2.policy_loss",
    "The loss of the policy on H + 1 latent states: −(entropy_coef · entropy + value / S) averaged "
    "over sequences, weighted by ρᵗ, averaged over steps. The value is the mean of the two drawn Q "
    "networks; S is the running scale after an update with the values of the first step (see "
    "`tdmpc2.running_scale`), and no gradient flows into it",
    (
        Array("q_logits", "M H1 B N", "float32", "of all Q networks, in each state"),
        MEMBERS,
        Array("entropies", "H1 B", "float32", "of the policy, in each state"),
        Array("scale", "", "float32", "S before"),
        RHO,
        Setting("entropy_coef", float, "1e-4 in training"),
        Setting("tau", float, "τ of the running scale; 0.01 in training"),
        LIMIT,
    ),
    (
        Array("loss", "", "float32", "the loss", noise=1e-5),
        Array("scale", "", "float32", "S after", noise=1e-6),
        Array("entropy_gradient", "H1 B", "float32", "of the loss, in the entropies", noise=1e-6),
        Array("value_gradient", "M H1 B N", "float32", "of the loss, in the logits", noise=1e-5),
    ),
)

UPDATE = Operation(
    "tdmpc2.update",
    "One update from given parameters with fresh optimisers: targets from the *encoded* next "
    "observations, actions of the policy there and the drawn target networks; a rollout of latent "
    "states from the encoded first observation; the losses of `tdmpc2.model_loss` with 20, 0.1, "
    "0.1 and ρ = 0.5; a step of the model's optimiser; the loss of `tdmpc2.policy_loss` on the "
    "rolled-out states, with the Q networks as that step left them, entropy_coef 1e-4 and τ = "
    f"0.01. Policy draws are those of `tdmpc2.policy` with ln σ in [−10, 2]. {NORMED_LINEAR}",
    (
        Array("observation", "H1 B O", "float32", "in units of the environment"),
        Array("action", "H B A", "float32", "taken after each observation but the last"),
        _REWARD,
        _TERMINATED,
        Array("scale", "", "float32", "the running scale before"),
        Array("target_noise", "H B A", "float32", "of the policy's actions in targets"),
        Array("target_members", "2", "int64", "the two target networks"),
        Array("target_keep", "2 H B U", "bool", f"{KEEP} in them; of no use in the era head"),
        Array("q_keep", "M H B U", "bool", f"{KEEP} in the value loss, in each Q network"),
        Array("policy_noise", "H1 B A", "float32", "of the policy's actions in its own loss"),
        Array("policy_members", "2", "int64", "the two Q networks of the policy's loss"),
        Array("policy_keep", "2 H1 B U", "bool", f"{KEEP} in them"),
        *ENCODER,
        *DYNAMICS,
        *REWARD,
        *Q,
        *POLICY,
        *TARGET_Q,
        RATE,
        DISCOUNT,
        SIMPLICES,
        LIMIT,
        Setting("learning_rate", float, "of both optimisers; the encoder has 0.3 of it"),
        ERA,
    ),
    (
        Array("returns", "H B", "float32", "targets of the values", noise=1e-5),
        Array("consistency", "", "float32", "loss", noise=1e-5),
        Array("reward_loss", "", "float32", "loss", noise=1e-5),
        Array("value_loss", "", "float32", "loss", noise=1e-5),
        Array("policy_loss", "", "float32", "loss", noise=1e-4),
        Array("scale", "", "float32", "the running scale after", noise=1e-5),
        Array(
            "model_gradient",
            "G",
            "float32",
            "of the model's loss: all leaves of encoder, dynamics, reward head and Q networks, "
            "flattened, one after another as among the inputs",
            noise=1e-4,
        ),
        Array(
            "policy_gradient",
            "P",
            "float32",
            "of the policy's loss: all leaves of the policy network, likewise",
            noise=1e-4,
        ),
    ),
)

OPERATIONS = (TD_TARGETS, MODEL_LOSS, POLICY_LOSS, UPDATE)
