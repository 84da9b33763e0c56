"""Planning by model predictive path integral, with everything random given."""

from __future__ import annotations

from parity.operations import Array, Operation, Setting
from parity.operations.tdmpc2.losses import DISCOUNT, ERA
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
    Q,
)

_ELITES = Setting("elites", int, "K, how many of the best are fitted; 64 in training", axis="K")
_WEIGHTS = (
    Setting("temperature", float, "weight of a value in an elite's weight; 0.5 in training"),
    Setting("min_std", float, "least standard deviation; 0.05 in training"),
    Setting("max_std", float, "its largest; 2 in training"),
)

FIT = Operation(
    "tdmpc2.fit",
    "Fits a Gaussian to the K best of N action sequences: their weights are "
    "softmax(temperature · value), their weighted mean and standard deviation the fit; the "
    "deviation is clipped to [min_std, max_std]",
    (
        Array("actions", "H N A", "float32", "in [−1, 1]"),
        Array("values", "N", "float32", "of the sequences"),
        _ELITES,
        *_WEIGHTS,
    ),
    (
        Array("mean", "H A", "float32", "of the elites' actions", noise=1e-5),
        Array("std", "H A", "float32", "of the elites' actions", noise=1e-5),
    ),
)

PLAN = Operation(
    "tdmpc2.plan",
    "One plan from one observation. P sequences of H actions are the policy's, along its own "
    "rollout; S more are drawn in each of I iterations: clip(mean + std · noise, −1, 1). The first "
    "mean is the previous one a step later, its last step 0, or all 0 at the start of an episode; "
    "the first std is max_std. A sequence's value is Σ γᵗ · reward + γᴴ · Q, with the predicted "
    "rewards and the mean of the two drawn Q networks at the policy's action in the last state. "
    "The next mean and std are those of `tdmpc2.fit`. After the last iteration an elite is drawn: "
    "argmax of ln(weight) + gumbel, the elites in descending order of value. The action is its "
    "first one, plus std · action_noise if exploring, clipped to [−1, 1]. In the paper's era the Q "
    f"networks drop. Policy draws are those of `tdmpc2.policy` with ln σ in [−10, 2]. "
    f"{NORMED_LINEAR}",
    (
        Array("observation", "O", "float32", "in units of the environment"),
        Array("previous", "H A", "float32", "the mean that the plan before ended with"),
        Setting("t0", bool, "whether an episode starts"),
        Setting("explore", bool, "false in an evaluation"),
        Array("policy_noise", "H P A", "float32", "of the policy's sequences"),
        Array("samples", "I H S A", "float32", "noise of the other sequences"),
        Array(
            "value_noise", "I T A", "float32", "of the last actions; T = P + S, the policy's first"
        ),
        Array("members", "I 2", "int64", "the two Q networks of each iteration"),
        Array("keep", "I 2 T U", "bool", f"{KEEP} in them; of no use in the era head"),
        Array("gumbel", "K", "float32", "of the draw of an elite"),
        Array("action_noise", "A", "float32", "of the exploration"),
        Array(
            "mask",
            "A",
            "float32",
            "1 for the actions that the task has, all of them where there is one task. The others "
            "are 0 in every action, mean and std that is fitted, and not counted in entropies",
        ),
        Array("scale", "", "float32", "the running scale, which a plan leaves alone"),
        *ENCODER,
        *DYNAMICS,
        *REWARD,
        *Q,
        *POLICY,
        _ELITES,
        *_WEIGHTS,
        RATE,
        DISCOUNT,
        SIMPLICES,
        LIMIT,
        ERA,
    ),
    (
        Array("action", "A", "float32", "in [−1, 1]", noise=1e-4),
        Array("mean", "H A", "float32", "of the last fit: what the next plan is given", noise=1e-4),
        Array("values", "I T", "float32", "of all sequences in each iteration", noise=1e-4),
        Array("means", "I H A", "float32", "that each iteration draws with", noise=1e-4),
        Array("stds", "I H A", "float32", "that each iteration draws with", noise=1e-4),
        Array(
            "changed", "", "int64", "numbers among parameters and running scale that differ after"
        ),
    ),
)

FRESH_VALUES = Operation(
    "tdmpc2.fresh_values",
    "What K fresh agents outside of the episodic mode take action sequences to be worth: the "
    "values of all S sequences in the first iteration of a plan at the start of an episode, 2 of "
    "which are the policy's. Widths are 8, latent states 16 long, there are 2 Q networks, 101 bins "
    "and a limit of 10; actions are 2 long; episodes have 500 steps, so that γ = 0.99; H is 3. "
    "Rewards are predicted to be 0, as in every fresh agent, and all Q networks have the given "
    "biases in their output, whose kernel is 0: each sequence is worth γ³ times the value that "
    "these stand for",
    (
        Array("observation", "O", "float32", "that is planned from"),
        Array("bias", "101", "float32", "of the output of every Q network: logits of the bins"),
        Setting("agents", int, "K", axis="K"),
        Setting("sequences", int, "S", axis="S"),
        Setting("seed", int, "of the first agent; the others have the next ones"),
    ),
    (Array("values", "K S", "float32", "of the sequences", noise=1e-4),),
)

OPERATIONS = (FIT, PLAN, FRESH_VALUES)
