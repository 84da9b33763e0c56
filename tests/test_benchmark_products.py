"""The operations that the share of the peak is counted with."""

import jax
import jax.numpy as jnp
import pytest

from benchmarks.tdmpc2.products import count, of_plan, of_update
from core.tdmpc2.agent import Agent
from core.tdmpc2.config import Config

X, W = jax.ShapeDtypeStruct((2, 3), "float32"), jax.ShapeDtypeStruct((3, 3), "float32")
ONE = 2 * 2 * 3 * 3  # a multiplication and an addition, 2 rows, 3 inputs, 3 outputs


def chained(x, w, times):
    return jax.lax.scan(lambda carry, _: (carry @ w, None), x, length=times)[0]


@pytest.mark.parametrize(
    ("function", "products"),
    [
        (lambda x, w: x @ w, 1),
        (lambda x, w: (x @ w, x @ w)[0], 1),  # what nobody uses
        (lambda x, w: jax.jit(lambda y: y @ w)(x) @ w, 2),
        (lambda x, w: chained(x, w, 5), 5),
        (lambda x, w: jax.lax.cond(x[0, 0] > 0, lambda: x @ w @ w, lambda: x), 2),
        (lambda x, w: jax.grad(lambda v: jnp.sum(x @ v))(w), 1.0),
    ],
)
def test_products_are_counted_as_often_as_they_run(function, products):
    assert count(function, X, W) == products * ONE


def test_a_loop_of_unknown_length_is_refused():
    with pytest.raises(ValueError, match="how often"):
        count(lambda x, w: jax.lax.while_loop(lambda y: y[0, 0] < 1, lambda y: y @ w, x), X, W)


def test_more_samples_and_sequences_cost_more():
    def agent(**changed):
        return Agent(Config.of_size(1, **changed), 24, 6, 500)

    assert of_update(agent(batch_size=512)) == pytest.approx(2 * of_update(agent()))
    # The policy's own trajectories cost the same; every other one costs as much as the next.
    few, more, most = (of_plan(agent(num_samples=n)) for n in (512, 768, 1024))
    assert few < more
    assert most - more == pytest.approx(more - few)
