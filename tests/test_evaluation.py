"""Evaluations: what counts of episodes that are played side by side."""

import jax
import jax.numpy as jnp
import numpy as np
from tdmpc2_stand_in import Tape

from core.training.evaluation import play


def test_nothing_counts_after_an_episodes_own_end():
    n = 16

    def act(carry, seen, key):
        del seen, key
        return carry, jnp.zeros((n, 1))

    # Half of the episodes end by themselves after 2 steps, and others follow while 7 are played.
    environment = Tape(7, ends=2, doomed=0.5)
    scores, lengths = jax.jit(lambda key: play(act, environment, jnp.zeros(n), key, n))(
        jax.random.key(0)
    )
    assert set(lengths.tolist()) == {2, 7}
    # A step pays its number.
    np.testing.assert_array_equal(scores, lengths * (lengths + 1) / 2)
