"""Which loss reaches which parameters, and which parameters an update changes."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from dreamerv3_batches import QUICK, batch, random_params, small_agent

from core.dreamerv3 import normaliser
from core.dreamerv3.agent import TrainState
from core.dreamerv3.rssm import State
from core.dreamerv3.types import Continuous, Discrete

TERMS = ("rec", "rew", "con", "dyn", "rep", "actor", "critic", "repval")
MODEL = {"enc", "dyn"}
REACHES = {
    "rec": MODEL | {"dec"},
    "rew": MODEL | {"rew"},
    "con": MODEL | {"con"},
    "dyn": MODEL,
    "rep": MODEL,
    "actor": {"actor"},
    "critic": {"critic"},
    "repval": MODEL | {"critic"},
}


@functools.cache
def gradients(space):
    """Intermediates, and the gradients of each loss term alone."""
    agent = small_agent(space, free_nats=0.0)
    params, inputs = random_params(agent), batch(agent)
    slow = random_params(agent, seed=1)["critic"]

    def terms(params):
        _, aux = agent.loss(params, slow, normaliser.initial(), *inputs)
        return {name: aux[f"{name}_loss"].mean() for name in TERMS}, aux

    jacobian = jax.jit(jax.jacrev(terms, has_aux=True), compiler_options=QUICK)
    return agent, params, *jacobian(params)


def reached(tree):
    return {name for name, part in tree.items() if any(x.any() for x in jax.tree.leaves(part))}


@pytest.mark.parametrize("space", [Discrete(3), Continuous(2)], ids=["discrete", "continuous"])
@pytest.mark.parametrize("term", TERMS)
def test_each_loss_trains_its_own_networks(term, space):
    assert reached(gradients(space)[2][term]) == REACHES[term]


def test_the_two_kl_terms_train_prior_and_posterior_apart():
    dyn, rep = (gradients(Discrete(3))[2][term]["dyn"] for term in ("dyn", "rep"))
    assert {"prior_out", "prior_hidden_0"} <= reached(dyn)
    # The prior's target is stopped, but the recurrent state that it reads is not, and the
    # drawn classes carry it back to the posteriors of earlier rows.
    assert not {"prior_out", "prior_hidden_0"} & reached(rep)
    assert {"posterior_out", "posterior_hidden_0"} <= reached(rep)


def test_the_actor_follows_the_score_function_with_stopped_advantages():
    """The gradient in direction v equals the finite difference of log π · A + η · entropy."""
    agent, params, grads, aux = gradients(Continuous(2))
    features = aux["imagined_deter"][:, :-1], aux["imagined_stoch"][:, :-1]
    rng = np.random.default_rng(0)
    direction = jax.tree.map(
        lambda x: jnp.asarray(rng.normal(size=x.shape), jnp.float32), params["actor"]
    )

    @jax.jit
    def loss(distance):
        actor = jax.tree.map(lambda x, v: x + distance * v, params["actor"], direction)
        raw = agent.networks.actor.apply({"params": actor}, *State(*features).features)
        score = agent.policy.log_prob(raw, aux["imagined_actions"][:, :-1]) * aux["advantages"]
        bonus = agent.config.actent * agent.policy.entropy(raw)
        return -(aux["weights"][:, :-1] * (score + bonus)).mean()

    step = 1e-3
    finite = (loss(step) - loss(-step)) / (2 * step)
    slope = sum(
        jnp.vdot(g, v)
        for g, v in zip(
            jax.tree.leaves(grads["actor"]["actor"]), jax.tree.leaves(direction), strict=True
        )
    )
    np.testing.assert_allclose(slope, finite, rtol=5e-3)


def test_an_update_changes_every_parameter_and_copies_the_critic_once():
    agent = small_agent(warmup=0, free_nats=0.0)
    params = random_params(agent)
    slow = random_params(agent, seed=1)["critic"]
    moments = agent.optimizer.init(params)
    state = TrainState(params, slow, moments, normaliser.initial(), jnp.int32(0))
    update = jax.jit(agent.update, compiler_options=QUICK)
    inputs = batch(agent)
    first, latent, metrics = update(state, *inputs)
    for before, after in zip(
        jax.tree.leaves(state.params), jax.tree.leaves(first.params), strict=True
    ):
        assert (before != after).any()
    for slow, critic in zip(
        jax.tree.leaves(first.slow_critic), jax.tree.leaves(first.params["critic"]), strict=True
    ):
        np.testing.assert_array_equal(slow, critic)
    second, _, _ = update(first, *inputs)
    rate = agent.config.slow_rate
    expected = jax.tree.map(
        lambda new, old: rate * new + (1 - rate) * old,
        second.params["critic"],
        first.slow_critic,
    )
    for slow, wanted in zip(
        jax.tree.leaves(second.slow_critic), jax.tree.leaves(expected), strict=True
    ):
        np.testing.assert_allclose(slow, wanted, rtol=1e-6, atol=1e-7)
    assert second.updates == 2
    assert latent.deter.shape == (2, 5, 16)
    assert latent.stoch.dtype == jnp.int32
    assert all(np.isfinite(value) for value in metrics.values())
