"""The policy's distributions, from what the actor puts out.

Axis names: B rows, N actions (discrete), A length of an action (continuous).
"""

from __future__ import annotations

from parity.operations import Array, Operation

_LOG_PROB = Array("log_prob", "B", "float32", "of the given action, in nats", noise=3e-6)
_ENTROPY = Array("entropy", "B", "float32", "nats", noise=3e-6)


def _slope(of: str, outputs: str, shape: str) -> Array:
    doc = f"gradient of Σ {of} over the rows in {outputs}; the action is a constant"
    return Array(f"{of}_slope", shape, "float32", doc, noise=3e-6)


DISCRETE_POLICY = Operation(
    "dreamerv3.discrete_policy",
    "the categorical 0.99 · softmax(raw) + 0.01 / N: log-probability of an action, entropy, and "
    "the draw argmax(log-probabilities + Gumbel noise)",
    (
        Array("raw", "B N", "float32", "the actor's output"),
        Array("action", "B", "int32", "an action in [0, N)"),
        Array("gumbel", "B N", "float32", "Gumbel noise"),
    ),
    (
        _LOG_PROB,
        _ENTROPY,
        _slope("log_prob", "`raw`", "B N"),
        _slope("entropy", "`raw`", "B N"),
        Array("drawn", "B", "int32", "the action that is drawn with the noise"),
    ),
)

CONTINUOUS_POLICY = Operation(
    "dreamerv3.continuous_policy",
    "independent normals with the mean tanh(mean) and the standard deviation "
    "0.9 · sigmoid(deviation + 2) + 0.1: log-density of an action, entropy, and the draw "
    "mean + standard deviation · noise, which is not clipped",
    (
        Array("mean", "B A", "float32", "the actor's first output, unbounded"),
        Array("deviation", "B A", "float32", "the actor's second output, unbounded"),
        Array("action", "B A", "float32", "an action"),
        Array("normal", "B A", "float32", "standard normal noise"),
    ),
    (
        Array("loc", "B A", "float32", "the mean", noise=1e-6),
        Array("scale", "B A", "float32", "the standard deviation", noise=1e-6),
        _LOG_PROB,
        _ENTROPY,
        _slope("log_prob", "`mean` (first of the two) and `deviation`", "B 2 A"),
        _slope("entropy", "`mean` and `deviation`, likewise", "B 2 A"),
        Array("drawn", "B A", "float32", "the action that is drawn with the noise", noise=1e-6),
    ),
)

OPERATIONS = (DISCRETE_POLICY, CONTINUOUS_POLICY)
