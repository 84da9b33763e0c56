"""The networks of TD-MPC2, what they hold, and how they start out."""

from __future__ import annotations

from parity.operations import Array, Operation, Setting
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

# What `parameter_counts` and `fresh_parameters` answer by.
NETWORKS = ("enc", "dyn", "rew", "pi", "q")
LAYERS = (
    *("enc_hidden0", "enc_out", "dyn_hidden0", "dyn_hidden1", "dyn_out"),
    *("rew_hidden0", "rew_hidden1", "rew_out", "pi_hidden0", "pi_hidden1", "pi_out"),
    *("q_hidden0", "q_hidden1", "q_out", "target_hidden0", "target_hidden1", "target_out"),
)

LATENT = Array("latent", "B L", "float32", "latent states")
ACTION = Array("action", "B A", "float32", "actions in [−1, 1]")
SIMPLEX_OUTPUT = (
    "Its last layer's act is a softmax over each group of V neighbouring features, not Mish."
)
MEMBERS = Array("members", "2", "int64", "the two Q networks that are drawn, different ones")

ENCODE = Operation(
    "tdmpc2.encode",
    f"The encoder: two normed layers without dropout. {SIMPLEX_OUTPUT} {NORMED_LINEAR}",
    (
        Array("observation", "B O", "float32", "in units of the environment"),
        *ENCODER,
        SIMPLICES,
    ),
    (Array("latent", "B L", "float32", "latent states", noise=1e-5),),
)

NEXT = Operation(
    "tdmpc2.next",
    f"The dynamics: three normed layers without dropout on [latent, action]. {SIMPLEX_OUTPUT} "
    f"{NORMED_LINEAR}",
    (LATENT, ACTION, *DYNAMICS, SIMPLICES),
    (Array("next_latent", "B L", "float32", "the states that the actions lead to", noise=1e-5),),
)

REWARD_LOGITS = Operation(
    "tdmpc2.reward_logits",
    "The reward head: two normed layers without dropout on [latent, action], then x · kernel + "
    f"bias. {NORMED_LINEAR}",
    (LATENT, ACTION, *REWARD),
    (Array("logits", "B N", "float32", "of the bins of the reward", noise=1e-5),),
)

POLICY_OUTPUTS = Operation(
    "tdmpc2.policy_outputs",
    "The network of the policy prior: two normed layers without dropout on the latent state, then "
    f"x · kernel + bias. {NORMED_LINEAR}",
    (LATENT, *POLICY),
    (
        Array(
            "outputs",
            "B A2",
            "float32",
            "means before squashing, then raw logarithms of the deviations",
            noise=1e-5,
        ),
    ),
)

Q_LOGITS = Operation(
    "tdmpc2.q_logits",
    "All Q networks: two normed layers on [latent, action], dropout in the first of them, then "
    f"x · kernel + bias. {NORMED_LINEAR}",
    (LATENT, ACTION, *Q, Array("keep", "M B U", "bool", f"{KEEP}, in each network"), RATE),
    (Array("logits", "M B N", "float32", "of the bins of the value", noise=1e-5),),
)

Q_VALUE = Operation(
    "tdmpc2.q_value",
    "The value from two drawn Q networks, each decoded from its logits (see `tdmpc2.q_logits`, "
    "`tdmpc2.twohot_decode`): their smaller one in targets, their mean elsewhere",
    (
        LATENT,
        ACTION,
        *Q,
        MEMBERS,
        Array("keep", "2 B U", "bool", f"{KEEP}, in each of the drawn networks, in their order"),
        RATE,
        LIMIT,
        Setting("reduction", str, "what becomes of the two values", ("min", "mean")),
    ),
    (Array("value", "B", "float32", "in units of the value", noise=1e-5),),
)

DROPOUT_IN_USE = Operation(
    "tdmpc2.dropout_in_use",
    "How much dropout scatters the values of the given Q networks where they are used: the "
    "standard deviation over K estimates of the same row, each with masks drawn anew, of the value "
    "of network 0, averaged over rows. In the paper's era everything drops; from eece801 on only "
    "the value loss (loss) and the policy's loss (policy) do, targets and plans do not",
    (
        LATENT,
        ACTION,
        *Q,
        RATE,
        LIMIT,
        Setting("era", str, "whose rule: the paper's, or that of later commits", ("paper", "head")),
        Setting("draws", int, "K"),
        Setting("seed", int, "of the masks"),
    ),
    (
        Array("loss", "", "float64", "in the value loss", noise=0.5),
        Array("policy", "", "float64", "in the policy's loss", noise=0.5),
        Array("target", "", "float64", "in targets", noise=0.5),
        Array("plan", "", "float64", "in plans", noise=0.5),
    ),
)

PARAMETER_COUNTS = Operation(
    "tdmpc2.parameter_counts",
    "How many numbers the optimisers train, by network: encoder, dynamics, reward head, policy "
    "prior, all Q networks. Sizes set the encoder's width and layers, the width U of the other "
    "networks, the length of a latent state and the number of Q networks: 1: 256, 2, 384, 128, 2; "
    "5: 256, 2, 512, 512, 5; 19: 1024, 3, 1024, 768, 5; 48: 1792, 4, 1792, 768, 5; 317: 4096, 5, "
    "4096, 1376, 8. There are 101 bins",
    (
        Setting("size", int, "of the model, in millions of numbers", (1, 5, 19, 48, 317)),
        Setting("observation_size", int, "length of an observation"),
        Setting("action_size", int, "length of an action"),
    ),
    (Array("numbers", "5", "int64", "trained numbers of each network"),),
)

FRESH_PARAMETERS = Operation(
    "tdmpc2.fresh_parameters",
    "How a fresh agent of size 1 starts, layer by layer (enc hidden0, out; dyn hidden0, hidden1, "
    "out; rew, pi, q, target hidden0, hidden1, out): kernels are normal with the standard "
    "deviation 0.02, biases and offsets 0, scales 1; the output kernels of the reward head and of "
    "the Q networks are 0, and the target networks are copies. At eece801 alone (torch), kernels "
    "and biases of the hidden layers of the Q networks, and the biases of their output, are "
    "uniform within ± 1/sqrt(inputs)",
    (
        Setting("q_init", str, "how the Q networks start", ("normal", "torch")),
        Setting("observation_size", int, "length of an observation"),
        Setting("action_size", int, "length of an action"),
        Setting("seed", int, "of the initialisation"),
    ),
    (
        Array("kernel_std", "17", "float64", "root mean square of each kernel", noise=1.0),
        Array("kernel_peak", "17", "float64", "its largest |weight|", noise=1.0),
        Array("bias_peak", "17", "float64", "the largest |bias|", noise=1.0),
        Array("scale_error", "17", "float64", "the largest |scale − 1|; 0 without a norm"),
        Array("offset_peak", "17", "float64", "the largest |offset|; 0 without a norm"),
        Array(
            "alike",
            "",
            "int64",
            "pairs of kernels that begin with the same numbers, of all drawn layers and members "
            "of the ensemble; the target networks are left out",
        ),
        Array("target_error", "", "float64", "largest |target − Q| over their parameters"),
    ),
)

OPERATIONS = (
    ENCODE,
    NEXT,
    REWARD_LOGITS,
    POLICY_OUTPUTS,
    Q_LOGITS,
    Q_VALUE,
    DROPOUT_IN_USE,
    PARAMETER_COUNTS,
    FRESH_PARAMETERS,
)
