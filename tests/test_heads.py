"""Prediction heads at initialisation."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from core.dreamerv3.heads import TwoHotHead
from core.dreamerv3.networks import HiddenLayer


@pytest.fixture(scope="module")
def head():
    model = TwoHotHead(layers=1, units=8)
    return model, model.init(jax.random.PRNGKey(0), jnp.zeros((1, 4)))


def test_the_first_prediction_is_exactly_zero(head, mode):
    model, parameters = head
    predict = lambda x: model.apply(parameters, x, method="predict")  # noqa: E731
    predict = jax.jit(predict) if mode == "compiled" else predict
    features = 100 * jax.random.normal(jax.random.PRNGKey(1), (5, 4))
    np.testing.assert_array_equal(predict(features), np.zeros(5))


def test_parameters_are_those_of_the_reference_without_its_padding(head):
    _, parameters = head
    shapes = jax.tree.map(jnp.shape, parameters["params"])
    assert shapes == {
        "hidden0": {"linear": {"kernel": (4, 8), "bias": (8,)}, "scale": (8,)},
        "out": {"kernel": (8, 255), "bias": (255,)},
    }


def test_a_hidden_layer_is_dense_then_norm_then_silu():
    layer = HiddenLayer(3)
    x = jnp.asarray([[1.0, -2.0]])
    parameters = layer.init(jax.random.PRNGKey(0), x)
    kernel = np.asarray(parameters["params"]["linear"]["kernel"], np.float64)
    z = np.asarray(x, np.float64) @ kernel
    z = z / np.sqrt(np.mean(z**2) + 1e-4)
    np.testing.assert_allclose(layer.apply(parameters, x), z / (1 + np.exp(-z)), rtol=1e-5)
