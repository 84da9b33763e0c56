"""The numerics that every TD-MPC2 network, and every loss, is made of.

Rewards and values are scalars in symlog space on N bins from −limit to limit, N odd; in training
N is 101 and the limit 10.
"""

from __future__ import annotations

from parity.operations import Array, Operation, Setting
from parity.operations.tdmpc2.parameters import KEEP, NORMED_LINEAR, RATE, normed

_LOGITS = Array("logits", "B N", "float32", "unnormalised log-probabilities of the bins")
_VALUE = Array("value", "B", "float32", "scalars in units of the value")
_COUNT = Setting("count", int, "N, the number of bins", axis="N")
_LIMIT = Setting("limit", float, "the outermost bin, in symlog space")

SYMLOG = Operation(
    "tdmpc2.symlog",
    "sign(x) · ln(1 + |x|)",
    (Array("x", "B", "float32", "any scalar"),),
    (Array("y", "B", "float32", "symlog of x", noise=3e-7),),
)

SYMEXP = Operation(
    "tdmpc2.symexp",
    "sign(x) · (exp(|x|) − 1), the inverse of symlog",
    (Array("x", "B", "float32", "a symlog value"),),
    (Array("y", "B", "float32", "symexp of x", noise=3e-7),),
)

MISH = Operation(
    "tdmpc2.mish",
    "x · tanh(ln(1 + eˣ)), the activation of hidden layers",
    (Array("x", "B", "float32", "any scalar"),),
    (Array("y", "B", "float32", "Mish of x", noise=3e-7),),
)

SIM_NORM = Operation(
    "tdmpc2.sim_norm",
    "Simplicial normalisation: a softmax over each group of V neighbouring features",
    (
        Array("x", "B F", "float32", "features; F is a multiple of V"),
        Setting("length", int, "V, the length of a simplex; 8 in training"),
    ),
    (Array("y", "B F", "float32", "F / V simplices, one after another", noise=3e-7),),
)

NORMED_LINEAR_LAYER = Operation(
    "tdmpc2.normed_linear",
    f"The one kind of hidden layer. {NORMED_LINEAR}",
    (
        Array("x", "B F", "float32", "inputs"),
        *normed("layer", "F", "U"),
        Array("keep", "B U", "bool", KEEP),
        RATE,
    ),
    (Array("y", "B U", "float32", "activations", noise=1e-6),),
)

TWOHOT_BINS = Operation(
    "tdmpc2.twohot_bins",
    "The support of rewards and values: an even grid on [−limit, limit]",
    (_COUNT, _LIMIT),
    (Array("bins", "N", "float32", "bin positions in symlog space", floor=1e-6),),
)

TWOHOT_RANGE = Operation(
    "tdmpc2.twohot_range",
    "The support of an agent that is asked for bins from one end to another, in symlog space",
    (
        _COUNT,
        Setting("low", float, "the first bin"),
        Setting("high", float, "the last bin; above the first"),
    ),
    (
        Array("refused", "", "int64", "whether there is no such agent; nothing else counts if so"),
        Array("bins", "N", "float32", "bin positions in symlog space", floor=1e-6),
    ),
)

TWOHOT_ENCODE = Operation(
    "tdmpc2.twohot_encode",
    "Weights of symlog(value), clipped to [−limit, limit], on the two bins around it, by linear "
    "interpolation",
    (_VALUE, _COUNT, _LIMIT),
    (
        Array(
            "weights",
            "B N",
            "float32",
            "at most two entries are not 0; they sum to 1",
            noise=1e-5,
        ),
    ),
)

TWOHOT_LOSS = Operation(
    "tdmpc2.twohot_loss",
    "Cross entropy of the two-hot target of `value` under softmax(logits)",
    (_LOGITS, _VALUE, _LIMIT),
    (Array("loss", "B", "float32", "nats", noise=1e-6),),
)

TWOHOT_DECODE = Operation(
    "tdmpc2.twohot_decode",
    "symexp of the expectation of the bins under softmax(logits)",
    (_LOGITS, _LIMIT),
    (Array("value", "B", "float32", "units of the value", noise=1e-5),),
)

PERCENTILES = Operation(
    "tdmpc2.percentiles",
    "The 5th and the 95th percentile of a batch of values, by linear interpolation between the "
    "sorted values at the positions 0.05 · (B − 1) and 0.95 · (B − 1)",
    (Array("values", "B", "float32", "in units of the value"),),
    (
        Array("low", "", "float32", "the 5th percentile", noise=1e-6),
        Array("high", "", "float32", "the 95th percentile", noise=1e-6),
    ),
)

RUNNING_SCALE = Operation(
    "tdmpc2.running_scale",
    "The running scale S over K updates: S ← (1 − τ) · S + τ · max(1, P95 − P5) of each batch",
    (
        Array("values", "K B", "float32", "values of the first step of each sequence"),
        Array("initial", "", "float32", "S before the first update; 1 in a fresh agent"),
        Setting("tau", float, "τ, the weight of a new batch; 0.01 in training"),
    ),
    (Array("scale", "K", "float32", "S after each update", noise=1e-6),),
)

DISCOUNT = Operation(
    "tdmpc2.discount",
    "The discount of a task from the length of its episodes: (x − 1) / x with x = length / 5, "
    "bounded by 0.95 and 0.995",
    (Array("episode_length", "K", "int64", "steps of an episode"),),
    (Array("discount", "K", "float64", "γ", noise=1e-15),),
)

OPERATIONS = (
    SYMLOG,
    SYMEXP,
    MISH,
    SIM_NORM,
    NORMED_LINEAR_LAYER,
    TWOHOT_BINS,
    TWOHOT_RANGE,
    TWOHOT_ENCODE,
    TWOHOT_LOSS,
    TWOHOT_DECODE,
    PERCENTILES,
    RUNNING_SCALE,
    DISCOUNT,
)
