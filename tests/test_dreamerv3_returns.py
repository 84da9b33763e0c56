"""λ-returns, weights and losses of actor and critic."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from dreamerv3_batches import batch, loss_of, small_agent

from core.dreamerv3.actor_critic import lambda_returns
from core.dreamerv3.distributions import (
    CategoricalPolicy,
    NormalPolicy,
    bernoulli_loss,
    categorical_entropy,
    categorical_kl,
    sample_onehot,
    symlog_squared_error,
)

REWARDS = jnp.asarray([100.0, 1, 2, 3])[:, None]
VALUES = jnp.asarray([1000.0, 10, 20, 30])[:, None]
DISCOUNTS = jnp.asarray([1.0, 1, 1, 0])[:, None] * (1 - 1 / 333)


def test_rewards_and_values_are_those_of_the_outcome():
    returns = lambda_returns(REWARDS[1:], DISCOUNTS[1:], 0.95, VALUES[1:])
    np.testing.assert_allclose(returns[:, 0], [7.0284, 5.8384, 3.0], rtol=1e-4)


def test_an_outcome_that_is_not_terminal_is_worth_its_value_too():
    alive = jnp.full((3, 1), 1 - 1 / 333)
    returns = lambda_returns(REWARDS[1:], alive, 0.95, VALUES[1:])
    assert returns[0, 0] == pytest.approx(33.86, abs=0.01)
    assert returns[2, 0] == pytest.approx(3 + 30 * (1 - 1 / 333), rel=1e-6)


def test_returns_equal_a_plain_loop_with_a_lambda_per_step():
    rng = np.random.default_rng(0)
    r, d, lam, v = (rng.random((7, 3)) for _ in range(4))
    expected, following = [], v[-1]
    for t in reversed(range(7)):
        following = r[t] + d[t] * ((1 - lam[t]) * v[t] + lam[t] * following)
        expected.insert(0, following)
    arrays = (jnp.asarray(x, jnp.float32) for x in (r, d, lam, v))
    np.testing.assert_allclose(lambda_returns(*arrays), expected, rtol=1e-5)


@pytest.fixture(scope="module")
def aux():
    agent = small_agent()
    inputs = batch(agent)
    return agent, inputs[0], loss_of(agent, inputs)[1]


def test_weights_vanish_after_a_terminal_start(aux):
    _, rows, aux = aux
    ended = np.asarray(rows.is_terminal).reshape(-1)
    assert ended.sum() == 1
    assert not aux["weights"][ended].any()
    assert (aux["weights"][~ended] > 0).all()
    assert not aux["actor_loss"][ended].any()
    assert not aux["critic_loss"][ended].any()


def test_the_weight_of_a_state_leaves_out_its_own_discount(aux):
    """The start of a live row counts fully: the chance of reaching it is 1."""
    _, rows, aux = aux
    live = ~np.asarray(rows.is_terminal).reshape(-1)
    np.testing.assert_array_equal(aux["weights"][live, 0], 1.0)
    np.testing.assert_allclose(aux["weights"], np.cumprod(aux["continues"], axis=1), rtol=1e-6)


def test_a_horizon_of_h_counts_h_actions_from_every_row(aux):
    agent, rows, aux = aux
    H, N = agent.config.imag_horizon, rows.is_first.size
    assert aux["imagined_deter"].shape[:2] == aux["values"].shape == (N, H + 1)
    assert aux["log_probs"].shape == aux["returns"].shape == aux["actor_loss"].shape == (N, H)


def test_advantages_are_of_updated_percentiles(aux):
    agent, _, aux = aux
    low, high = np.percentile(aux["returns"], [5, 95])
    rate = agent.config.retnorm_rate
    np.testing.assert_allclose(aux["normaliser_low"], rate * low, rtol=1e-5)
    np.testing.assert_allclose(aux["normaliser_high"], rate * high, rtol=1e-5)
    scale = max(1.0, rate * (high - low))
    advantages = (aux["returns"] - aux["values"][:, :-1]) / scale
    np.testing.assert_allclose(aux["advantages"], advantages, rtol=1e-4, atol=1e-5)


def test_the_last_row_of_an_episode_has_no_replay_loss(aux):
    _, rows, aux = aux
    last = np.asarray(rows.is_last)[:, :-1]
    assert last.any()
    assert not aux["repval_loss"][last].any()
    assert (aux["repval_loss"][~last] > 0).all()


def test_free_nats_are_per_row(aux):
    agent, _, aux = aux
    post, prior = (np.float64(aux[f"{name}_logits"]) for name in ("post", "prior"))
    kl = (np.exp(post) * (post - prior)).sum((-1, -2))
    free = agent.config.free_nats
    assert kl.min() < free < kl.max()
    for name in ("dyn_loss", "rep_loss"):
        np.testing.assert_allclose(aux[name], np.maximum(kl, free), rtol=1e-3)


def test_the_total_is_the_scaled_sum_of_means(aux):
    agent, _, aux = aux
    terms = ("rec", "rew", "con", "dyn", "rep", "actor", "critic", "repval")
    scales = agent.config.to_dict()
    total = sum(scales[f"{name}_scale"] * np.mean(aux[f"{name}_loss"]) for name in terms)
    np.testing.assert_allclose(aux["total_loss"], total, rtol=1e-5)


def test_kl_and_entropy_equal_their_sums():
    rng = np.random.default_rng(0)
    p, q = (rng.dirichlet(np.ones(5), 3) for _ in range(2))
    shifted = jnp.asarray(np.log(p) + 7, jnp.float32)
    kl = categorical_kl(shifted, jnp.asarray(np.log(q), jnp.float32))
    np.testing.assert_allclose(kl, (p * np.log(p / q)).sum(-1), rtol=1e-5)
    np.testing.assert_allclose(categorical_entropy(shifted), -(p * np.log(p)).sum(-1), rtol=1e-5)


def test_a_draw_is_one_hot_with_the_gradient_of_the_probabilities():
    logits, gumbel = jnp.asarray([0.3, -1.0, 0.5]), jnp.asarray([0.0, 3.0, 0.0])
    np.testing.assert_array_equal(sample_onehot(logits, gumbel), [0, 1, 0])
    weights = jnp.asarray([1.0, 2, 3])
    drawn = jax.grad(lambda x: weights @ sample_onehot(x, gumbel))(logits)
    soft = jax.grad(lambda x: weights @ jax.nn.softmax(x))(logits)
    np.testing.assert_allclose(drawn, soft, rtol=1e-6)


def test_the_decoder_is_compared_in_symlog_space():
    error = symlog_squared_error(jnp.zeros((1, 2)), jnp.asarray([[10.0, 0.0]]))
    np.testing.assert_allclose(error, [np.log(11) ** 2], rtol=1e-6)
    close = symlog_squared_error(jnp.asarray([[9e-5]]), jnp.zeros((1, 1)))
    np.testing.assert_array_equal(close, [0.0])


def test_the_continue_loss_takes_a_probability_as_target():
    loss = bernoulli_loss(jnp.asarray(0.4), jnp.asarray(0.997))
    p = 1 / (1 + np.exp(-0.4))
    np.testing.assert_allclose(loss, -0.997 * np.log(p) - 0.003 * np.log(1 - p), rtol=1e-5)


def test_a_discrete_policy_is_never_certain():
    policy = CategoricalPolicy(2, unimix=0.01)
    raw = jnp.asarray([100.0, 0.0])
    np.testing.assert_allclose(np.exp(policy.logits(raw)), [0.995, 0.005], rtol=1e-5)
    low, high = policy.entropy_range()
    assert low < policy.entropy(raw) < policy.entropy(jnp.zeros(2)) <= high + 1e-6


def test_a_continuous_policy_has_bounded_moments():
    policy = NormalPolicy(1, minstd=0.1, maxstd=1.0)
    mean, std = policy.moments(jnp.asarray([[50.0, -50.0], [-50.0, 50.0]]))
    np.testing.assert_allclose(mean[:, 0], [1, -1], rtol=1e-6)
    np.testing.assert_allclose(std[:, 0], [0.1, 1.0], rtol=1e-5)
    raw, drawn = jnp.asarray([0.2, 0.1]), jnp.asarray([0.9])
    mean, std = (float(x[0]) for x in policy.moments(raw))
    expected = -0.5 * ((0.9 - mean) / std) ** 2 - np.log(std * np.sqrt(2 * np.pi))
    np.testing.assert_allclose(policy.log_prob(raw, drawn), expected, rtol=1e-5)
    np.testing.assert_allclose(
        policy.entropy(raw), np.log(std * np.sqrt(2 * np.pi * np.e)), rtol=1e-5
    )
