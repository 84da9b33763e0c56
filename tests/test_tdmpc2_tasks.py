"""Several tasks in one agent."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tdmpc2_batches import ACTIONS, OBSERVATION, QUICK, SMALL, batch, random_noise, random_state

from core.config import ConfigError
from core.tdmpc2 import losses
from core.tdmpc2.agent import Agent
from core.tdmpc2.config import ERAS, Config
from core.tdmpc2.tasks import Tasks, shorten_rows, shortened

# The second task has one action less, a shorter observation, and another discount.
TASKS = Tasks(("long", "short"), (OBSERVATION, 5), (ACTIONS, ACTIONS - 1), (500, 50))
VECTOR = 3


def agent_of_tasks(**overrides):
    return Agent.of_tasks(Config(**{**SMALL, "task_dim": VECTOR, **overrides}), TASKS)


AGENT = agent_of_tasks()


@pytest.fixture(scope="module")
def state():
    return random_state(AGENT)


def drawn(agent, method, *arguments):
    shapes = jax.eval_shape(lambda k: getattr(agent, method)(k, *arguments), jax.random.key(0))
    return random_noise(agent, shapes)


def of_tasks(data, task):
    """A batch whose sequences belong to tasks, actions padded with zeros."""
    task = jnp.asarray(task, jnp.int32)
    return data._replace(action=data.action * jnp.asarray(TASKS.masks)[task], task=task)


def test_lengths_are_the_longest_and_masks_know_each_tasks_actions():
    assert (TASKS.observation_size, TASKS.action_size) == (OBSERVATION, ACTIONS)
    np.testing.assert_array_equal(TASKS.masks, [[1, 1], [1, 0]])


@pytest.mark.parametrize(
    ("names", "actions", "message"),
    [
        ((), (), "different names"),
        (("a", "a"), (1, 1), "different names"),
        (("a", "b"), (1,), "action_sizes of 2 tasks"),
        (("a", "b"), (1, 0), "at least 1"),
    ],
)
def test_tasks_that_make_no_set_are_refused(names, actions, message):
    with pytest.raises(ConfigError, match=message):
        Tasks(names, (1,) * len(names), actions, (1,) * len(names))


def test_only_the_rows_that_are_read_are_shortened():
    """The figures of row T15."""
    rng = np.random.default_rng(0)
    directions = rng.normal(size=(3, 4))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    table = jnp.asarray(directions * [[2], [1.5], [3]], jnp.float32)
    after = shorten_rows(table, jnp.asarray([1, 1]))
    np.testing.assert_allclose(np.linalg.norm(after, axis=1), [2, 1, 3], rtol=1e-6)
    np.testing.assert_array_equal(after[::2], table[::2])


def test_short_vectors_stay_and_no_gradient_flows_into_a_norm():
    np.testing.assert_array_equal(shortened(jnp.asarray([[0.5, 0.0]])), [[0.5, 0.0]])
    gradient = jax.grad(lambda x: shortened(x).sum())(jnp.asarray([3.0, 4.0]))
    np.testing.assert_allclose(gradient, 0.2, rtol=1e-6)


def test_without_vector_and_mask_it_is_the_agent_of_one_task(state):
    """The vector is one more input: where it is zero, its rows of the kernels do not count."""
    single = Agent(Config(**SMALL), OBSERVATION, ACTIONS, TASKS.episode_lengths[0])

    def without(path, leaf):
        name = jax.tree_util.keystr(path, simple=True, separator="/")
        if not name.endswith("hidden0/affine/kernel"):
            return leaf
        start = OBSERVATION if "encoder" in name else SMALL["latent_dim"]
        kept = [i for i in range(leaf.shape[-2]) if not start <= i < start + VECTOR]
        return leaf[..., jnp.asarray(kept), :]

    zero = state.params.model._replace(tasks=jnp.zeros((2, VECTOR)))
    params = state.params._replace(model=zero)
    target_q = state.target_q
    narrow = params._replace(model=zero._replace(tasks=None))
    narrow, narrow_q = (
        jax.tree_util.tree_map_with_path(without, narrow),
        jax.tree_util.tree_map_with_path(
            without, narrow._replace(model=narrow.model._replace(q=target_q))
        ).model.q,
    )
    data, noise = batch(AGENT), drawn(AGENT, "update_noise")
    task = jnp.zeros(SMALL["batch_size"], jnp.int32)
    networks = AGENT.model.of_task(params.model, task)
    gamma = AGENT.discount_of(task)
    ours = losses.targets(networks, params, target_q, gamma, data, noise)
    theirs = losses.targets(single.model, narrow, narrow_q, single.discount, data, noise)
    np.testing.assert_allclose(ours.returns, theirs.returns, rtol=1e-5, atol=1e-6)
    ours = losses.model_losses(networks, params.model, data, ours, noise)
    theirs = losses.model_losses(single.model, narrow.model, data, theirs, noise)
    np.testing.assert_allclose(ours.total, theirs.total, rtol=1e-5)


def test_discounts_and_actions_are_those_of_each_sequences_task(state):
    task = jnp.asarray([0, 1, 0, 1, 1, 0, 1])
    networks = AGENT.model.of_task(state.params.model, task)
    discounts = [AGENT.config.discount(n) for n in TASKS.episode_lengths]
    assert discounts[0] != discounts[1]
    data, noise = of_tasks(batch(AGENT), task), drawn(AGENT, "update_noise")
    target = losses.targets(
        networks, state.params, state.target_q, AGENT.discount_of(task), data, noise
    )
    expected = data.reward + np.asarray(discounts)[np.asarray(task)] * (
        1 - data.terminated
    ) * target.values.min(0)
    np.testing.assert_allclose(target.returns, expected, rtol=1e-6)
    missing = np.asarray(TASKS.masks)[np.asarray(task)] == 0
    assert np.all(np.asarray(target.policy.action)[:, missing] == 0)
    assert np.all(np.asarray(target.policy.action)[:, ~missing] != 0)


def test_the_entropy_counts_the_actions_that_a_task_has(state):
    """With one action of two, the density is not scaled by two."""
    latent = jnp.ones((1, SMALL["latent_dim"])) / SMALL["simnorm_dim"]
    networks = AGENT.model.of_task(state.params.model, jnp.asarray([1]))
    sample = networks.act(state.params.policy, latent, jnp.asarray([[0.3, 5.0]]))
    log_std, action = float(sample.log_std[0, 0]), float(sample.action[0, 0])
    density = -0.5 * 0.3**2 - log_std - 0.5 * np.log(2 * np.pi)
    squashing = np.log(1 - action**2 + 1e-6) + np.log(1 + 1e-6)
    np.testing.assert_allclose(sample.entropy, [squashing - density], rtol=1e-4)


def test_a_plan_leaves_actions_that_the_task_lacks_at_zero_and_writes_no_parameters(state):
    params = state.params._replace(
        model=state.params.model._replace(tasks=jnp.full((2, VECTOR), 5.0))
    )
    noise = jax.tree.map(lambda x: x[0], drawn(AGENT, "acting_noise", 1))
    plan = jax.jit(AGENT.plan, compiler_options=QUICK)(
        params, jnp.ones(OBSERVATION), jnp.ones((SMALL["horizon"], ACTIONS)), False, noise, 1
    )
    for actions in (plan.iterations.actions, plan.mean, plan.action, plan.policy_actions):
        assert np.all(np.asarray(actions)[..., 1] == 0)
        assert np.any(np.asarray(actions)[..., 0] != 0)
    assert np.all(np.asarray(plan.iterations.fitted.std)[..., 1] == 0)


def test_a_task_has_to_be_named(state):
    with pytest.raises(ValueError, match="which one"):
        AGENT.update(state, batch(AGENT), drawn(AGENT, "update_noise"))


def test_the_policys_gradient_reaches_the_vectors_one_update_later_at_one_pin_only():
    assert jax.eval_shape(AGENT.init, jax.random.key(0)).task_gradient is None
    agent = agent_of_tasks(**ERAS["e9f5932"])
    state = random_state(agent)
    noise, data = drawn(agent, "update_noise"), of_tasks(batch(agent), [0] * 7)
    update = jax.jit(agent.traced_update, compiler_options=QUICK)
    after, first = update(state, data, noise)
    assert np.any(after.task_gradient[0] != 0)
    assert np.all(after.task_gradient[1] == 0)
    _, again = update(state._replace(task_gradient=after.task_gradient), data, noise)
    np.testing.assert_allclose(
        again.gradients.tasks, first.gradients.tasks + after.task_gradient, rtol=1e-5
    )
    # Of the first update, only the model's own loss counts.
    assert np.any(first.gradients.tasks[0] != 0)
