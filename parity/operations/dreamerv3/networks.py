"""The layers and networks of DreamerV3, what they hold, and how they start out.

What is fixed everywhere: ε = 1e-4 in the norms, 1 % unimix, SiLU activations.
"""

from __future__ import annotations

from parity.operations import Array, Operation, Setting
from parity.operations.dreamerv3.modes import MODE
from parity.operations.dreamerv3.parameters import (
    ENCODER,
    HIDDEN_LAYER,
    hidden,
    linear,
    perceptron,
)

NETWORKS = ("enc", "dyn", "dec", "rew", "con", "actor", "critic")
LEAVES = ("kernel", "bias", "scale")

_DETER = Array("deter", "B D", "float32", "recurrent state")
_STOCH = Array("stoch", "B S C", "float32", "categorical state, one-hot")

HIDDEN = Operation(
    "dreamerv3.hidden_layer",
    f"The one kind of hidden layer. {HIDDEN_LAYER}",
    (Array("x", "B F", "float32", "inputs"), *hidden("layer", "F", "U"), MODE),
    (Array("y", "B U", "float32", "activations", noise=1e-6),),
)

BLOCK_HIDDEN = Operation(
    "dreamerv3.block_hidden_layer",
    "A hidden layer with a block-diagonal kernel: outputs k · O to (k + 1) · O − 1 see block k of "
    "`blocked`, then all of `shared`, through kernel k. The mean of the norm is over all G · O "
    f"outputs. {HIDDEN_LAYER}",
    (
        Array("blocked", "B GI", "float32", "inputs of the blocks, G · I, one block after another"),
        Array("shared", "B F", "float32", "inputs of every block"),
        Array("kernel", "G IF O", "float32", "weights of each block, [I + F inputs, O outputs]"),
        Array("bias", "GO", "float32", "bias, block by block"),
        Array("scale", "GO", "float32", "scale of the RMS norm"),
        MODE,
    ),
    (Array("y", "B GO", "float32", "activations, block by block", noise=1e-6),),
)

ENCODE = Operation(
    "dreamerv3.encode",
    "The encoder of a vector: three hidden layers on symlog(x) = sign(x) · ln(1 + |x|). "
    f"{HIDDEN_LAYER}",
    (Array("observation", "B O", "float32", "in units of the environment"), *ENCODER),
    (Array("embed", "B U", "float32", "embeddings", noise=1e-5),),
)

_HEAD_OUTPUT = (
    Array(
        "output",
        "B K",
        "float32",
        "rew and critic: logits of the K bins; con: the logit, K = 1; dec: the mean in symlog "
        "space; actor: log((1 − 0.01) · softmax(logits) + 0.01 / K)",
        noise=1e-5,
    ),
)

SHALLOW_HEAD = Operation(
    "dreamerv3.shallow_head",
    "Reward or continue head: one hidden layer on [deter, stoch flattened], then x · kernel + "
    f"bias. {HIDDEN_LAYER}",
    (
        Setting("network", str, "which head", ("rew", "con")),
        _DETER,
        _STOCH,
        *perceptron("head", "DSC", 1),
        *linear("head_out", "U", "K"),
    ),
    _HEAD_OUTPUT,
)

DEEP_HEAD = Operation(
    "dreamerv3.deep_head",
    "Decoder, critic or discrete actor: three hidden layers on [deter, stoch flattened], then "
    f"x · kernel + bias. {HIDDEN_LAYER}",
    (
        Setting("network", str, "which head", ("dec", "critic", "actor")),
        _DETER,
        _STOCH,
        *perceptron("head", "DSC", 3),
        *linear("head_out", "U", "K"),
    ),
    _HEAD_OUTPUT,
)

