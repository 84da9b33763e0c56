"""The core's numerics against float64, eagerly and compiled."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from float_strategies import EPSILON, assert_within_ulp, batches, matrices
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from core import numerics
from parity.core_subject.dreamerv3.numerics import unimix_log_probs
from parity.core_subject.running import run


def symexp64(x):
    with np.errstate(over="ignore"):
        return np.sign(x) * np.expm1(np.abs(x.astype(np.float64)))


@given(x=batches(infinities=True))
def test_symlog_is_exact_to_three_ulp(x):
    exact = np.sign(x) * np.log1p(np.abs(x.astype(np.float64)))
    for mode in ("eager", "compiled"):
        assert_within_ulp(run(numerics.symlog, mode, x), exact, 3)


@given(x=batches(limit=95.0, infinities=True))
def test_symexp_is_exact_to_six_ulp_and_overflows_to_infinity(x):
    for mode in ("eager", "compiled"):
        assert_within_ulp(run(numerics.symexp, mode, x), symexp64(x), 6)


@given(x=batches(limit=1e30))
def test_symexp_inverts_symlog(x):
    back = run(numerics.symexp, "compiled", run(numerics.symlog, "compiled", x))
    # An error of three ULP in the logarithm is one of three times |symlog| in its exponential.
    allowed = 9 * EPSILON * np.maximum(1, np.log1p(np.abs(x.astype(np.float64))))
    assert np.all(np.abs(back - x.astype(np.float64)) <= allowed * np.abs(x) + 2.4e-38)


@pytest.mark.parametrize("function", [numerics.symlog, numerics.symexp])
def test_symlog_and_symexp_are_odd_and_keep_zero(function, mode):
    x = np.asarray([0.0, 1e-45, 1e-38, 0.3, 1.0, 20.0], np.float32)
    y = run(function, mode, x)
    np.testing.assert_array_equal(run(function, mode, -x), -y)
    assert y[0] == 0


@given(logits=matrices(8, 300.0), unimix=st.sampled_from([0.0, 0.01, 0.5]))
def test_unimix_matches_float64_and_sums_to_one(logits, unimix):
    wide = logits.astype(np.float64)
    probs = np.exp(wide - wide.max(-1, keepdims=True))
    probs = (1 - unimix) * probs / probs.sum(-1, keepdims=True) + unimix / 8
    for mode in ("eager", "compiled"):
        got = unimix_log_probs(logits, unimix, mode)["log_probs"]
        # In probability, where a class that underflows without unimix is 0 on both sides.
        np.testing.assert_allclose(np.exp(got.astype(np.float64)), probs, rtol=0, atol=8 * EPSILON)
        if unimix:
            np.testing.assert_allclose(got, np.log(probs), rtol=4 * EPSILON, atol=4 * EPSILON)


def test_unimix_keeps_every_class_at_its_share(mode):
    logits = np.asarray([[100.0, 0.0]], np.float32)
    log_probs = unimix_log_probs(logits, 0.01, mode)["log_probs"]
    np.testing.assert_allclose(np.exp(log_probs), [[0.995, 0.005]], rtol=1e-6)


@given(
    x=st.sampled_from([1, 7]).flatmap(
        lambda n: hnp.arrays(np.float32, (n, 16), elements=st.floats(-1, 1, width=32))
    ),
    exponent=st.integers(-60, 60),
)
def test_rms_norm_matches_float64(x, exponent):
    x = np.ldexp(x, exponent)
    x[np.abs(x) < np.finfo(np.float32).tiny] = 0  # as XLA takes what is subnormal
    scale = np.linspace(0.5, 2, 16, dtype=np.float32)
    wide = x.astype(np.float64)
    exact = wide * scale / np.sqrt(np.mean(wide**2, axis=-1, keepdims=True) + 1e-4)
    for mode in ("eager", "compiled"):
        got = run(numerics.rms_norm, mode, x, scale)
        np.testing.assert_allclose(got, exact, rtol=10 * EPSILON, atol=1.2e-38)


def test_rms_norm_shrinks_activations_near_epsilon(mode):
    x = np.full((1, 4), 0.01, np.float32)  # mean square 1e-4, as large as ε
    y = run(numerics.rms_norm, mode, x, np.ones(4, np.float32))
    np.testing.assert_allclose(y, np.sqrt(0.5), rtol=1e-6)


def test_rms_norm_keeps_the_dtype_of_its_input():
    x = jnp.ones((2, 4), jnp.bfloat16)
    assert numerics.rms_norm(x, jnp.ones(4)).dtype == jnp.bfloat16


@pytest.mark.parametrize(
    ("shape", "fan_in"), [((512, 256), 512), ((8, 64, 192), 512), ((16, 4096), 16)]
)
@pytest.mark.parametrize("outscale", [1.0, 0.1])
def test_kernels_have_the_standard_deviation_of_their_full_fan_in(shape, fan_in, outscale):
    kernel = numerics.kernel_init(outscale)(jax.random.PRNGKey(0), shape, jnp.float32)
    unit = np.asarray(kernel, np.float64) * np.sqrt(fan_in) / outscale
    # Five standard errors of 65,536 draws or more.
    assert abs(unit.std() - 1) < 0.012
    # Truncated at two standard deviations of the normal before its correction.
    assert np.abs(unit).max() <= 2 / 0.8796256610342398 * (1 + 1e-6)


def test_an_outscale_of_zero_initialises_with_zeros():
    kernel = numerics.kernel_init(0.0)(jax.random.PRNGKey(0), (3, 4), jnp.float32)
    np.testing.assert_array_equal(kernel, np.zeros((3, 4)))
