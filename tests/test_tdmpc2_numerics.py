"""Layers, two-hot regression, the running scale and the policy's entropy, against float64."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from float_strategies import EPSILON
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from core.tdmpc2 import layers, policy, scale
from core.tdmpc2.config import Config
from core.tdmpc2.twohot import Support, make_bins

SUPPORT = Support(101, 10.0)
floats = st.floats(-100, 100, width=32)


def test_mish_and_its_derivative_follow_float64():
    x = np.concatenate([np.linspace(-90, 90, 4001), [0.0, 1e-6, -1e-6]]).astype(np.float32)
    exact = x.astype(np.float64)
    softplus = np.logaddexp(0, exact)
    slope = np.tanh(softplus) + exact / np.cosh(softplus) ** 2 / (1 + np.exp(-exact))
    np.testing.assert_allclose(layers.mish(x), exact * np.tanh(softplus), rtol=1e-6, atol=1e-35)
    gradient = jax.vmap(jax.grad(layers.mish))(x)
    np.testing.assert_allclose(gradient, slope, rtol=2e-6, atol=2e-7)


@given(x=hnp.arrays(np.float32, (3, 12), elements=floats))
def test_every_simplex_sums_to_one_and_knows_only_its_own_group(x):
    y = np.asarray(layers.sim_norm(x, 4))
    np.testing.assert_allclose(y.reshape(3, 3, 4).sum(-1), 1, rtol=4 * EPSILON)
    x[:, 4:8] += 1.0  # a shift of one whole group changes nothing, of a part only that group
    x[:, 0] -= 1.0
    z = np.asarray(layers.sim_norm(x, 4))
    np.testing.assert_array_equal(z[:, 8:], y[:, 8:])
    np.testing.assert_allclose(z[:, 4:8], y[:, 4:8], rtol=1e-4, atol=1e-30)


def test_dropout_removes_and_rescales_what_the_mask_says():
    keep = jnp.asarray([True, False, True])
    np.testing.assert_allclose(layers.drop(jnp.ones(3), keep, 0.2), [1.25, 0.0, 1.25])


@pytest.mark.parametrize("inputs", [3, 40])
def test_a_layer_treats_its_parts_as_their_concatenation_and_broadcasts_them(inputs):
    layer = layers.Affine(5, layers.nn.initializers.normal(1.0))
    x, row = jnp.asarray(np.random.default_rng(0).normal(size=(2, 6, inputs)), jnp.float32)
    params = layer.init(jax.random.key(0), x, row[:1])
    whole = jnp.concatenate([x, jnp.broadcast_to(row[:1], x.shape)], axis=-1)
    np.testing.assert_allclose(
        layer.apply(params, x, row[:1]), layer.apply(params, whole), rtol=1e-5, atol=1e-5
    )


@pytest.mark.parametrize("members", [None, 3])
def test_the_gradient_of_a_product_is_that_of_a_plain_one(members):
    rng = np.random.default_rng(0)
    x = jnp.asarray(rng.normal(size=(4, 5, 6)), jnp.float32)
    lead = (members,) if members else ()
    kernel = jnp.asarray(rng.normal(size=(*lead, 6, 2)), jnp.float32)

    def gradients(product):
        product = jax.vmap(product, (None, 0)) if members else product
        return jax.grad(lambda *a: jnp.sum(jnp.sin(product(*a))), (0, 1))(x, kernel)

    for ours, plain in zip(gradients(layers.product), gradients(jnp.matmul), strict=True):
        np.testing.assert_allclose(ours, plain, rtol=1e-5, atol=1e-5)


def test_bins_are_the_rounded_exact_grid_with_zero_in_the_middle():
    bins = make_bins(101, 10.0)
    np.testing.assert_array_equal(bins, np.linspace(-10, 10, 101).round(1).astype(np.float32))
    assert bins[50] == 0
    np.testing.assert_array_equal(bins, -bins[::-1])
    with pytest.raises(ValueError, match="odd"):
        make_bins(100)


@given(x=hnp.arrays(np.float32, 9, elements=st.floats(-3e4, 3e4, width=32)))
def test_a_target_lies_between_its_two_bins(x):
    weights = np.asarray(SUPPORT.encode(jnp.asarray(x)), np.float64)
    assert ((weights > 0).sum(-1) <= 2).all()
    np.testing.assert_allclose(weights.sum(-1), 1, rtol=2 * EPSILON)
    exact = np.clip(np.sign(x) * np.log1p(np.abs(x.astype(np.float64))), -10, 10)
    np.testing.assert_allclose(weights @ np.linspace(-10, 10, 101), exact, atol=4e-6)
    places = (exact + 10) / 0.2
    floor = np.clip(np.floor(places), 0, 99).astype(int)
    for w, place, k in zip(weights, places, floor, strict=True):
        if 1e-3 < place - k < 1 - 1e-3:
            np.testing.assert_allclose(w[k + 1], place - k, atol=1.1e-5)


@given(
    logits=hnp.arrays(np.float32, (2, 101), elements=st.floats(-20, 20, width=32)),
    value=hnp.arrays(np.float32, 2, elements=st.floats(-3e4, 3e4, width=32)),
)
def test_loss_and_prediction_follow_float64(logits, value):
    exact = logits.astype(np.float64)
    log_probs = exact - np.log(np.exp(exact).sum(-1, keepdims=True))
    weights = np.asarray(SUPPORT.encode(jnp.asarray(value)), np.float64)
    loss = -(weights * log_probs).sum(-1)
    size = np.abs(logits).max(-1) + loss
    error = np.abs(np.asarray(SUPPORT.loss(jnp.asarray(logits), jnp.asarray(value))) - loss)
    assert (error <= 3 * EPSILON * (size + 1)).all()
    x = np.exp(log_probs) @ np.linspace(-10, 10, 101)
    decoded = np.asarray(SUPPORT.decode(jnp.asarray(logits)), np.float64)
    in_symlog = np.sign(decoded) * np.log1p(np.abs(decoded))
    assert (np.abs(in_symlog - x) <= 5.4e-6).all()


def test_a_uniform_prediction_is_exactly_zero(mode):
    decode = jax.jit(SUPPORT.decode) if mode == "compiled" else SUPPORT.decode
    assert (decode(jnp.full((3, 101), 0.7)) == 0).all()


def test_the_first_scale_of_0_to_255_is_that_of_interpolated_percentiles():
    """Fault F64: (12.75, 242.25), without interpolation (24.75, 484.25) apart."""
    moved = scale.update(scale.initial(), jnp.arange(256.0), tau=1.0)
    np.testing.assert_allclose(moved, 242.25 - 12.75, rtol=2e-7)


def test_the_scale_follows_float64_over_thirty_updates():
    rng = np.random.default_rng(0)
    ours, exact = scale.initial(), 1.0
    update = jax.jit(scale.update)
    for _ in range(30):
        values = (50 * rng.normal(size=257)).astype(np.float32)
        low, high = np.percentile(values.astype(np.float64), [5, 95])
        ours, exact = update(ours, values), exact + 0.01 * (max(high - low, 1.0) - exact)
    np.testing.assert_allclose(ours, exact, rtol=1e-6)
    assert scale.update(scale.initial(), jnp.full(8, 3.0)) == 1.0


def test_policy_stays_within_its_bounds_and_its_mean_is_squashed():
    outputs = jnp.asarray([[100.0, -100.0, 30.0, -30.0], [0.3, -0.2, 0.0, 0.0]])
    drawn = policy.sample(outputs, jnp.zeros((2, 2)), Config())
    np.testing.assert_allclose(drawn.log_std, [[2, -10], [-4, -4]], rtol=1e-6)
    np.testing.assert_array_equal(drawn.action, drawn.mean)
    np.testing.assert_allclose(drawn.mean, np.tanh(outputs[:, :2]), rtol=1e-6)


def test_both_forms_of_the_entropy_are_those_of_their_formulas():
    rng = np.random.default_rng(1)
    noise, log_std = rng.normal(size=(2, 6, 3))
    squashing = rng.normal(size=6)
    density = -0.5 * noise**2 - log_std
    constant = 0.5 * np.log(2 * np.pi)
    paper = -(3 * (density.sum(-1) - constant) - squashing)
    ours = policy.density_entropy(*map(jnp.asarray, (noise, log_std, squashing)), noise.shape[-1])
    np.testing.assert_allclose(ours, paper, rtol=1e-5)
    later = -3 * (density - constant).sum(-1)
    ours = policy.scaled_entropy(*map(jnp.asarray, (noise, log_std, squashing)), noise.shape[-1])
    np.testing.assert_allclose(ours, later, rtol=1e-5)
    assert np.abs(paper - later).min() > 0.1
