"""One training step of danijar/dreamerv3, paper era, with every named intermediate.

Runs inside the side environment, as a table of operations of its own: the arrays are large
and their names depend on the configuration, so they are in no catalogue. The step is the
stock `Agent.train`, compiled as `jaxagent` compiles it; see `tape.py` for what is around it.
"""

from __future__ import annotations

import functools
import json
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from dreamerv3 import ninjax as nj

from reference_harness.dreamerv3.agent import (
    SEED,
    Spaces,
    build,
    initial_state,
    pack,
    precision,
    unpack,
)
from reference_harness.dreamerv3.settled import settled
from reference_harness.dreamerv3.tape import Tape

jax.config.update("jax_threefry_partitionable", True)


@functools.lru_cache(maxsize=4)
def _program(settings: str, bins: bytes | None, margin: float):
    """(the compiled step, a state, a carry) for these settings, the latter two as patterns."""
    chosen = json.loads(settings)
    spaces = Spaces(**chosen["spaces"])
    batch, length = chosen["batch"], chosen["length"] + 1
    support = None if bins is None else np.frombuffer(bins, np.float32)
    with precision(chosen["dtype"]):
        agent = build(chosen["overrides"], spaces)
        state = jax.eval_shape(lambda: initial_state(agent, spaces, batch, length))
        carry = jax.eval_shape(lambda: nj.pure(agent.init_train)({}, batch, seed=SEED)[1])
        tape = Tape(agent, margin)

    def step(state, data, carry):
        return nj.pure(agent.train)(state, data, carry, seed=SEED)

    compiled = jax.jit(tape.reading(step))

    def call(noise, state, data, carry):
        with precision(chosen["dtype"]), settled(support):
            return compiled(noise, state, data, carry)

    return call, state, carry


def initial(settings: dict[str, Any]) -> dict[str, np.ndarray]:
    """The state of a fresh agent, and the carry with which its first batch begins.

    Args:
        settings: overrides (keys of configs.yaml), spaces (fields of `Spaces`), batch,
            length (rows without the context row), dtype (float32, bfloat16 or float64).
    """
    spaces = Spaces(**settings["spaces"])
    batch, length = settings["batch"], settings["length"] + 1
    with precision(settings["dtype"]):
        agent = build(settings["overrides"], spaces)
        state = initial_state(agent, spaces, batch, length)
        carry = nj.pure(agent.init_train)({}, batch, seed=SEED)[1]
        return _prefixed(state=pack(state), carry=pack(carry))


def step(
    settings: dict[str, Any],
    state: dict[str, np.ndarray],
    carry: dict[str, np.ndarray],
    data: dict[str, np.ndarray],
    noise: dict[str, np.ndarray],
    bins: np.ndarray | None,
    margin: float,
) -> dict[str, np.ndarray]:
    """One training step.

    Args:
        settings: See `initial`.
        state: As `initial` or the step before returned it.
        carry: Likewise.
        data: Columns [batch, length + 1, ...] of replay, the context row first.
        noise: See `Tape.reading`.
        bins: The two-hot support that settles row D22, [255] float32; None for the stock form.
        margin: See `Tape`.

    Returns:
        trace/..., what was read; state/... and carry/..., what comes after.
    """
    program, state_like, carry_like = _program(
        json.dumps(settings, sort_keys=True), None if bins is None else bins.tobytes(), margin
    )
    with precision(settings["dtype"]):
        real = jnp.float64 if settings["dtype"] == "float64" else jnp.float32
        cast = {
            name: jnp.asarray(value, real if value.dtype == np.float32 else value.dtype)
            for name, value in data.items()
        }
        noise = {name: jnp.asarray(value, real) for name, value in noise.items()}
        arrays = (unpack(state, state_like), cast, unpack(carry, carry_like))
        entries, (state, (_, carry, _)) = program(noise, *arrays)
        return _prefixed(trace=pack(entries), state=pack(state), carry=pack(carry))


def _prefixed(**groups: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {f"{group}/{name}": v for group, values in groups.items() for name, v in values.items()}


OPERATIONS = {"dreamerv3.trace_initial": initial, "dreamerv3.trace_step": step}
