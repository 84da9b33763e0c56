"""The return normaliser against float64, and the update schedule against exact integers."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from float_strategies import EPSILON
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from core.dreamerv3 import normaliser, schedule


@given(
    batches=hnp.arrays(np.float32, (4, 33), elements=st.floats(-1e6, 1e6, width=32)),
    start=st.tuples(st.floats(-100, 0, width=32), st.floats(0, 100, width=32)),
)
def test_normaliser_follows_the_percentiles_of_float64(batches, start):
    state, exact = normaliser.Percentiles(*map(jnp.float32, start)), np.asarray(start, np.float64)
    update = jax.jit(normaliser.update)
    for batch in batches:
        state = update(state, batch)
        exact = 0.99 * exact + 0.01 * np.percentile(batch.astype(np.float64), [5, 95])
        size = max(np.abs(exact).max(), 0.01 * np.abs(batch).max(), 1e-30)
        np.testing.assert_allclose(np.asarray(state), exact, atol=16 * EPSILON * size)
        scale = max(1.0, exact[1] - exact[0])
        np.testing.assert_allclose(
            normaliser.scale(state), scale, rtol=EPSILON, atol=32 * EPSILON * size
        )


def test_normaliser_interpolates_between_two_returns():
    state = normaliser.update(normaliser.initial(), jnp.arange(256.0), rate=1.0)
    np.testing.assert_allclose(np.asarray(state), [12.75, 242.25], rtol=1e-6)


def test_scale_is_never_below_its_limit():
    assert normaliser.scale(normaliser.initial()) == 1.0


@given(
    ratio=st.fractions(min_value=Fraction(1, 4096), max_value=64, max_denominator=4096),
    first=st.integers(0, 10_000),
    offset=st.integers(0, 20_000_000),
)
def test_updates_due_are_exact_where_the_product_overflows_int32(ratio, first, offset):
    expected = 1 + offset * ratio.numerator // ratio.denominator
    if expected >= 2**31:
        return
    steps = jnp.asarray([first - 1, first, first + offset], jnp.int32)
    assert schedule.updates_due(steps, first, ratio).tolist() == [0, 1, expected]


def test_twenty_thousand_rows_at_one_half_make_9481_updates():
    due = jax.jit(lambda step: schedule.updates_due(step, 1040, Fraction(1, 2)))
    assert int(due(jnp.int32(20_000))) == 9481


@pytest.mark.parametrize("ratio", [Fraction(0), Fraction(-1, 2), Fraction(1 / 3)])
def test_a_ratio_that_is_not_the_intended_rational_is_refused(ratio):
    with pytest.raises(ValueError, match="updates per step"):
        schedule.updates_due(jnp.int32(1), 0, ratio)
