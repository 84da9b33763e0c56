"""Rings of another size: the same rows, or a refusal."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from core.dreamerv3 import replay
from core.dreamerv3.resumption import fitted
from core.dreamerv3.types import Latent, Rows
from core.spaces import Discrete

N_ENVS = 2


def rings(capacity, added, seeds=3):
    """The rings of several seeds after so many rows, each of which has numbers of its own."""

    def of_seed(seed):
        state = replay.init(capacity, N_ENVS, 4, Discrete(2), 5, 3, classes=4)

        def add(tick, state):
            number = 100.0 * seed + tick + jnp.arange(N_ENVS) / 2
            flags = jnp.ones(N_ENVS, bool)
            rows = Rows(
                jnp.broadcast_to(number[:, None], (N_ENVS, 4)),
                jnp.ones(N_ENVS, jnp.int32),
                number,
                *(flags,) * 3,
            )
            latent = Latent(
                jnp.broadcast_to(number[:, None], (N_ENVS, 5)), jnp.ones((N_ENVS, 3), jnp.int32)
            )
            return replay.add(state, rows, latent)

        return jax.lax.fori_loop(0, added, add, state)

    return jax.jit(jax.vmap(of_seed))(jnp.arange(float(seeds)))


@pytest.mark.parametrize(("held", "wanted"), [(6, 9), (9, 6), (6, 6)])
def test_rings_of_another_size_are_those_that_had_it_from_the_start(held, wanted):
    resized, from_the_start = fitted(rings(held, 6), wanted), rings(wanted, 6)
    assert jax.tree.structure(resized) == jax.tree.structure(from_the_start)
    for a, b in zip(jax.tree.leaves(resized), jax.tree.leaves(from_the_start), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


def test_rings_that_have_overwritten_rows_keep_their_size():
    wrapped = rings(6, 7)
    assert fitted(wrapped, 6) is wrapped
    with pytest.raises(ValueError, match=r"has overwritten.*--replay-capacity 12 or another"):
        fitted(wrapped, 9)


def test_rings_do_not_shrink_below_their_rows():
    with pytest.raises(ValueError, match=r"holds 7 rows.*only 5 of them; choose --replay-cap"):
        fitted(rings(9, 7), 5)
