"""How many updates are due after how many environment steps."""

from __future__ import annotations

from fractions import Fraction

import jax.numpy as jnp
from jaxtyping import Array, Int


def updates_due(
    step: Int[Array, "*batch"], first: Int[Array, ""] | int, ratio: Fraction
) -> Int[Array, "*batch"]:
    """Total updates that have run once `step` environment steps have been seen.

    The exact closed form 1 + ⌊(step − first) · ratio⌋: one update when the gate opens,
    then `ratio` per step. It is a function of the absolute step, so nothing drifts and
    nothing has to be checkpointed (row D26).

    Args:
        step: Environment steps, int32.
        first: The step at which the gate opens; nothing is due before it.
        ratio: Updates per environment step, as the intended rational number
            (`train_ratio` as it was typed / batch_steps), never a rounded float. The
            total at the last step must fit int32, which is for the caller to see to.

    Raises:
        ValueError: `ratio` is not positive, or its terms are too large for exact int32.

    Source: `embodied/core/when.py:26-42@29eb964`.
    """
    p, q = ratio.numerator, ratio.denominator
    if not countable(ratio):
        raise ValueError(f"updates per step must be positive, with small terms, not {ratio}")
    elapsed = jnp.asarray(step) - first
    # ⌊e·p/q⌋ without forming e·p, which overflows int32 on long runs.
    due = 1 + (elapsed // q) * p + ((elapsed % q) * p) // q
    return jnp.where(elapsed < 0, 0, due)


def countable(ratio: Fraction) -> bool:
    """Whether `updates_due` can count with a ratio: it is positive, and its terms are small."""
    return ratio > 0 and ratio.numerator * ratio.denominator < 2**31


def gate(n_envs: int, batch_size: int, length: int) -> int:
    """The environment step of the first update: the replay holds a batch of different items.

    An item is `length` rows to train on and one row of context. The environments add their
    rows in turn, so that the first item is complete with the step that follows
    `length` rows of each, and every step from then on completes one more.

    Args:
        n_envs: Environments.
        batch_size: Sequences per batch.
        length: Rows per sequence, without the context.

    Returns:
        Environment steps of all environments together: 1,040 for 16 environments and
        batches of 16 × 64. It is `updates_due`'s `first`.

    Raises:
        ValueError: An argument is below 1.

    Source: `embodied/run/train.py:81-84@29eb964`, `embodied/replay/replay.py:130-138@29eb964`.
    """
    if min(n_envs, batch_size, length) < 1:
        raise ValueError(
            f"environments, batch size and length must be at least 1, not {n_envs}, "
            f"{batch_size}, {length}"
        )
    return length * n_envs + batch_size
