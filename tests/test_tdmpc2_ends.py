"""Ends of episodes as the model predicts them (row T29): the loss, the networks, plans."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tdmpc2_batches import (
    QUICK,
    SMALL,
    batch,
    compiled,
    plan_noise,
    planned,
    random_state,
    small_agent,
    update_noise,
)

from core.config import ConfigError
from core.tdmpc2 import ends, losses
from core.tdmpc2.agent import Agent
from core.tdmpc2.config import Config
from core.tdmpc2.intermediates import WATCHED, watched
from core.tdmpc2.tasks import Tasks
from core.tdmpc2.train_config import TrainConfig

AGENT, WITHOUT = small_agent(episodic=True, termination_coef=3.0), small_agent()
C = AGENT.config


@pytest.fixture(scope="module")
def state():
    return random_state(AGENT)


@pytest.fixture(scope="module")
def traced(state):
    call = compiled(AGENT, "traced_update")
    return jax.device_get(call(state, batch(AGENT), update_noise(AGENT)))


def test_the_loss_counts_all_steps_alike_and_is_known_to_all_digits():
    logits = np.asarray([[-3.0, 0.0], [15.0, -15.0], [15.0, -15.0]], np.float32)
    terminated = np.asarray([[0, 1], [1, 0], [0, 1]], np.float32)
    p = 1 / (1 + np.exp(-logits.astype(np.float64)))
    entropies = -np.log(np.where(terminated == 1, p, 1 - p))
    assert entropies[1].max() < 1e-6
    for steps in (slice(0, 3), slice(1, 2)):
        found = ends.assess(jnp.asarray(logits[steps]), jnp.asarray(terminated[steps]))
        np.testing.assert_allclose(found.loss, entropies[steps].mean(), rtol=1e-6)


@pytest.mark.parametrize(
    ("logits", "terminated", "f1"),
    [
        ([2, 3, 1, -1, -2], [1, 1, 0, 1, 0], 2 / 3),  # precision and recall are 2/3
        ([2, -3, -1, -1, -2], [1, 1, 1, 0, 0], 1 / 2),  # 1 and 1/3
        ([-2, -3, -1, -1, -2], [1, 0, 0, 0, 0], 0),
        ([0, -3, -1, -1, -2], [0, 0, 0, 0, 0], 0),
    ],
)
def test_predictions_are_scored_in_the_last_step(logits, terminated, f1):
    last = jnp.asarray([logits], jnp.float32), jnp.asarray([terminated], jnp.float32)
    other = jnp.ones((2, 5))
    found = ends.assess(
        *(jnp.concatenate([x, y]) for x, y in zip((-other, other), last, strict=True))
    )
    np.testing.assert_allclose(found.f1, f1, rtol=1e-6)
    np.testing.assert_allclose(found.rate, np.mean(terminated), rtol=1e-6)


def test_an_end_is_predicted_where_it_is_more_likely_than_not():
    found = ends.predicted(jnp.asarray([-1.0, -1e-3, 0.0, 1e-3, 1.0]))
    assert found.tolist() == [False, False, False, True, True]


def test_without_the_mode_nothing_is_there_and_with_it_everything_else_starts_the_same():
    key = jax.random.key(3)
    with_it, without = (compiled(a, "init")(key).params for a in (AGENT, WITHOUT))
    assert without.model.termination is None
    head = with_it.model.termination
    same = with_it._replace(model=with_it.model._replace(termination=None))
    for a, b in zip(*map(jax.tree.leaves, (same, without)), strict=True):
        np.testing.assert_array_equal(a, b)
    # A network like the others, and not one that starts by predicting 0.
    kernels = [head[layer]["kernel"] for layer in ("out",)]
    kernels += [head[f"hidden{i}"]["affine"]["kernel"] for i in range(2)]
    assert [k.shape for k in kernels] == [(14, 1), (12, 14), (14, 14)]
    np.testing.assert_allclose([jnp.std(k) for k in kernels[1:]], 0.02, rtol=0.2)
    assert all(k.any() for k in kernels)
    assert not head["out"]["bias"].any()
    assert (kernels[1] != with_it.model.dynamics["hidden0"]["affine"]["kernel"][:12]).any()


def test_metrics_are_those_that_are_watched_in_their_order(traced):
    assert set(traced[1].metrics) == set(watched(C))
    assert watched(WITHOUT.config) == WATCHED
    assert watched(C).index("termination_loss") < watched(C).index("total_loss")
    assert traced[1].metrics["termination_loss"] == traced[1].model.ends.loss > 0


def test_the_loss_is_of_the_states_that_actions_lead_to_and_in_the_total(state, traced):
    named = traced[1].model
    logits = AGENT.model.termination_logits(state.params.model, named.latents)
    np.testing.assert_allclose(named.ends.logits, logits[1:], rtol=1e-5, atol=1e-6)
    assert np.abs(logits[1:] - logits[:-1]).max() > 1e-2
    expected = ends.assess(logits[1:], batch(AGENT).terminated)
    np.testing.assert_allclose(named.ends.loss, expected.loss, rtol=1e-5)
    three = 20 * named.consistency_loss + 0.1 * (named.reward_loss + named.value_loss)
    np.testing.assert_allclose(named.total, three + 3 * named.ends.loss, rtol=1e-6)


def test_the_head_learns_at_the_full_rate_and_counts_in_the_norm(state, traced):
    after, named = traced
    gradient, steps = named.gradients.termination, named.steps.termination
    assert all(leaf.any() for leaf in jax.tree.leaves(gradient))
    for g, s in zip(*map(jax.tree.leaves, (gradient, steps)), strict=True):
        large = np.abs(g) > 1e-2
        np.testing.assert_allclose(np.abs(s[large]), C.learning_rate, rtol=1e-4)
    squares = sum(np.square(x, dtype=np.float64).sum() for x in jax.tree.leaves(named.gradients))
    np.testing.assert_allclose(named.clipped.own_norm, min(np.sqrt(squares), 20), rtol=1e-5)
    moved = after.params.model.termination["out"]["kernel"]
    assert (moved != state.params.model.termination["out"]["kernel"]).any()


def test_its_gradient_reaches_the_states_that_it_is_asked_of(state, traced):
    """Encoder and dynamics learn from it, besides the head, and nothing else does."""
    target, noise = traced[1].targets, update_noise(AGENT)

    def loss(params):
        return losses.model_losses(AGENT.model, params, batch(AGENT), target, noise).ends.loss

    gradient = jax.jit(jax.grad(loss), compiler_options=QUICK)(state.params.model)
    for part in ("encoder", "dynamics", "termination"):
        assert all(leaf.any() for leaf in jax.tree.leaves(getattr(gradient, part))), part
    for part in ("reward", "q"):
        assert not any(leaf.any() for leaf in jax.tree.leaves(getattr(gradient, part)))


@functools.partial(jax.jit, compiler_options=QUICK)
def rolled_out(params, latent, actions, value_action, q, keep):
    """Rewards and ends along trajectories that all go on, and their last values."""
    model, rewards, over = AGENT.model, [], []
    latent = jnp.broadcast_to(latent, (actions.shape[1], latent.shape[-1]))
    for action in actions:
        rewards.append(model.support.decode(model.reward_logits(params.model, latent, action)))
        latent = model.next(params.model, latent, action)
        over.append(model.termination_logits(params.model, latent) > 0)
    final = model.act(params.policy, latent, value_action).action
    last = jnp.mean(model.drawn_values(params.model.q, q, latent, final, keep), axis=0)
    return jnp.stack(rewards), jnp.stack(over), last


def value_of(rewards, over, last):
    """The value of one trajectory, until its first predicted end."""
    steps = 1 + int(over.argmax()) if over.any() else len(over)
    value = sum(AGENT.discount**t * float(rewards[t]) for t in range(steps))
    return value + (0.0 if over.any() else AGENT.discount ** len(over) * float(last))


def test_nothing_counts_in_a_plan_after_a_predicted_end(state):
    noise = plan_noise(AGENT)
    plan = planned(AGENT, state, noise)
    found = set()
    for i, actions in enumerate(plan.iterations.actions):
        drawn = (noise.value_action[i], noise.q[i], noise.q_keep[i])
        inputs = (state.params, plan.latent, jnp.asarray(actions), *drawn)
        rewards, over, last = jax.device_get(rolled_out(*inputs))
        expected = [value_of(*of_one) for of_one in zip(rewards.T, over.T, last, strict=True)]
        np.testing.assert_allclose(plan.iterations.values[i], expected, rtol=2e-5, atol=2e-5)
        for n, ends_at in enumerate(over.T.tolist()):
            found.add((n < C.num_pi_trajs, *ends_at))
    # Ends in the first step, in the second and in none; and one of the policy's own trajectories.
    assert {x[1:] for x in found} >= {(True, True), (False, True), (False, False)}, found
    assert {x for x in found if x[0] and any(x[1:])}, found


def test_a_head_that_predicts_no_end_changes_no_plan(state):
    model = state.params.model
    never = {**model.termination, "out": {**model.termination["out"], "bias": jnp.asarray([-99.0])}}
    quiet = state._replace(params=state.params._replace(model=model._replace(termination=never)))
    plain = state._replace(params=state.params._replace(model=model._replace(termination=None)))
    noise = plan_noise(AGENT)
    for a, b in zip(
        *map(jax.tree.leaves, (planned(AGENT, quiet, noise), planned(WITHOUT, plain, noise))),
        strict=True,
    ):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_the_mode_of_a_run_is_that_of_its_agent():
    assert TrainConfig(Config(**SMALL), episodic=True).agent.episodic
    assert not TrainConfig(Config(**SMALL)).agent.episodic
    with pytest.raises(ConfigError, match=r"agent\.episodic belongs to a run.*--episodic"):
        TrainConfig(Config(**SMALL, episodic=True))
    with pytest.raises(ConfigError, match=r"agent\.episodic is for agents of one task"):
        Agent.of_tasks(C, Tasks(("a", "b"), (2, 3), (1, 1), (10, 10)))
