"""The two-hot support, targets, losses and predictions against float64."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from float_strategies import EPSILON, batches, matrices
from hypothesis import given
from hypothesis import strategies as st

from core.dreamerv3 import twohot
from parity.core_subject.running import run

BINS = twohot.make_bins()


def softmax64(logits):
    wide = logits.astype(np.float64)
    weights = np.exp(wide - wide.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


def encode64(value, bins):
    """Linear interpolation in float64, clipped to the support."""
    value = np.clip(value.astype(np.float64), bins[0], bins[-1])
    above = np.clip(np.searchsorted(bins, value, side="right"), 1, len(bins) - 1)
    low, high = bins[above - 1].astype(np.float64), bins[above].astype(np.float64)
    weights = np.zeros((len(value), len(bins)))
    weights[np.arange(len(value)), above] = (value - low) / (high - low)
    weights[np.arange(len(value)), above - 1] = (high - value) / (high - low)
    return weights


def test_bins_are_ascending_antisymmetric_and_immutable():
    assert BINS.dtype == np.float32
    assert BINS.shape == (255,)
    assert np.all(np.diff(BINS) > 0)
    np.testing.assert_array_equal(BINS, -BINS[::-1])
    with pytest.raises(ValueError, match="read-only"):
        BINS[0] = 0


@pytest.mark.parametrize("count", [0, 1, 254])
def test_an_even_or_tiny_support_is_refused(count):
    with pytest.raises(ValueError, match=f"odd number of bins, at least 3, not {count}"):
        twohot.make_bins(count)


@given(value=batches(limit=1e9, infinities=True))
def test_encode_matches_float64(value):
    exact = encode64(value, BINS)
    for mode in ("eager", "compiled"):
        weights = run(twohot.encode, mode, value, BINS)
        np.testing.assert_allclose(weights, exact, rtol=0, atol=4 * EPSILON)
        np.testing.assert_allclose(weights.sum(-1), 1, rtol=2 * EPSILON)
        assert np.all((weights != 0).sum(-1) <= 2)


def test_encode_puts_an_exact_bin_on_that_bin_alone(mode):
    weights = run(twohot.encode, mode, np.array(BINS), BINS)
    np.testing.assert_array_equal(weights, np.eye(len(BINS), dtype=np.float32))


def test_encode_of_ten_and_a_decode_are_what_the_formulas_give(mode):
    weights = run(twohot.encode, mode, np.asarray([10.0], np.float32), BINS)
    upper = np.flatnonzero(weights[0])[-1]
    np.testing.assert_allclose(weights[0, upper], encode64(np.float32([10]), BINS)[0, upper])
    np.testing.assert_allclose(weights[0, upper], 0.2130, atol=5e-5)
    half = np.full((1, 255), -300, np.float32)
    half[0, [137, 157]] = 0
    np.testing.assert_allclose(run(twohot.decode, mode, half, BINS), 57.747, atol=5e-4)


@given(logits=matrices(255, 80.0), seed=st.integers(0, 2**31))
def test_loss_matches_float64(logits, seed):
    rng = np.random.default_rng(seed)
    value = (rng.standard_normal(len(logits)) * 10.0 ** rng.integers(-3, 9)).astype(np.float32)
    log_probs = np.log(softmax64(logits))
    exact = -(encode64(value, BINS) * log_probs).sum(-1)
    for mode in ("eager", "compiled"):
        loss = run(twohot.loss, mode, logits, value, BINS)
        np.testing.assert_allclose(loss, exact, rtol=4 * EPSILON, atol=4 * EPSILON * 200)


def decode_error(logits, mode):
    """Distance from float64, in ε times the mean size of a bin."""
    probs = softmax64(logits)
    exact, magnitude = probs @ BINS.astype(np.float64), probs @ np.abs(BINS.astype(np.float64))
    return np.max(np.abs(run(twohot.decode, mode, logits, BINS) - exact) / (EPSILON * magnitude))


@given(logits=matrices(255, 80.0))
def test_decode_is_as_close_to_float64_as_sums_are(logits):
    """A sum of 255 positive numbers rounds by half an ε up to 254 times, whatever its order.

    One row is summed from one end to the other: 12 and 254 zeros are 12.5 ε off.
    """
    for mode in ("eager", "compiled"):
        assert decode_error(logits, mode) <= 254 / 2 + 6


def test_decode_of_many_rows_is_closer(mode):
    """They are summed side by side in several parts, so that few roundings follow each other."""
    rng = np.random.default_rng(0)
    peaks = np.where(rng.integers(0, 255, (200, 1)) == np.arange(255), 12, 0)
    noise = rng.normal(size=(2000, 255)) * rng.uniform(0, 20, (2000, 1))
    assert decode_error(np.concatenate([peaks, noise]).astype(np.float32), mode) <= 6


@given(half=matrices(127, 20.0), middle=st.floats(0, 20, width=32))
def test_expectation_of_a_mirror_symmetric_distribution_is_exactly_zero(half, middle):
    column = np.full((len(half), 1), middle, np.float32)
    weights = np.concatenate([np.abs(half), column, np.abs(half)[:, ::-1]], axis=1)
    for mode in ("eager", "compiled"):
        np.testing.assert_array_equal(run(twohot.expectation, mode, weights, BINS), 0)


@given(level=batches(limit=3e38))
def test_decode_of_uniform_logits_is_exactly_zero(level):
    logits = np.repeat(level[:, None], 255, axis=1)
    for mode in ("eager", "compiled"):
        np.testing.assert_array_equal(run(twohot.decode, mode, logits, BINS), 0)


def test_decode_inverts_encode_on_the_support(mode):
    values = np.concatenate([BINS[20:-20], np.linspace(-50, 50, 101, dtype=np.float32)])
    logits = np.log(run(twohot.encode, mode, values, BINS) + np.float32(1e-30))
    back = run(twohot.decode, mode, logits, BINS)
    np.testing.assert_allclose(back, values, rtol=1e-5, atol=1e-5)


def test_no_gradient_flows_into_the_target():
    logits = jnp.zeros((3, 255))
    gradient = jax.grad(lambda v: twohot.loss(logits, v, BINS).sum())(jnp.ones(3))
    np.testing.assert_array_equal(gradient, 0)


def test_gradient_of_the_loss_is_softmax_minus_target():
    logits = jnp.asarray(np.random.default_rng(0).standard_normal((4, 255)), jnp.float32)
    value = np.asarray([0.0, -3.5, 1e4, 1e12], np.float32)
    gradient = jax.grad(lambda x: twohot.loss(x, value, BINS).sum())(logits)
    exact = softmax64(np.asarray(logits)) - encode64(value, BINS)
    np.testing.assert_allclose(gradient, exact, atol=1e-6)
