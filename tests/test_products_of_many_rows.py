"""Products of many rows, whose gradient is written out by hand.

The exact products are those of float64. A sum of n products of float32 numbers is within
n · u · Σ|a·b| of the exact one in whatever order it is added up, u = 2^-24 being half a ULP of
1; so is one of bfloat16 numbers that is kept in float32, where every single product is exact.
Rounding it to bfloat16 in the end adds 2^-8 of its magnitude.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.dreamerv3.networks import MANY_ROWS, Linear, apply, product, sum_of_products

HALF_ULP = 2.0**-24
LAST_ROUNDING = {"float32": 0.0, "bfloat16": 2.0**-8}
WIDE, NARROW, SQUARE = (5, 19), (19, 5), (8, 8)
SHAPES = {"wide": WIDE, "narrow": NARROW, "square": SQUARE}


def drawn(rng, *shape, dtype="float32"):
    """Normal numbers of many magnitudes."""
    x = rng.normal(size=shape) * 10.0 ** rng.integers(-3, 3, shape)
    return jnp.asarray(x, dtype)


def with_gradients(x, kernel, d):
    """The product, and the gradients of Σ d · product in both factors."""
    y, back = jax.vjp(product, x, kernel)
    return y, *back(d.astype(y.dtype))


def assert_product(found, a, b, dtype="float32"):
    """Fails unless `found` is a @ b up to the rounding of its terms and of the result."""
    a, b, found = (np.asarray(z, np.float64) for z in (a, b, found))
    exact, terms = a @ b, a.shape[-1]
    allowed = terms * HALF_ULP * (np.abs(a) @ np.abs(b)) + LAST_ROUNDING[dtype] * np.abs(exact)
    worst = np.max(np.abs(found - exact) / allowed)
    assert worst <= 1, f"{worst} of what rounding explains"


def flat(x):
    return np.asarray(x, np.float64).reshape(-1, x.shape[-1])


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("leading", [(MANY_ROWS,), (20, 16), (5, 9, 11)], ids=str)
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_product_and_gradients_are_those_of_float64(shape, leading, dtype, mode):
    (inputs, units), rng = shape, np.random.default_rng(0)
    x = drawn(rng, *leading, inputs, dtype=dtype)
    kernel, d = drawn(rng, inputs, units, dtype=dtype), drawn(rng, *leading, units, dtype=dtype)
    call = jax.jit(with_gradients) if mode == "compiled" else with_gradients
    y, dx, dkernel = call(x, kernel, d)
    assert (y.shape, dx.shape, dkernel.shape) == ((*leading, units), x.shape, kernel.shape)
    # Not rounded yet: what adds it to another product does that once, for both.
    assert y.dtype == jnp.float32
    assert dx.dtype == dkernel.dtype == x.dtype
    assert_product(flat(y), flat(x), kernel)
    assert_product(flat(dx), flat(d), np.asarray(kernel).T, dtype)
    assert_product(dkernel, flat(x).T, flat(d), dtype)


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_many_rows_have_the_gradients_of_few(shape):
    """Below `MANY_ROWS` the gradient is the compiler's own."""
    (inputs, units), rng, rows = shape, np.random.default_rng(1), 2 * MANY_ROWS
    x, kernel, d = drawn(rng, rows, inputs), drawn(rng, inputs, units), drawn(rng, rows, units)
    _, dx, dkernel = with_gradients(x, kernel, d)
    parts = [
        with_gradients(x[i : i + MANY_ROWS // 2], kernel, d[i : i + MANY_ROWS // 2])
        for i in range(0, rows, MANY_ROWS // 2)
    ]
    few_dx = np.concatenate([np.asarray(part[1]) for part in parts])
    few_dkernel = sum(np.asarray(part[2], np.float64) for part in parts)
    # Each of the two is within one bound of the exact product.
    dx_bound = units * HALF_ULP * (np.abs(d) @ np.abs(kernel).T)
    dkernel_bound = rows * HALF_ULP * (np.abs(x).T @ np.abs(d))
    assert (np.abs(np.float64(dx) - few_dx) <= 2 * dx_bound).all()
    assert (np.abs(np.float64(dkernel) - few_dkernel) <= 2 * dkernel_bound).all()


def test_the_gradient_of_many_rows_is_the_one_that_is_written_out():
    """Otherwise the tests above would test the compiler."""
    few, many = (
        str(jax.make_jaxpr(product)(jnp.zeros((2, n, 3)), jnp.zeros((3, 4))))
        for n in (MANY_ROWS // 2 - 1, MANY_ROWS // 2)
    )
    assert "custom_vjp" not in few
    assert "custom_vjp" in many


def test_seeds_under_vmap_have_the_gradients_of_seeds_one_by_one():
    rng = np.random.default_rng(2)
    x, kernel = drawn(rng, 2, MANY_ROWS, 7), drawn(rng, 2, 7, 3)
    d = drawn(rng, 2, MANY_ROWS, 3)
    _, dx, dkernel = jax.vmap(with_gradients)(x, kernel, d)
    for seed in range(2):
        assert_product(dx[seed], d[seed], np.asarray(kernel[seed]).T)
        assert_product(dkernel[seed], np.asarray(x[seed]).T, d[seed])


@settings(max_examples=15)
@given(
    inputs=st.sampled_from([1, 7, 33]),
    units=st.sampled_from([1, 7, 32]),
    rows=st.sampled_from([MANY_ROWS, 1000]),
    seed=st.integers(0, 2**32 - 1),
)
def test_gradients_of_any_width_are_those_of_float64(inputs, units, rows, seed):
    rng = np.random.default_rng(seed)
    x, kernel, d = drawn(rng, rows, inputs), drawn(rng, inputs, units), drawn(rng, rows, units)
    y, dx, dkernel = with_gradients(x, kernel, d)
    assert_product(y, x, kernel)
    assert_product(dx, d, np.asarray(kernel).T)
    assert_product(dkernel, np.asarray(x).T, d)


def test_a_concatenation_in_parts_is_rounded_once_in_bfloat16():
    """Rounding the product of each part would leave errors of 2^-8 of every part."""
    rng = np.random.default_rng(3)
    parts = tuple(drawn(rng, MANY_ROWS, width, dtype="bfloat16") for width in (3, 6, 2))
    kernel = drawn(rng, 11, 5, dtype="bfloat16")
    y = sum_of_products(parts, kernel)
    assert y.dtype == jnp.bfloat16
    whole = np.concatenate([np.asarray(part, np.float64) for part in parts], axis=-1)
    assert_product(y, whole, kernel, "bfloat16")


def test_a_layer_of_many_rows_learns_as_one_of_few():
    """Through the layer: the kernel's gradient is that of its parameters, in float32."""
    rng = np.random.default_rng(4)
    layer, x = Linear(5), drawn(rng, 2 * MANY_ROWS, 9)
    d = drawn(rng, 2 * MANY_ROWS, 5)
    params = layer.init(jax.random.key(0), x[:1])["params"]
    found = jax.grad(lambda p: jnp.sum(d * apply(layer, p, x)))(params)
    assert_product(found["kernel"], np.asarray(x).T, d)
    assert_product(found["bias"][None], np.ones((1, len(d))), d)