CONTINUOUS_ACTOR = Operation(
    "dreamerv3.continuous_actor",
    "The policy over vectors: three hidden layers on [deter, stoch flattened], then two affine "
    "outputs m and s; mean tanh(m), deviation 0.9 · sigmoid(s + 2) + 0.1, and an action is mean + "
    f"deviation · noise, not clipped. {HIDDEN_LAYER}",
    (
        _DETER,
        _STOCH,
        Array("noise", "B A", "float32", "standard normal noise of the action"),
        *perceptron("actor", "DSC", 3),
        *linear("actor_out", "U", "A"),
        *linear("actor_std", "U", "A"),
    ),
    (
        Array("mean", "B A", "float32", "of the normal", noise=1e-5),
        Array("deviation", "B A", "float32", "of the normal", noise=1e-5),
        Array("action", "B A", "float32", "the draw", noise=1e-5),
    ),
)

_SIZES = (
    Setting("observation_size", int, "length of an observation"),
    Setting("actions", int, "discrete actions"),
    Setting("units", int, "U, width of encoder, decoder, heads, actor and critic"),
    Setting("hidden", int, "W, width of the hidden layers inside the recurrent model"),
    Setting("deter", int, "D, length of the recurrent state"),
    Setting("stoch", int, "S, categorical variables"),
    Setting("classes", int, "C, classes of each"),
    Setting("blocks", int, "G, blocks of the recurrence"),
    Setting("bins", int, "bins of the two-hot heads"),
)

PARAMETER_COUNTS = Operation(
    "dreamerv3.parameter_counts",
    "What is optimised, by network (enc, dyn, dec, rew, con, actor, critic) and by kind of leaf "
    "(kernel, bias, scale of a norm); layers: enc 3, dec 3, rew 1, con 1, actor 3, critic 3, and "
    "in dyn 3 inputs, 1 block layer, gates, 2 to the prior, 1 to the posterior, and both outputs",
    _SIZES,
    (
        Array("leaves", "7 3", "int64", "how many leaves"),
        Array("numbers", "7 3", "int64", "how many numbers they hold"),
    ),
)

PARAMETER_NAMES = Operation(
    "dreamerv3.parameter_names",
    "The names of what is optimised",
    _SIZES,
    (
        Array(
            "text",
            "L",
            "uint8",
            "UTF-8: a line `name shape` for each leaf, sorted, the shape as in 4x64; the core's "
            "names begin with the network, the reference's with agent/ and the network",
        ),
    ),
)

FRESH_OUTPUTS = Operation(
    "dreamerv3.fresh_outputs",
    "The output layers of a freshly initialised agent of U = W = 64, D = 64, S = 8, C = 4, "
    "G = 4, O = 4 and 2 discrete actions. Kernels are truncated normals with the standard "
    "deviation outscale / sqrt(inputs); outscale is 0.1 for dec, 0 for rew and critic, 0.01 for "
    "actor, 1 for the rest. The logits are those of reward head and critic once the biases of "
    "their output layers are set to `shift`",
    (
        Array("features", "B 96", "float32", "deter and flattened stoch"),
        Array("shift", "255", "float32", "what the biases are set to"),
        Setting("seed", int, "of the initialisation"),
    ),
    (
        Array(
            "outscale",
            "7",
            "float32",
            "sqrt(mean(kernel²) · inputs) of the output layers of dec, rew, con, actor, critic, "
            "prior and posterior",
            noise=1e-5,
        ),
        Array("biases", "7", "float32", "the largest |bias| of each, before any is set"),
        Array("reward_logits", "B 255", "float32", "of the reward head"),
        Array("critic_logits", "B 255", "float32", "of the critic"),
        Array("slow_critic_logits", "B 255", "float32", "of the slow critic"),
    ),
)

OPERATIONS = (
    HIDDEN,
    BLOCK_HIDDEN,
    ENCODE,
    SHALLOW_HEAD,
    DEEP_HEAD,
    CONTINUOUS_ACTOR,
    PARAMETER_COUNTS,
    PARAMETER_NAMES,
    FRESH_OUTPUTS,
)
