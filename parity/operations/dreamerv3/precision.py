"""With which precision the networks compute.

Axis names: B rows, I inputs, O outputs, F features.
"""

from __future__ import annotations

from parity.operations import Array, Operation, Setting

DEFAULT_PRECISION = Operation(
    "dreamerv3.default_precision",
    "Bits of the significand (24 in float32, 8 in bfloat16), with the defaults of a configuration, "
    "of what the encoder puts out, and of parameters",
    (),
    (
        Array("activations", "", "int64", "of the encoder's output"),
        Array("parameters", "", "int64", "of its kernels"),
        Array("slow_critic", "", "int64", "of the slow critic's kernels"),
    ),
)

LOW_PRECISION_NORM = Operation(
    "dreamerv3.low_precision_norm",
    "`dreamerv3.rms_norm` of a bfloat16 network, operation by operation",
    (
        Array("x", "B F", "float32", "activations, each of them a bfloat16"),
        Array("scale", "F", "float32", "the learned scale, likewise"),
    ),
    (Array("y", "B F", "float32", "normalised activations, each of them a bfloat16"),),
)

SLOW_CRITIC_LOGITS = Operation(
    "dreamerv3.slow_critic_logits",
    "The logits of a slow critic without hidden layers",
    (
        Setting("dtype", str, "that the networks compute in", ("float32", "bfloat16")),
        Array("features", "B I", "float32", "what it sees, each of them a bfloat16"),
        Array("kernel", "I O", "float32", "of its output layer; O is odd"),
    ),
    (Array("logits", "B O", "float32", "one per bin", noise=1e-6),),
)

OPERATIONS = (DEFAULT_PRECISION, LOW_PRECISION_NORM, SLOW_CRITIC_LOGITS)
