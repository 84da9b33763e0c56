"""The optimiser, and the moving average that is the slow critic.

Axis names: I inputs and O outputs of a layer, K updates, P parameters.
"""

from __future__ import annotations

from parity.operations import Array, Operation, Setting

_KERNEL = Array("kernel", "I O", "float32", "a kernel, one tensor")
_BIAS = Array("bias", "O", "float32", "a bias, another tensor")

GRADIENT_CLIPPING = Operation(
    "dreamerv3.gradient_clipping",
    "adaptive clipping of each tensor's gradient g with parameter p: "
    "g / max(1, ‖g‖ / (0.3 · max(1e-3, ‖p‖))), with the Euclidean norms of whole tensors",
    (
        _KERNEL,
        _BIAS,
        Array("kernel_gradient", "I O", "float32", "of the kernel"),
        Array("bias_gradient", "O", "float32", "of the bias"),
    ),
    (
        Array("kernel", "I O", "float32", "the kernel's clipped gradient", noise=1e-6),
        Array("bias", "O", "float32", "the bias's clipped gradient", noise=1e-6),
    ),
)

LAPROP = Operation(
    "dreamerv3.laprop",
    "LaProp from zero moments, for t = 1 to K: v ← 0.999 v + 0.001 g², "
    "u = g / (√(v / (1 − 0.999ᵗ)) + 1e-20), m ← 0.9 m + 0.1 u, the update is m / (1 − 0.9ᵗ)",
    (Array("gradients", "K P", "float32", "one gradient per update"),),
    (Array("updates", "K P", "float32", "before step size and sign", noise=1e-5),),
)

WARMUP_FACTOR = Operation(
    "dreamerv3.warmup_factor",
    "share of the step size in the next update: min(1, updates / warmup)",
    (
        Array("updates", "K", "int64", "updates made before it"),
        Setting("warmup", int, "length of the ramp; 1000 in training"),
    ),
    (Array("factor", "K", "float32", "in [0, 1]", noise=1e-5),),
)

OPTIMIZER = Operation(
    "dreamerv3.optimizer",
    "K updates of a fresh optimiser: clipping as in `dreamerv3.gradient_clipping`, LaProp as in "
    "`dreamerv3.laprop`, times −learning rate, times the factor of `dreamerv3.warmup_factor` (0 "
    "for the first update), added to the parameters; there is no weight decay",
    (
        _KERNEL,
        _BIAS,
        Array("kernel_gradients", "K I O", "float32", "one gradient of the kernel per update"),
        Array("bias_gradients", "K O", "float32", "one gradient of the bias per update"),
        Setting("learning_rate", float, "step size after the ramp; 4e-5 in training"),
        Setting("warmup", int, "length of the ramp; 1000 in training"),
    ),
    (
        Array("kernels", "K I O", "float32", "the kernel after each update", noise=1e-6),
        Array("biases", "K O", "float32", "the bias after each update", noise=1e-6),
    ),
)

SLOW_CRITIC = Operation(
    "dreamerv3.slow_critic",
    "the slow critic over K updates: slow ← 0.02 · critic + 0.98 · slow with the critic's "
    "parameters after each update; the very first update of a run copies them",
    (
        Array("critic", "K P", "float32", "the critic's parameters after each update"),
        Array("initial", "P", "float32", "the slow critic's before"),
        Setting("updates", int, "updates of the run before the first of these"),
    ),
    (Array("slow", "K P", "float32", "the slow critic's after each update", noise=1e-6),),
)

OPERATIONS = (GRADIENT_CLIPPING, LAPROP, WARMUP_FACTOR, OPTIMIZER, SLOW_CRITIC)
