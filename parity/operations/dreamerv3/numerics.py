"""The numerics that every DreamerV3 network shares."""

from __future__ import annotations

from parity.operations import Array, Operation, Setting
from parity.operations.dreamerv3.modes import MODE

_LOGITS = Array("logits", "B N", "float32", "unnormalised log-probabilities of the bins")
_BINS = Array("bins", "N", "float32", "bin positions, ascending, in units of the value")
_VALUE = Array("value", "B", "float32", "scalars in units of the value")

SYMLOG = Operation(
    "dreamerv3.symlog",
    "sign(x) · ln(1 + |x|)",
    (Array("x", "B", "float32", "any scalar"), MODE),
    (Array("y", "B", "float32", "symlog of x", noise=3e-7),),
)

SYMEXP = Operation(
    "dreamerv3.symexp",
    "sign(x) · (exp(|x|) − 1), the inverse of symlog",
    (Array("x", "B", "float32", "a symlog value"), MODE),
    (Array("y", "B", "float32", "symexp of x", noise=3e-7),),
)

LATENT_LOG_PROBS = Operation(
    "dreamerv3.latent_log_probs",
    "log((1 − u) · softmax(logits) + u / N): the latent's categorical after unimix",
    (
        Array("logits", "B N", "float32", "raw logits of one categorical with N classes"),
        Setting("unimix", float, "u, the share of the uniform distribution"),
        MODE,
    ),
    (Array("log_probs", "B N", "float32", "log-probabilities in nats", noise=1e-6),),
)

ACTOR_LOG_PROBS = Operation(
    "dreamerv3.actor_log_probs",
    "log((1 − u) · softmax(logits) + u / N): the discrete policy after unimix",
    LATENT_LOG_PROBS.inputs,
    LATENT_LOG_PROBS.outputs,
)

TWOHOT_BINS = Operation(
    "dreamerv3.twohot_bins",
    "the support of the reward head and the critic: symexp of an even grid on [−20, 20]",
    (Setting("count", int, "N, the number of bins", axis="N"), MODE),
    (Array("bins", "N", "float32", "bin positions in units of the value", noise=3e-7),),
)

TWOHOT_ENCODE = Operation(
    "dreamerv3.twohot_encode",
    "weights on the two bins around a value, by linear interpolation",
    (_VALUE, _BINS, MODE),
    (Array("weights", "B N", "float32", "at most two entries are not 0; they sum to 1"),),
)

TWOHOT_LOSS = Operation(
    "dreamerv3.twohot_loss",
    "cross entropy of the two-hot target of `value` under softmax(logits)",
    (_LOGITS, _VALUE, _BINS, MODE),
    (Array("loss", "B", "float32", "nats", noise=1e-6),),
)

TWOHOT_DECODE = Operation(
    "dreamerv3.twohot_decode",
    "the expectation of the bins under softmax(logits)",
    (_LOGITS, _BINS, MODE),
    (Array("value", "B", "float32", "units of the value", noise=1e-6, floor=1.0),),
)

TWOHOT_EXPECTATION = Operation(
    "dreamerv3.twohot_expectation",
    "the expectation of the bins under given probabilities: the last step of the decode",
    (Array("probs", "B N", "float32", "probabilities of the bins"), _BINS, MODE),
    TWOHOT_DECODE.outputs,
)

TWOHOT_HEAD_AT_INIT = Operation(
    "dreamerv3.twohot_head_at_init",
    "what a freshly initialised two-hot head predicts for a batch of features",
    (
        Array("features", "B F", "float32", "inputs of the head"),
        Array("shift", "255", "float32", "what the bias of the output layer is set to"),
        Setting("seed", int, "seed of the initialisation"),
        MODE,
    ),
    (Array("value", "B", "float32", "predicted scalar in units of the value", floor=1.0),),
)

KERNEL_INIT = Operation(
    "dreamerv3.kernel_init",
    "the initial kernel of a dense layer",
    (
        Setting("fan_in", int, "I, the number of inputs", axis="I"),
        Setting("fan_out", int, "O, the number of outputs", axis="O"),
        Setting("outscale", float, "scale of the layer's initial output"),
        Setting("seed", int, "s, drawn from the Threefry key [0, s]"),
    ),
    (Array("kernel", "I O", "float32", "initial weights", noise=3e-7),),
)

BLOCK_KERNEL_INIT = Operation(
    "dreamerv3.block_kernel_init",
    "the initial kernel of a block-diagonal dense layer",
    (
        Setting("blocks", int, "G, the number of blocks", axis="G"),
        *KERNEL_INIT.inputs,
    ),
    (Array("kernel", "G I O", "float32", "I and O are per block", noise=3e-7),),
)

RMS_NORM = Operation(
    "dreamerv3.rms_norm",
    "x · scale / sqrt(mean(x²) + ε)",
    (
        Array("x", "B F", "float32", "activations"),
        Array("scale", "F", "float32", "the learned scale"),
        MODE,
    ),
    (Array("y", "B F", "float32", "normalised activations", noise=1e-6),),
)

RETURN_NORMALISER = Operation(
    "dreamerv3.return_normaliser",
    "moving averages of the 5th and 95th percentile of the returns, over K updates",
    (
        Array("returns", "K B", "float32", "one batch of returns per update"),
        Array("initial", "2", "float32", "low and high before the first update"),
        MODE,
    ),
    (
        Array("low", "K", "float32", "moving 5th percentile after each update", noise=1e-6),
        Array("high", "K", "float32", "moving 95th percentile after each update", noise=1e-6),
        Array("scale", "K", "float32", "max(1, high − low)", noise=1e-6),
    ),
)

UPDATE_SCHEDULE = Operation(
    "dreamerv3.update_schedule",
    "how many updates run when each environment step has been seen",
    (
        Setting("numerator", int, "of r, the intended updates per environment step"),
        Setting("denominator", int, "of r"),
        Array("steps", "T", "int64", "increasing step counts; the gate opens at the first"),
    ),
    (Array("updates", "T", "int64", "updates that run at each step"),),
)

OPERATIONS = (
    SYMLOG,
    SYMEXP,
    LATENT_LOG_PROBS,
    ACTOR_LOG_PROBS,
    TWOHOT_BINS,
    TWOHOT_ENCODE,
    TWOHOT_LOSS,
    TWOHOT_DECODE,
    TWOHOT_EXPECTATION,
    TWOHOT_HEAD_AT_INIT,
    KERNEL_INIT,
    BLOCK_KERNEL_INIT,
    RMS_NORM,
    RETURN_NORMALISER,
    UPDATE_SCHEDULE,
)
