"""The sizes of the terms that returns and two-hot losses are made of, in float64.

Tolerances are stated in roundings of these sizes.
"""

from __future__ import annotations

import numpy as np

from parity.comparisons import softmax64

GAMMA = 1 - 1 / 333
LAMBDA = 0.95

RETURN_ROUNDINGS = (
    "Each of 5 steps rounds three products, two sums and 1 − λ, by half an ε of at most the "
    "return of the magnitudes: 15 a side at the very worst, were they all to point the same way; "
    "of roundings at random a third is seen."
)


def lambda_returns(
    rewards: np.ndarray,
    continues: np.ndarray,
    values: np.ndarray,
    traces: np.ndarray | float = LAMBDA,
) -> np.ndarray:
    """λ-returns of all states but the last; arrays are [N, states], of the states themselves."""
    r, c, v = (x[:, 1:].astype(np.float64) for x in (rewards, continues, values))
    lam = np.broadcast_to(traces, rewards.shape)[:, 1:]
    total, found = v[:, -1], []
    for t in reversed(range(r.shape[1])):
        total = r[:, t] + c[:, t] * ((1 - lam[:, t]) * v[:, t] + lam[:, t] * total)
        found.append(total)
    return np.stack(found[::-1], 1)


def bins_of(count: int) -> np.ndarray:
    """The two-hot support."""
    grid = np.linspace(-20, 20, count)
    return np.sign(grid) * np.expm1(np.abs(grid))


def bin_expectation(logits: np.ndarray) -> np.ndarray:
    """E|b| under softmax(logits): the size of what cancels in a decoded value."""
    return softmax64(logits) @ np.abs(bins_of(logits.shape[-1]))


def decoded(logits: np.ndarray) -> np.ndarray:
    """E b under softmax(logits)."""
    return softmax64(logits) @ bins_of(logits.shape[-1])


def cross_entropy_size(logits: np.ndarray) -> np.ndarray:
    """Twice ln K + max|logit|: a two-hot loss is a small difference of such terms."""
    return 2 * (np.log(logits.shape[-1]) + np.abs(logits.astype(np.float64)).max(-1))
