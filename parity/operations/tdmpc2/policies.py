"""The policy prior as a distribution, from the outputs of its network."""

from __future__ import annotations

from parity.operations import Array, Operation, Setting

FORM = Setting(
    "form",
    str,
    "what the policy's loss takes for the entropy: density in the paper's era, scaled from "
    "eece801 on",
    ("density", "scaled"),
)

POLICY = Operation(
    "tdmpc2.policy",
    "A draw of the policy prior. The outputs are means m, then raw logarithms r: ln σ = low + "
    "(high − low) · (tanh(r) + 1) / 2, the action is tanh(m + σ · noise). With s = "
    "Σ ln(max(0, 1 − action²) + 1e-6) and A actions, the entropy is, for density, "
    "s − A · (Σ(−noise²/2 − ln σ) − ln √(2π)); for scaled, "
    "(s − g) · A · g / (g − s + 1e-8) with g = Σ(−noise²/2 − ln σ − ln √(2π)). Where a task lacks "
    "actions, their m, ln σ and noise are 0, and A counts the others; g has its constant for each "
    "of them all the same",
    (
        Array("outputs", "B A2", "float32", "of the policy network: A means, A raw logarithms"),
        Array("noise", "B A", "float32", "standard normal"),
        Array("mask", "B A", "float32", "1 for the actions that a row's task has, else 0"),
        Setting("log_std_min", float, "low; −10 in training"),
        Setting("log_std_max", float, "high; 2 in training"),
        FORM,
    ),
    (
        Array("mean", "B A", "float32", "tanh of the mean: the action without noise", noise=1e-6),
        Array("log_std", "B A", "float32", "ln σ, before squashing", noise=1e-6),
        Array("action", "B A", "float32", "in [−1, 1]", noise=1e-6),
        Array("entropy", "B", "float32", "nats, times what the form makes of them", noise=1e-5),
    ),
)

OPERATIONS = (POLICY,)
