"""The agent as a whole: sizes, resets, shapes, precisions, transformations."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from dreamerv3_batches import QUICK, batch, loss_of, random_params, small_agent

from core.dreamerv3 import normaliser
from core.dreamerv3.agent import Agent, TrainNoise, TrainState
from core.dreamerv3.config import Config
from core.dreamerv3.types import Continuous, Discrete

SPACES = [Discrete(3), Continuous(2)]


def test_parameters_at_1m_on_cartpole_are_those_of_the_reference():
    """637,511 of the reference, less the 130 of its two padding columns (row D22)."""
    agent = Agent(Config.of_size("1m"), 4, Discrete(2))
    params = jax.eval_shape(agent.init, jax.random.PRNGKey(0)).params
    counts = {name: sum(x.size for x in jax.tree.leaves(part)) for name, part in params.items()}
    assert counts == {
        "enc": 8_832,
        "dyn": 364_160,
        "dec": 49_796,
        "rew": 57_728 - 65,
        "con": 41_153,
        "actor": 49_666,
        "critic": 66_176 - 65,
    }
    assert sum(counts.values()) == 637_381


@pytest.mark.parametrize("space", SPACES, ids=["discrete", "continuous"])
def test_a_first_row_forgets_what_came_before(space):
    agent = small_agent(space)
    rows, context, noise = batch(agent, B=2, T=5)
    rows = rows._replace(is_first=rows.is_first.at[:, 0].set(True))
    other = jax.tree.map(lambda x: 1 - x, context)
    a = loss_of(agent, (rows, context, noise))[1]
    b = loss_of(agent, (rows, other, noise))[1]
    np.testing.assert_array_equal(a["deter"], b["deter"])
    open_rows = rows._replace(is_first=rows.is_first.at[:, 0].set(False))
    a = loss_of(agent, (open_rows, context, noise))[1]
    b = loss_of(agent, (open_rows, other, noise))[1]
    assert not np.array_equal(a["deter"], b["deter"])


def test_a_reset_in_the_middle_clears_state_and_action_of_its_row_only():
    agent = small_agent()
    rows, context, noise = batch(agent, B=2, T=5)
    # Row 2 of sequence 0 is a first row: the observation and action of row 1 are forgotten.
    changed = rows._replace(
        observation=rows.observation.at[0, 1].add(1.0),
        action=rows.action.at[0, 1].set((rows.action[0, 1] + 1) % 3),
    )
    a = loss_of(agent, (rows, context, noise))[1]["deter"]
    b = loss_of(agent, (changed, context, noise))[1]["deter"]
    np.testing.assert_array_equal(a[0, 2:], b[0, 2:])
    changed = rows._replace(action=rows.action.at[1, 1].set((rows.action[1, 1] + 1) % 3))
    b = loss_of(agent, (changed, context, noise))[1]["deter"]
    np.testing.assert_array_equal(a[1, :2], b[1, :2])
    assert (a[1, 2] != b[1, 2]).any()


@pytest.mark.parametrize("space", SPACES, ids=["discrete", "continuous"])
def test_acting_step_by_step_equals_observing_the_sequence(space):
    agent = small_agent(space)
    params = random_params(agent)
    rows, context, noise = batch(agent, B=2, T=5)
    rows = rows._replace(is_first=rows.is_first.at[:, 0].set(True))
    aux = loss_of(agent, (rows, context, noise))[1]
    carry, act = agent.initial_carry(2), jax.jit(agent.act, compiler_options=QUICK)
    acting = agent.acting_noise(jax.random.PRNGKey(0), 2)
    for t in range(5):
        acting = acting._replace(posterior=noise.posterior[t])
        carry, action, latent = act(
            params, carry, rows.observation[:, t], rows.is_first[:, t], acting
        )
        np.testing.assert_allclose(latent.deter, aux["deter"][:, t], rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(latent.stoch, np.argmax(aux["stoch"][:, t], -1))
        assert action.shape == rows.action[:, t].shape
        assert action.dtype == rows.action.dtype
        carry = carry._replace(action=agent.policy.encode(rows.action[:, t]))


def test_acting_depends_on_the_observation():
    agent = small_agent(Continuous(2))
    noise = agent.acting_noise(jax.random.PRNGKey(0), 4)
    params, carry, first = random_params(agent), agent.initial_carry(4), jnp.zeros(4, bool)
    seen, act = jnp.ones((4, 5)), jax.jit(agent.act, compiler_options=QUICK)
    _, a, _ = act(params, carry, seen, first, noise)
    _, b, _ = act(params, carry, -seen, first, noise)
    # It enters through the draw of the classes, which may come out the same.
    assert (a != b).any()


def test_imagination_advances_with_its_own_draws_and_actions():
    agent = small_agent()
    rows, context, noise = batch(agent)
    a = loss_of(agent, (rows, context, noise))[1]
    changed = noise._replace(prior=noise.prior.at[0].multiply(-3))
    b = loss_of(agent, (rows, context, changed))[1]
    np.testing.assert_array_equal(a["imagined_deter"][:, :2], b["imagined_deter"][:, :2])
    assert (a["imagined_deter"][:, 2] != b["imagined_deter"][:, 2]).any()
    changed = noise._replace(action=noise.action.at[1].multiply(-3))
    b = loss_of(agent, (rows, context, changed))[1]
    assert (a["imagined_actions"][:, 1] != b["imagined_actions"][:, 1]).any()
    np.testing.assert_array_equal(a["imagined_deter"][:, :2], b["imagined_deter"][:, :2])


def test_trajectories_start_from_row_t_of_sequence_b_at_b_times_t_length_plus_t():
    agent = small_agent()
    rows, context, noise = batch(agent, B=2, T=5)
    aux = loss_of(agent, (rows, context, noise))[1]
    np.testing.assert_array_equal(aux["imagined_deter"][:, 0], aux["deter"].reshape(10, -1))
    np.testing.assert_array_equal(aux["rewards"][:, 0], rows.reward.reshape(-1))


def test_the_first_predictions_are_exactly_zero():
    agent = small_agent()
    params = jax.jit(agent.init)(jax.random.PRNGKey(0)).params
    aux = loss_of(agent, params=params)[1]
    assert not aux["values"].any()
    assert not aux["rewards"][:, 1:].any()


@pytest.mark.parametrize(
    ("B", "T", "overrides"),
    [
        (3, 2, {"stoch": 1, "hidden": 5, "units": 7, "imag_horizon": 1}),
        (1, 3, {"blocks": 1, "core_layers": 2, "unimix": 0.0, "actor_unimix": 0.0}),
    ],
)
def test_odd_shapes(B, T, overrides):
    agent = small_agent(Discrete(2), observation_size=1, **overrides)
    total, aux = loss_of(agent, batch(agent, B, T))
    assert np.isfinite(total)
    assert aux["returns"].shape == (B * T, agent.config.imag_horizon)


def test_sequences_of_one_row_are_refused():
    agent = small_agent()
    with pytest.raises(ValueError, match="at least 2 rows"):
        loss_of(agent, batch(agent, 2, 1))


def test_a_batch_of_terminal_rows_has_no_actor_loss():
    agent = small_agent()
    rows, context, noise = batch(agent)
    flags = jnp.ones_like(rows.is_last)
    rows = rows._replace(is_last=flags, is_terminal=flags)
    total, aux = loss_of(agent, (rows, context, noise))
    assert np.isfinite(total)
    assert not aux["actor_loss"].any()
    assert not aux["repval_loss"].any()
    np.testing.assert_array_equal(aux["replay_returns"], rows.reward[:, 1:])


def test_compiled_and_eager_losses_agree():
    agent = small_agent()
    params, inputs = random_params(agent), batch(agent)
    slow = random_params(agent, seed=1)["critic"]
    eager, eager_aux = agent.loss(params, slow, normaliser.initial(), *inputs)
    compiled, aux = loss_of(agent, inputs)
    np.testing.assert_allclose(compiled, eager, rtol=1e-4)
    assert list(aux)
    assert aux.keys() == eager_aux.keys()
    for name in ("deter", "post_logits", "rew_loss", "dyn_loss", "log_probs"):
        np.testing.assert_allclose(aux[name], eager_aux[name], rtol=1e-3, atol=1e-4)


def test_seeds_under_vmap_equal_seeds_one_by_one():
    agent = small_agent()
    params = [random_params(agent, seed) for seed in (0, 1)]
    stacked = jax.tree.map(lambda *x: jnp.stack(x), *params)
    slow = random_params(agent, seed=1)["critic"]
    inputs, fresh = batch(agent), normaliser.initial()
    together = jax.jit(
        jax.vmap(lambda p: agent.loss(p, slow, fresh, *inputs)), compiler_options=QUICK
    )
    totals, auxes = together(stacked)
    for i in (0, 1):
        total, aux = loss_of(agent, inputs, params[i])
        np.testing.assert_allclose(totals[i], total, rtol=1e-4)
        np.testing.assert_allclose(auxes["deter"][i], aux["deter"], rtol=1e-4, atol=1e-5)


def test_bfloat16_computes_in_half_precision_with_float32_parameters_and_losses():
    agent = small_agent(Continuous(2), compute_dtype="bfloat16")
    params, inputs = random_params(agent), batch(agent)
    shapes = jax.eval_shape(agent.loss, params, params["critic"], normaliser.initial(), *inputs)[1]
    half = {name for name, x in shapes.items() if x.dtype == jnp.bfloat16}
    states = {"deter", "stoch", "imagined_deter", "imagined_stoch", "imagined_actions"}
    assert half == {"embed", "post_logits", "prior_logits"} | states
    moments = agent.optimizer.init(params)
    state = TrainState(params, params["critic"], moments, normaliser.initial(), jnp.int32(0))
    state, latent, metrics = jax.jit(agent.update, compiler_options=QUICK)(state, *inputs)
    assert {x.dtype for x in jax.tree.leaves(state.params)} == {jnp.dtype("float32")}
    full = loss_of(small_agent(Continuous(2)), inputs, params)[1]
    assert latent.deter.dtype == jnp.float32
    np.testing.assert_allclose(latent.deter[:, 0], full["deter"][:, 0], atol=0.03)
    np.testing.assert_allclose(metrics["rec_loss"], full["rec_loss"].mean(), rtol=0.03)
    assert np.isfinite(metrics["opt_grad_norm"])


def test_inputs_are_left_as_they_were():
    agent = small_agent(Continuous(2))
    rows, context, noise = batch(agent)
    loud = rows._replace(action=3 * rows.action)
    kept = np.array(loud.action)
    loss_of(agent, (loud, context, noise))
    np.testing.assert_array_equal(loud.action, kept)


def test_noise_has_the_shapes_of_its_contract():
    agent = small_agent(Continuous(2))
    noise = agent.draw_noise(jax.random.PRNGKey(0), 2, 5)
    assert isinstance(noise, TrainNoise)
    assert [x.shape for x in noise] == [(5, 2, 3, 4), (4, 10, 3, 4), (5, 10, 2)]
