"""Both optimisers and the target networks, on given gradients."""

from __future__ import annotations

from parity.operations import Array, Operation, Setting

_NETWORKS = (
    ("encoder", "L", "of the encoder"),
    ("dynamics", "D", "of the dynamics"),
    ("reward", "N", "of the reward head"),
    ("q", "M N", "of the Q networks"),
    ("policy", "A2", "of the policy prior"),
)

OPTIMIZER = Operation(
    "tdmpc2.optimizer",
    "K updates of fresh optimisers, one parameter tensor per network. The model's gradients are "
    "clipped together: times min(1, limit / (‖g‖ + 1e-6)); so is the policy's, by itself. Adam: "
    "m ← 0.9 m + 0.1 g, v ← 0.999 v + 0.001 g², p ← p − lr · m/(1 − 0.9ᵗ) / (√(v/(1 − 0.999ᵗ)) + "
    "ε), with ε = 1e-8 for the model and 1e-5 for the policy, and lr times enc_lr_scale for the "
    "encoder. After each update, target ← target + τ · (q − target)",
    (
        *(Array(name, shape, "float32", f"parameters {doc}") for name, shape, doc in _NETWORKS),
        Array("target", "M N", "float32", "parameters of the target networks"),
        *(
            Array(f"{name}_gradients", f"K {shape}", "float32", f"{doc}, in each update")
            for name, shape, doc in _NETWORKS
        ),
        Setting("learning_rate", float, "lr; 3e-4 in training"),
        Setting("enc_lr_scale", float, "0.3 in training"),
        Setting("limit", float, "largest norm of either gradient; 20 in training"),
        Setting("tau", float, "τ; 0.01 in training"),
        Setting(
            "counted",
            str,
            "model: ‖g‖ is that of the model's gradients. all, in the paper's era: it also counts "
            "the clipped gradient of the policy's update before, which nothing has reset",
            ("model", "all"),
        ),
    ),
    (
        *(
            Array(name, f"K {shape}", "float32", f"parameters {doc} after each update", noise=1e-6)
            for name, shape, doc in _NETWORKS
        ),
        Array("target", "K M N", "float32", "of the target networks, after each", noise=1e-6),
        Array("norm", "K", "float32", "‖g‖ of each update, as counted", noise=1e-6),
    ),
)

OPERATIONS = (OPTIMIZER,)
