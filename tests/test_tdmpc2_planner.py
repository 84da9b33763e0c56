"""The planner: elites, weights, warm start, exploration, and what it saves."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tdmpc2_batches import (
    QUICK,
    acting_noise,
    compiled,
    plan_noise,
    planned,
    random_state,
    small_agent,
)

from core.tdmpc2 import planner

AGENT = small_agent()
C = AGENT.config


@pytest.fixture(scope="module")
def state():
    return random_state(AGENT)


def test_weights_of_the_elites_know_the_temperature():
    """Fault F63: without it, (0.1192, 0.8808)."""
    c = small_agent(num_elites=2, temperature=0.5).config
    elites, weights = planner.weigh_elites(jnp.asarray([-9.0, 0.0, -5.0, 2.0]), c)
    assert elites.tolist() == [3, 1]
    np.testing.assert_allclose(weights, [0.7311, 0.2689], atol=1e-4)


def test_the_fit_is_the_weighted_mean_and_deviation_within_bounds():
    rng = np.random.default_rng(0)
    actions, weights = rng.normal(size=(3, 6, 2)), rng.dirichlet(np.ones(6))
    actions[0] *= 1e-3
    actions[1] *= 10
    mean = np.einsum("e,hea->ha", weights, actions)
    std = np.sqrt(np.einsum("e,hea->ha", weights, (actions - mean[:, None]) ** 2))
    fitted = planner.fit(jnp.asarray(actions), jnp.asarray(weights), C)
    np.testing.assert_allclose(fitted.mean, mean, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(fitted.std, np.clip(std, 0.05, 2.0), rtol=1e-5)
    assert (fitted.std[0] == np.float32(0.05)).all()
    assert (fitted.std[1] == 2).any()


def test_a_plan_starts_from_the_previous_one_a_step_later_but_not_at_t0():
    previous = jnp.arange(6.0).reshape(3, 2)
    assert planner.warm_start(previous, jnp.asarray(False)).tolist() == [[2, 3], [4, 5], [0, 0]]
    assert not planner.warm_start(previous, jnp.asarray(True)).any()


def test_the_first_samples_are_drawn_around_the_warm_start(state):
    noise = plan_noise(AGENT)
    quiet = noise._replace(samples=jnp.zeros_like(noise.samples))
    previous = jnp.asarray(np.random.default_rng(0).uniform(-1, 1, (C.horizon, 2)), jnp.float32)
    plan = planned(AGENT, state, quiet, previous=previous, t0=False)
    sampled = plan.iterations.actions[0, :, C.num_pi_trajs :]
    np.testing.assert_array_equal(
        sampled, jnp.broadcast_to(planner.warm_start(previous, False)[:, None], sampled.shape)
    )
    first, second = (
        planned(AGENT, state, noise, previous=p, t0=True) for p in (previous, -previous)
    )
    np.testing.assert_array_equal(first.action, second.action)


def test_elites_are_the_best_trajectories_in_order(state):
    plan = planned(AGENT, state, plan_noise(AGENT))
    for values, elites, weights in zip(
        plan.iterations.values, plan.iterations.elites, plan.iterations.weights, strict=True
    ):
        best = np.sort(np.asarray(values))[::-1][: C.num_elites]
        np.testing.assert_array_equal(values[elites], best)
        np.testing.assert_allclose(weights.sum(), 1, rtol=1e-6)
    np.testing.assert_array_equal(plan.mean, plan.iterations.fitted.mean[-1])


def test_the_policys_trajectories_are_the_same_in_every_iteration(state):
    plan = planned(AGENT, state, plan_noise(AGENT))
    for actions in plan.iterations.actions:
        np.testing.assert_array_equal(actions[:, : C.num_pi_trajs], plan.policy_actions)
    assert (jnp.abs(plan.iterations.actions) <= 1).all()


def test_an_evaluation_takes_the_action_of_a_drawn_elite_without_noise(state):
    """Row T16."""
    noise = plan_noise(AGENT)
    quiet = noise._replace(action=jnp.zeros_like(noise.action))
    taken = set()
    for elite in range(C.num_elites):
        chosen = jnp.zeros(C.num_elites).at[elite].set(100.0)
        plan = planned(AGENT, state, quiet._replace(elite=chosen))
        last = jax.tree.map(lambda x: x[-1], plan.iterations)
        assert plan.elite == elite
        np.testing.assert_array_equal(plan.action, last.actions[0, last.elites[elite]])
        taken.add(tuple(plan.action.tolist()))
        explored = planned(AGENT, state, noise._replace(elite=chosen))
        expected = plan.action + last.fitted.std[0] * noise.action
        np.testing.assert_allclose(explored.action, jnp.clip(expected, -1, 1), rtol=1e-6)
    assert len(taken) == C.num_elites


def test_an_evaluation_draws_everything_but_the_exploration():
    def draw(key):
        return AGENT.acting_noise(key, 2), AGENT.acting_noise(key, 2, explore=False)

    training, evaluation = jax.jit(draw, compiler_options=QUICK)(jax.random.key(0))
    assert training.action.any()
    assert not evaluation.action.any()
    for a, b in zip(training[:-1], evaluation[:-1], strict=True):
        np.testing.assert_array_equal(a, b)
    assert (training.samples[0] != training.samples[1]).all()


def value_of(agent, state, latent, actions, noise):
    """The value of trajectories as the reference words it: all Q networks, every step anew."""
    model, params, total = agent.model, state.params, 0.0
    latent = jnp.broadcast_to(latent, (actions.shape[1], latent.shape[-1]))
    for t, action in enumerate(actions):
        logits = model.reward_logits(params.model, latent, action)
        total += agent.discount**t * model.support.decode(logits)
        latent = model.next(params.model, latent, action)
    value_action, q, keep = noise
    final = model.act(params.policy, latent, value_action).action
    everything = jnp.ones((agent.config.num_q, *keep.shape[1:]), bool).at[q].set(keep)
    values = model.support.decode(model.q_logits(params.model.q, latent, final, everything))
    return total + agent.discount**agent.config.horizon * (values[q[0]] + values[q[1]]) / 2


def test_the_values_are_those_of_rolling_everything_out_with_all_networks(state):
    noise = plan_noise(AGENT)
    plan = planned(AGENT, state, noise)
    for i, actions in enumerate(plan.iterations.actions):
        drawn = (noise.value_action[i], noise.q[i], noise.q_keep[i])
        expected = value_of(AGENT, state, plan.latent, actions, drawn)
        np.testing.assert_allclose(plan.iterations.values[i], expected, rtol=2e-5, atol=2e-5)


def test_a_value_that_is_not_a_number_counts_as_zero(state):
    bias = jnp.full(C.bins, jnp.nan)
    model = state.params.model
    reward = {**model.reward, "out": {**model.reward["out"], "bias": bias}}
    broken = state.params._replace(model=model._replace(reward=reward))
    plan = planned(AGENT, state._replace(params=broken), plan_noise(AGENT))
    assert not plan.iterations.values.any()
    assert jnp.isfinite(plan.action).all()


def test_one_step_without_policy_or_dropout_can_be_planned():
    agent = small_agent(actions=1, num_pi_trajs=0, horizon=1, dropout=0.0)
    plan = planned(agent, random_state(agent), plan_noise(agent))
    assert plan.action.shape == (1,)
    assert jnp.isfinite(plan.iterations.values).all()
    assert plan.mean.shape == (1, 1)


def test_acting_in_several_environments_is_planning_in_each(state):
    noise = acting_noise(AGENT, 3)
    rng = np.random.default_rng(0)
    observation = jnp.asarray(rng.normal(size=(3, AGENT.observation_size)), jnp.float32)
    carry = jnp.asarray(rng.uniform(-1, 1, (3, C.horizon, 2)), jnp.float32)
    t0 = jnp.asarray([True, False, True])
    means, actions = compiled(AGENT, "act")(state.params, carry, observation, t0, noise)
    for i in range(3):
        one = jax.tree.map(lambda x, i=i: x[i], noise)
        plan = planned(AGENT, state, one, observation=observation[i], previous=carry[i], t0=t0[i])
        np.testing.assert_allclose(actions[i], plan.action, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(means[i], plan.mean, rtol=1e-4, atol=1e-5)


def test_without_planning_the_policy_acts_and_takes_its_mean_without_noise():
    agent = small_agent(mpc=False)
    state, noise = random_state(agent), acting_noise(agent, 3)
    inputs = (agent.initial_carry(3), jnp.ones((3, agent.observation_size)), jnp.ones(3, bool))
    act = compiled(agent, "act")
    carry, action = act(state.params, *inputs, noise)
    _, mean = act(state.params, *inputs, noise._replace(action=jnp.zeros((3, 2))))
    latent = agent.model.encode(state.params.model, inputs[1])
    drawn = agent.model.act(state.params.policy, latent, noise.action)
    np.testing.assert_allclose(action, drawn.action, rtol=1e-5)
    np.testing.assert_allclose(mean, drawn.mean, rtol=1e-5)
    assert not carry.any()
