"""The inputs of the claims about TD-MPC2's networks, losses and plans.

Everything differs that could be mistaken for another: the widths of all layers, the networks of
the ensemble, the steps of a sequence and the sequences. Numbers come from exact arithmetic.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from parity.agreements.measures import uniform
from parity.operations import Array, catalogue

# Observation, encoder, latent state, other networks, actions, bins, Q networks, simplices.
OBS, E, L, U, A, N, M, V = 5, 10, 12, 14, 3, 11, 4, 4
LIMIT = 3.0

AXES: Mapping[str, int] = {
    **{"O": OBS, "E": E, "L": L, "U": U, "N": N, "M": M},
    **{"LA": L + A, "A2": 2 * A, "1": 1},
}
LEAVES = ("kernel", "bias", "scale", "offset")


def parameters(
    rng: np.random.Generator, operation: str, gain: float = 1.4, **axes: int
) -> dict[str, np.ndarray]:
    """Parameters of the networks of an operation, without zeros and ones to hide behind.

    Args:
        rng: Draws them.
        operation: Its name.
        gain: Standard deviation of a layer's outputs where its inputs have one of 1.
        **axes: Lengths beside `AXES`.
    """
    lengths, drawn = {**AXES, **axes}, {}
    for field in catalogue()[operation].inputs:
        layer, _, leaf = field.name.rpartition("_")
        if not (isinstance(field, Array) and layer and leaf in LEAVES):
            continue
        shape = [lengths[axis] for axis in field.shape.split()]
        value = 2 * rng.random(shape) - 1
        if leaf == "kernel":
            value = value * (gain * np.sqrt(3 / shape[-2]))
        else:
            value = 0.4 * value + (leaf == "scale")
        drawn[field.name] = value.astype(np.float32)
    return drawn


def normal(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Noise that is nearly normal: a sum of 12 uniform numbers, by exact arithmetic."""
    return (rng.random((12, *shape)).sum(axis=0) - 6).astype(np.float32)


def simplices(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Latent states: groups of V numbers that sum to 1, multiples of 1/64."""
    cuts = np.sort(rng.integers(0, 65, (*shape, L // V, V - 1)), axis=-1)
    edges = np.concatenate(
        [np.zeros_like(cuts[..., :1]), cuts, np.full_like(cuts[..., :1], 64)], -1
    )
    return (np.diff(edges, axis=-1) / 64).reshape(*shape, L).astype(np.float32)


def keep(rng: np.random.Generator, *shape: int, rate: float = 0.25) -> np.ndarray:
    """Masks of dropout."""
    return rng.random((*shape, U)) >= rate


def states(rng: np.random.Generator, rows: int) -> dict[str, np.ndarray]:
    """Distinct latent states with actions."""
    return {"latent": simplices(rng, rows), "action": uniform(rng, rows, A, within=1.0)}
