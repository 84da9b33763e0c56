"""The optimizer against hand computation in float64."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from core.dreamerv3 import optimizer

DEFAULTS = SimpleNamespace(
    learning_rate=4e-5, agc=0.3, agc_pmin=1e-3, beta1=0.9, beta2=0.999, eps=1e-20, warmup=1000
)


def test_agc_clips_to_the_norm_of_the_whole_tensor():
    parameter = jnp.full((2, 2), 1.0)  # norm 2
    gradient = jnp.array([[3.0, 0.0], [0.0, 4.0]])  # norm 5
    clip = optimizer.clip_by_agc(0.3)
    clipped, _ = clip.update(gradient, clip.init(parameter), parameter)
    np.testing.assert_allclose(clipped, gradient * 0.6 / 5, rtol=1e-6)


def test_agc_gives_a_zero_parameter_the_floor():
    clip = optimizer.clip_by_agc(0.3, 1e-3)
    clipped, _ = clip.update(jnp.full((9,), 7.0), clip.init(None), jnp.zeros(9))
    np.testing.assert_allclose(jnp.linalg.norm(clipped), 3e-4, rtol=1e-6)


@pytest.mark.parametrize("gradient", [0.0, 1e-20, 0.59])
def test_agc_leaves_small_gradients_bitwise(gradient):
    parameter, clip = jnp.array([0.0, 2.0]), optimizer.clip_by_agc(0.3)
    given = {"kernel": jnp.array([0.0, gradient])}
    clipped, _ = clip.update(given, clip.init(parameter), {"kernel": parameter})
    np.testing.assert_array_equal(clipped["kernel"], given["kernel"])


def test_agc_needs_the_parameters():
    with pytest.raises(ValueError, match="pass params"):
        optimizer.clip_by_agc().update(jnp.ones(1), optax.EmptyState())


def laprop_by_hand(gradients, beta1=0.9, beta2=0.999, eps=1e-20):
    v = m = 0.0
    for t, g in enumerate(gradients, 1):
        v = beta2 * v + (1 - beta2) * g**2
        m = beta1 * m + (1 - beta1) * g / (np.sqrt(v / (1 - beta2**t)) + eps)
        yield m / (1 - beta1**t)


@pytest.mark.parametrize("gradients", [(1.0, -3.0, 0.5), (1e-12, 2e-12, -1e-13), (0.0, 4.0, 0.0)])
def test_laprop_is_that_of_float64(gradients):
    # Two entries of another scale; the second is hardly noticed.
    expected = zip(laprop_by_hand(gradients), laprop_by_hand(8 * np.array(gradients)), strict=True)
    expected = list(expected)
    for wide, rtol, atol in ((True, 1e-12, 1e-14), (False, 3e-5, 3e-6)):
        with jax.enable_x64(wide):
            laprop = optimizer.scale_by_laprop()
            state = laprop.init(jnp.zeros(2, float))
            for gradient, update in zip(gradients, expected, strict=True):
                given = jnp.array([gradient, 8 * gradient])
                got, state = jax.jit(laprop.update)(given, state)
                np.testing.assert_allclose(got, update, rtol=rtol, atol=atol)


def test_two_steps_are_those_written_out():
    # v̂ = 1, then (0.000999 + 0.009) / 0.001999; u = 1, then 3 / √v̂; m̂ = (0.09 + 0.1 u) / 0.19.
    second = (0.09 + 0.1 * 3 / np.sqrt(0.009999 / 0.001999)) / 0.19
    np.testing.assert_allclose(list(laprop_by_hand([1.0, 3.0])), [1.0, second], rtol=1e-12)
    adam = (0.09 + 0.3) / 0.19 / np.sqrt(0.009999 / 0.001999)
    assert abs(second - adam) > 0.2  # momentum before normalisation is another number


def test_laprop_normalises_gradients_near_the_end_of_float32():
    laprop = optimizer.scale_by_laprop()
    got, _ = laprop.update(jnp.array([1e-17, -1e17]), laprop.init(jnp.zeros(2)))
    np.testing.assert_allclose(got, [1.0, -1.0], rtol=2e-2)


@pytest.mark.parametrize(
    ("count", "factor"), [(0, 0.0), (1, 0.001), (999, 0.999), (1000, 1.0), (1001, 1.0)]
)
def test_warm_up_starts_at_zero_and_ends_after_its_length(count, factor):
    assert optimizer.warmup_factor(jnp.int32(count), 1000) == jnp.float32(factor)
    assert optimizer.warmup_factor(jnp.int32(count), 0) == 1


def test_first_update_changes_nothing_and_the_second_descends():
    chain = optimizer.make_optimizer(DEFAULTS)
    params = {"enc": {"kernel": jnp.array([[1.0, -2.0]])}, "actor": {"bias": jnp.zeros(1)}}
    gradients = jax.tree.map(lambda p: jnp.full_like(p, 0.1), params)
    update = jax.jit(chain.update)
    updates, state = update(gradients, chain.init(params), params)
    assert all((u == 0).all() for u in jax.tree.leaves(updates))
    updates, state = update(gradients, state, params)
    # A constant gradient has unit steps: −learning rate · 1 / 1000, whatever was clipped.
    for leaf in jax.tree.leaves(updates):
        np.testing.assert_allclose(leaf, -4e-8, rtol=2e-5)
    for _ in range(3):
        updates, state = update(jax.tree.map(jnp.zeros_like, params), state, params)
    assert all(np.isfinite(u).all() for u in jax.tree.leaves(updates))


def test_optimizer_treats_each_seed_alone_under_vmap():
    chain = optimizer.make_optimizer(DEFAULTS)
    params = {"kernel": jnp.array([[1.0, 2.0], [0.0, 100.0]])}

    def two(params):
        state = chain.init(params)
        _, state = chain.update(jax.tree.map(lambda p: p * 0 + 9.0, params), state, params)
        return chain.update(jax.tree.map(lambda p: p + 1, params), state, params)[0]

    together = jax.vmap(two)(params)["kernel"]
    for seed in range(2):
        alone = two({"kernel": params["kernel"][seed]})["kernel"]
        np.testing.assert_allclose(together[seed], alone, rtol=1e-6)
