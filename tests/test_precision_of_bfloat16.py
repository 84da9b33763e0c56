"""Which operations of a bfloat16 agent are in float32, and which round to bfloat16 (row D4)."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from dreamerv3_batches import random_params, small_agent

from core.dreamerv3.heads import ContinuousActor, LinearHead, TwoHotHead
from core.dreamerv3.networks import Encoder, apply, sum_of_products
from core.dreamerv3.rssm import State

HALF = jnp.bfloat16


def rounded(x):
    """Numbers as bfloat16 has them, in float64."""
    return np.asarray(jnp.asarray(x, HALF), np.float64)


def test_the_symlog_of_an_observation_is_taken_before_it_is_rounded(mode):
    rng = np.random.default_rng(0)
    observation = rng.choice([-1, 1], 4000) * 10 ** rng.uniform(-1, 4, 4000)
    observation = observation.astype(np.float32)
    encoder = Encoder(layers=0, units=1, dtype=jnp.dtype(HALF))
    encode = lambda x: apply(encoder, {}, x)  # noqa: E731
    found = (jax.jit(encode) if mode == "compiled" else encode)(observation)
    assert found.dtype == HALF

    def symlog(x):
        return np.sign(x) * np.log1p(np.abs(x))

    wanted, early = rounded(symlog(np.float64(observation))), rounded(symlog(rounded(observation)))
    # A float32 symlog that is 3 ULP off falls on another bfloat16 once in 10,000 times.
    assert np.mean(rounded(found) != wanted) < 0.002
    assert np.mean(early != wanted) > 0.05


@pytest.mark.parametrize("draw", ["imagine", "observe"])
def test_classes_are_drawn_with_noise_in_float32(draw):
    """The best class is best by less than the distance of two bfloat16 numbers."""
    agent = small_agent(compute_dtype="bfloat16", stoch=5)
    c, rng, n = agent.config, np.random.default_rng(1), 16
    params, dyn = random_params(agent)["dyn"], agent.networks.dyn
    deter = jnp.asarray(np.tanh(rng.normal(size=(n, c.deter))), HALF)
    stoch = jax.nn.one_hot(rng.integers(0, c.classes, (n, c.stoch)), c.classes, dtype=HALF)
    state, action = State(deter, stoch), jnp.asarray(np.eye(3)[rng.integers(0, 3, n)], HALF)
    embed = jnp.asarray(rng.normal(size=(n, c.units)), HALF)

    def step(gumbel):
        if draw == "imagine":
            following = apply(dyn, params, state, action, gumbel, method="imagine")
            return following, apply(dyn, params, following.deter, method="prior")
        first = jnp.zeros(n, bool)
        return apply(dyn, params, state, action, embed, first, gumbel, method="observe")

    logits = np.float64(step(jnp.zeros((n, c.stoch, c.classes)))[1])
    rank = rng.permuted(np.broadcast_to(np.arange(c.classes), logits.shape), axis=-1)
    gumbel = jnp.asarray(8 - logits + 1e-3 * rank, jnp.float32)
    following, again = step(gumbel)
    np.testing.assert_array_equal(np.float64(again), logits)
    assert following.stoch.dtype == HALF
    np.testing.assert_array_equal(np.argmax(following.stoch, -1), np.argmax(rank, -1))
    coarse = rounded(rounded(logits) + rounded(gumbel))
    assert np.mean(coarse.argmax(-1) != rank.argmax(-1)) > 0.3


HEADS = {
    "two-hot": TwoHotHead(layers=1, units=8, bins=15),
    "linear": LinearHead(layers=1, units=8, outputs=5),
    "actor": ContinuousActor(layers=1, units=8, outputs=3),
}


@pytest.mark.parametrize("head", HEADS.values(), ids=HEADS)
def test_a_head_answers_in_float32_with_numbers_of_bfloat16(head):
    """Its last product is rounded like every other one; what follows is in float32."""
    rng = np.random.default_rng(2)
    features = tuple(jnp.asarray(rng.normal(size=(32, width)), HALF) for width in (6, 4))
    shapes = jax.eval_shape(head.init, jax.random.key(0), *features)["params"]
    params = jax.tree.map(lambda x: jnp.asarray(rng.normal(size=x.shape), jnp.float32), shapes)
    answer = apply(head, params, *features)
    assert answer.dtype == jnp.float32
    np.testing.assert_array_equal(rounded(answer), np.float64(answer))
    # The parameters are read as bfloat16 numbers, and what is below these makes no difference.
    coarse = jax.tree.map(lambda x: x.astype(HALF).astype(jnp.float32), params)
    assert any((a != b).any() for a, b in zip(*map(jax.tree.leaves, (params, coarse)), strict=True))
    np.testing.assert_array_equal(apply(head, coarse, *features), answer)


def test_the_expectation_of_two_hot_logits_is_in_float32():
    rng = np.random.default_rng(3)
    head, features = TwoHotHead(layers=0, units=1, bins=15), jnp.asarray(rng.normal(size=9), HALF)
    kernel, bias = 0.1 * rng.normal(size=(9, 15)), -4 * np.abs(np.arange(-7.0, 8.0))
    params = {"out": {"kernel": jnp.float32(kernel), "bias": jnp.float32(bias)}}
    probs = jax.nn.softmax(np.float64(apply(head, params, features)))
    bins = np.sign(np.linspace(-20, 20, 15)) * np.expm1(np.abs(np.linspace(-20, 20, 15)))
    value = apply(head, params, features, method="predict")
    assert value.dtype == jnp.float32
    assert abs(float(value) - float(np.float64(probs) @ bins)) < 0.002
    assert float(rounded(value)) != float(value)


def test_products_are_added_up_in_float32():
    """Of 4,000 terms, sums in bfloat16 would stop growing at 256."""
    ones = jnp.ones((1, 2000), HALF)
    total = sum_of_products((ones, ones), jnp.ones((4000, 1), HALF))
    assert total.dtype == HALF
    assert float(total[0, 0]) == 4000.0
    # 257 is no bfloat16, and rounds to 256; 257 + 257 + 2 is one.
    parts = tuple(jnp.ones((1, width), HALF) for width in (257, 257, 2))
    assert float(sum_of_products(parts, jnp.ones((516, 1), HALF))[0, 0]) == 516.0
