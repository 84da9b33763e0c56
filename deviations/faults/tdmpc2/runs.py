"""Faults of TD-MPC2's training and evaluation, as runs."""

from __future__ import annotations

from collections.abc import Callable

from deviations.faults.replacing import Change, around
from deviations.faults.tdmpc2.seeding import fault
from parity.faults import Fault

SEEDS, PRECISION = "seeds", "precision"


def _unseeded() -> list[Change]:
    """Random actions from the operating system's random numbers, as the reference's."""
    import os

    import jax
    import numpy as np

    def uniform(sound, key, shape=(), *arguments, **options):
        def drawn(low):
            bits = np.frombuffer(os.urandom(4 * int(np.prod(shape))), np.uint32)
            return (low + (1 - low) * (bits.reshape(shape) / 2.0**32)).astype(np.float32)

        del key, arguments
        low = np.float32(options.get("minval", 0.0))
        shaped = jax.ShapeDtypeStruct(shape, np.float32)
        return jax.pure_callback(lambda: drawn(low), shaped, vmap_method="sequential")

    return around(jax.random, "uniform", uniform)


def _one_for_all() -> list[Change]:
    """Random actions that do not depend on the seed of the run."""
    import jax

    def uniform(sound, key, *arguments, **options):
        del key
        return sound(jax.random.key(0), *arguments, **options)

    return around(jax.random, "uniform", uniform)


def _of_products(wrong: Callable) -> Callable[[], list[Change]]:
    def changes() -> list[Change]:
        from core.tdmpc2 import layers

        return around(layers, "product", wrong)

    return changes


def _eleven_bits(sound, x, kernel):
    """Factors rounded to the bits of TF32."""
    import jax

    return sound(*(jax.lax.reduce_precision(factor, 8, 10) for factor in (x, kernel)))


def _highest(sound, x, kernel):
    """A precision asked of every product."""
    import jax

    del sound
    return jax.numpy.matmul(x, kernel, precision=jax.lax.Precision.HIGHEST)


FAULTS: tuple[Fault, ...] = (
    fault(
        "X540",
        "seed-phase actions that no seed decides, as in the reference",
        SEEDS,
        "repeated_seed_phase",
        _unseeded,
        "T11/core",
    ),
    fault(
        "X541",
        "the same seed-phase actions for every seed",
        SEEDS,
        "repeated_seed_phase",
        _one_for_all,
        "T11/core",
    ),
    fault(
        "X542",
        "products of factors that are rounded to TF32's bits",
        PRECISION,
        "layer_product",
        _of_products(_eleven_bits),
        "T13/core-cpu",
    ),
    fault(
        "X543",
        "a precision asked of the layers' products",
        PRECISION,
        "product_precision",
        _of_products(_highest),
        "T13/core",
    ),
)
