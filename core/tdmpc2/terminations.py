"""Episodes that do not end by time, which TD-MPC2's targets would take for ones that do.

The paper's era takes them silently, and learns values of what follows an end that nothing
follows. Here they are counted, and end the run loudly (row T10).
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from core.environments.rows import Observed
from core.training.errors import RunError


class TerminationError(RunError, ValueError):
    """An episode ended by itself, or not after its number of steps."""


class Terminations(NamedTuple):
    """Ends of episodes that were none by time.

    Attributes:
        count: How many.
        first: The step of its environment, counted from 1, with the first of them; 0 without.
    """

    count: Int[Array, ""]
    first: Int[Array, ""]


def none() -> Terminations:
    """While all is well."""
    return Terminations(jnp.zeros((), jnp.int32), jnp.zeros((), jnp.int32))


def add(
    seen: Terminations, entered: Observed, last: Bool[Array, ""], step: Int[Array, ""]
) -> Terminations:
    """Counts after a step of every environment.

    Args:
        seen: So far.
        entered: What the step led to, in every environment.
        last: Whether episodes end with it.
        step: Its number, counted from 1.
    """
    # A termination on the very last step is one too: its target has no future.
    wrong = jnp.sum((entered.is_last != last) | entered.is_terminal, dtype=jnp.int32)
    first = jnp.where((seen.count == 0) & (wrong > 0), step, seen.first)
    return Terminations(seen.count + wrong, first)


def refuse(seen: Terminations, seeds: tuple[int, ...], length: int) -> None:
    """Raises if there was one.

    Args:
        seen: Of all seeds.
        seeds: Their numbers.
        length: Steps per episode.

    Raises:
        TerminationError: Names the seeds and the steps.
    """
    counts, firsts = (x.tolist() for x in jax.device_get(seen))
    told = "; ".join(
        f"seed {seed}: {count:,}, the first in step {first:,}"
        for seed, count, first in zip(seeds, counts, firsts, strict=True)
        if count
    )
    if told:
        raise TerminationError(
            f"episodes ended before their {length:,} steps or by themselves ({told}), and the run "
            f"stops, because its targets would go on past these ends; train with --episodic, or "
            f"choose an environment whose episodes end by time only"
        )
