"""The inputs of the claims about networks, latent dynamics and acting.

Everything differs that could be mistaken for another: B and T, the widths of all layers,
the features of all states, the actions of all rows. Numbers come from exact arithmetic.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from parity.operations import Array, Inputs, catalogue

# Widths: observation, perceptron, recurrence inside, recurrent state, blocks, categoricals.
OBS, U, W, D, G, S, C, A = 5, 12, 10, 16, 4, 3, 4, 3
B, T, H = 7, 5, 15

AXES: Mapping[str, int] = {
    **{"O": OBS, "U": U, "W": W, "D": D, "G": G, "S": S, "C": C, "A": A},
    **{"SC": S * C, "DG": D // G, "I": D // G + 3 * W, "DG3": 3 * D // G, "D3": 3 * D},
    **{"DU": D + U, "DSC": D + S * C},
}

# How far the winner of a draw leads by: no rounding decides one.
MARGIN = 1e-4


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
    lengths = {**AXES, **axes}
    drawn = {}
    for field in catalogue()[operation].inputs:
        leaf = field.name.rpartition("_")[-1]
        if not isinstance(field, Array) or leaf not in ("kernel", "bias", "scale"):
            continue
        shape = [lengths[axis] for axis in field.shape.split()]
        uniform = 2 * rng.random(shape) - 1
        if leaf == "kernel":
            value = uniform * (gain * np.sqrt(3 / shape[-2]))
        else:
            value = 0.4 * uniform + (leaf == "scale")
        drawn[field.name] = value.astype(np.float32)
    return drawn


def onehot(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Categorical states: one class per variable."""
    return np.eye(C, dtype=np.float32)[rng.integers(0, C, (*shape, S))]


def noise(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Noise of draws, less wide than Gumbel noise: what is drawn depends on the networks too."""
    return (2 * rng.random(shape)).astype(np.float32)


def observations(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Observations of all sizes, from 1/8 to 64, of either sign."""
    size = np.ldexp(
        1.0 + rng.random((*shape, OBS)), rng.integers(-3, 6, (*shape, OBS)).astype(np.int32)
    )
    return (size * rng.choice([-1.0, 1.0], (*shape, OBS))).astype(np.float32)


def features(rng: np.random.Generator, rows: int) -> dict[str, np.ndarray]:
    """Distinct states of the world model."""
    deter = (2 * rng.random((rows, D)) - 1).astype(np.float32)
    return {"deter": deter, "stoch": onehot(rng, rows)}


def recurrent_step(rng: np.random.Generator) -> Inputs:
    """One step from many states, with actions of which half leave [−1, 1]."""
    rows = 64
    action = (4 * rng.random((rows, A)) - 2).astype(np.float32)
    given = parameters(rng, "dreamerv3.recurrent_step")
    return {**features(rng, rows), "action": action, **given}


def observe(rng: np.random.Generator, length: int = T) -> Inputs:
    """Sequences with resets at the start, in the middle, in a row, at the end, and none."""
    is_first = np.zeros((B, length), bool)
    is_first[1, 0] = is_first[1, -1] = is_first[2, length // 2] = True
    is_first[3, 1:3] = is_first[5, 0] = is_first[6, 1] = True
    return {
        "observation": observations(rng, B, length),
        "is_first": is_first,
        "previous_action": (4 * rng.random((B, length, A)) - 2).astype(np.float32),
        **features(rng, B),
        "noise": noise(rng, B, length, S, C),
        **parameters(rng, "dreamerv3.observe"),
    }


def imagine(rng: np.random.Generator, horizon: int = H) -> Inputs:
    """Trajectories of the stock horizon from five states."""
    rows = 5
    return {
        **features(rng, rows),
        "prior_noise": noise(rng, horizon, rows, S, C),
        "action_noise": noise(rng, horizon + 1, rows, A),
        **parameters(rng, "dreamerv3.imagine"),
    }


def act(rng: np.random.Generator) -> Inputs:
    """One row of seven environments, three of which start an episode."""
    rows = B
    is_first = np.asarray([False, True, True, False, False, True, False])
    return {
        "observation": observations(rng, rows),
        "is_first": is_first,
        "previous_action": rng.integers(0, A, rows).astype(np.int32),
        **features(rng, rows),
        "noise": noise(rng, rows, S, C),
        "action_noise": noise(rng, rows, A),
        **parameters(rng, "dreamerv3.act"),
    }


def head(rng: np.random.Generator, network: str, outputs: int) -> Inputs:
    """A head on distinct states."""
    operation = f"dreamerv3.{'shallow' if network in ('rew', 'con') else 'deep'}_head"
    given = parameters(rng, operation, K=outputs)
    return {"network": network, **features(rng, 48), **given}
