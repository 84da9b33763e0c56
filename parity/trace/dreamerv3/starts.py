"""The states from which a trace starts.

A fresh agent hides mistakes: its biases are all 0, its scales all 1, its heads predict 0. So
a trace also starts from a state without such zeros and ones, made from a fresh one.
"""

from __future__ import annotations

import numpy as np

from core.dreamerv3 import twohot
from parity.trace.dreamerv3.reference import ReferenceState
from parity.trace.sides import Start

_TWOHOT = ("rew", "critic", "slowcritic")
_SLOPE = 1.2  # of the two-hot logits over |symlog| of their bins
_UPDATES = 1000  # the first update of the full step size


def start_from(start: Start, fresh: ReferenceState, seed: int = 0) -> ReferenceState:
    """The state at which a trace starts.

    Args:
        start: initial is the fresh agent itself. spread moves every parameter, gives the
            two-hot heads the logits of a trained agent (mass near 0, not on the outermost
            bins at ±4.85e8), the slow critic parameters of its own and the return normaliser
            a range, and puts the counters behind the warm-up.
        fresh: As the reference makes it.
        seed: Of the parameters. They are made by exact arithmetic, the same on every machine.
    """
    return fresh if start == "initial" else _spread(fresh, np.random.default_rng(seed))


def _spread(fresh: ReferenceState, rng: np.random.Generator) -> ReferenceState:
    state = dict(fresh.state)
    for name in [*fresh.parameters, *(k for k in state if k.startswith("agent/slowcritic/"))]:
        value, (_, network, *layer) = state[name], name.split("/")
        size = 0.2 if layer[-1] in ("bias", "scale") else 0.3 / np.sqrt(value.shape[-2])
        moved = value + size * rng.uniform(-1.7, 1.7, value.shape)
        if network in _TWOHOT and layer[:2] == ["dist", "out"]:
            moved[..., -1] = 0  # the padding column has no part in anything
            if layer[-1] == "bias":
                grid = np.linspace(-twohot.LIMIT, twohot.LIMIT, len(value) - 1)
                moved[:-1] -= _SLOPE * np.abs(grid)
        state[name] = moved.astype(np.float32)
    state["agent/retnorm/low/value"] = np.asarray(-0.7, np.float32)
    state["agent/retnorm/high/value"] = np.asarray(1.9, np.float32)
    for counter in ("agent/opt/step/value", "agent/updater/updates/value"):
        state[counter] = np.full_like(state[counter], _UPDATES)
    return ReferenceState(state, fresh.carry)
