"""The agent as a whole: sizes, targets, losses, gradients, noise, transformations."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tdmpc2_batches import QUICK, batch, compiled, random_state, small_agent, update_noise

from core.tdmpc2 import losses, noise, optimizer
from core.tdmpc2.agent import Agent
from core.tdmpc2.config import ERAS, SIZES, Config
from core.tdmpc2.world_model import ModelParams

AGENT = small_agent()
# One step of one sequence, the least networks, one action; and the later era's choices.
LEAST = small_agent(actions=1, horizon=1, batch_size=1, num_q=2, enc_layers=4, **ERAS["e9f5932"])
# Measured on nicklashansen/tdmpc2 at 5f6fade and e9f5932: observations of 24, actions of 6.
PARAMETERS = {
    1: (40_064, 250_752, 240_101, 480_202, 203_532),
    5: (139_520, 794_112, 582_245, 2_911_225, 533_516),
    19: (1_868_032, 2_636_032, 1_950_821, 9_754_105, 1_853_452),
    48: (7_860_224, 5_987_584, 4_790_117, 23_950_585, 4_619_788),
    317: (56_119_328, 28_102_688, 22_876_261, 183_010_088, 22_487_052),
}


@pytest.fixture(scope="module")
def state():
    return random_state(AGENT)


@functools.cache
def side_by_side():
    """An update of two seeds as one program."""
    return jax.jit(jax.vmap(AGENT.traced_update), compiler_options=QUICK)


def update_of(state, noise, seed=0):
    """An update of the agent, beside that of another seed."""
    other = random_state(AGENT, 1), batch(AGENT, 1), update_noise(AGENT, 1)
    # By numpy: XLA would compile a program for every shape.
    inputs = jax.tree.map(lambda *x: np.stack(x), (state, batch(AGENT, seed), noise), other)
    return jax.tree.map(lambda x: x[0], jax.device_get(side_by_side()(*inputs)))


@pytest.fixture(scope="module")
def traced(state):
    return update_of(state, update_noise(AGENT))


def size(tree):
    return sum(x.size for x in jax.tree.leaves(tree))


@pytest.mark.parametrize("millions", SIZES)
def test_parameters_are_as_many_as_the_references(millions):
    agent = Agent(Config.of_size(millions), 24, 6, 500)
    state = jax.eval_shape(agent.init, jax.random.key(0))
    parts = (*state.params.model, state.params.policy)
    counts = [size(part) for part in parts if part is not None]
    assert counts == list(PARAMETERS[millions])
    assert size(state.target_q) == counts[3]


def test_networks_and_members_start_different_and_predict_zero():
    """Fault F68."""
    state = jax.tree.map(np.asarray, compiled(AGENT, "init")(jax.random.key(0)))
    kernel = state.params.model.q["hidden0"]["affine"]["kernel"]
    assert len({float(x) for x in kernel[:, 0, 0]}) == 5
    first = [p["hidden1"]["affine"]["kernel"][0, 0] for p in state.params.model[1:3]]
    assert first[0] != first[1]
    np.testing.assert_allclose(jnp.std(kernel), 0.02, rtol=0.1)
    _, named = update_of(state, update_noise(AGENT))
    assert not named.targets.values.any()
    assert not named.model.reward_logits.any()


def test_the_era_of_torchs_default_starts_q_networks_wider_and_with_biases():
    agent = small_agent(**ERAS["eece801"])
    model = compiled(agent, "init")(jax.random.key(0)).params.model
    q, other = model.q, model.dynamics
    bound = (agent.config.latent_dim + agent.action_size) ** -0.5
    kernel, bias = (q["hidden0"]["affine"][n] for n in ("kernel", "bias"))
    np.testing.assert_allclose(jnp.std(kernel), bound / 3**0.5, rtol=0.05)
    assert 0.8 * bound < jnp.abs(bias).max() <= bound
    assert q["out"]["bias"].any()
    assert not q["out"]["kernel"].any()
    assert not other["hidden0"]["affine"]["bias"].any()


def test_a_termination_ends_its_own_target_only():
    """Fault F60: r = 1, Q = 10, γ = 0.99, termination (0, 0, 1)."""
    agent = Agent(small_agent(horizon=3).config, 9, 2, 500)
    state, c = random_state(agent), agent.config
    rewards = jnp.ones((c.horizon, c.batch_size))
    ends = jnp.zeros_like(rewards).at[2].set(1.0)
    support = agent.model.support
    # The smaller of two constant predictions: 10 from network 2, more from all others.
    constants = jnp.asarray([30.0, 20.0, 10.0, 20.0, 30.0])
    out = {
        "kernel": jnp.zeros_like(state.target_q["out"]["kernel"]),
        "bias": jnp.log(support.encode(constants) + 1e-20),
    }
    data = batch(agent)._replace(reward=rewards, terminated=ends)
    drawn = update_noise(agent)._replace(target_q=jnp.asarray([4, 2]))

    def returns(params, target_q):
        target = losses.targets(agent.model, params, target_q, agent.discount, data, drawn)
        return target.returns[:, 0]

    constant = {**state.target_q, "out": out}
    ours = jax.jit(returns, compiler_options=QUICK)(state.params, constant)
    np.testing.assert_allclose(ours, [10.9, 10.9, 1.0], rtol=1e-4)


def test_targets_come_from_encoded_observations_and_not_from_the_rollout(state, traced):
    """Fault F61."""
    encoded = AGENT.model.encode(state.params.model, batch(AGENT).observation)
    np.testing.assert_allclose(traced[1].targets.next_latents, encoded[1:], rtol=1e-5)
    np.testing.assert_allclose(traced[1].model.latents[0], encoded[0], rtol=1e-5)
    assert jnp.abs(traced[1].model.latents[1:] - encoded[1:]).max() > 1e-2


def test_evaluating_two_networks_equals_evaluating_all_and_choosing(state, traced):
    drawn, model = update_noise(AGENT), AGENT.model
    a, b = drawn.target_q.tolist()
    masks = jnp.ones((5, *drawn.target_keep.shape[1:]), bool)
    masks = masks.at[a].set(drawn.target_keep[0]).at[b].set(drawn.target_keep[1])
    target = traced[1].targets
    inputs = (target.next_latents, target.policy.action, masks)
    everything = model.support.decode(model.q_logits(state.target_q, *inputs))
    np.testing.assert_allclose(target.values, everything[jnp.asarray([a, b])], rtol=1e-5)
    smaller = jnp.minimum(everything[a], everything[b])
    expected = batch(AGENT).reward + AGENT.discount * (1 - batch(AGENT).terminated) * smaller
    np.testing.assert_allclose(target.returns, expected, rtol=1e-5, atol=1e-6)


def test_losses_are_the_weighted_means_of_their_steps(traced):
    """Fault F70."""
    named, weights = traced[1].model, np.asarray([1.0, 0.5])
    for name in ("consistency", "reward", "value"):
        mean = (weights * getattr(named, name)).mean()
        np.testing.assert_allclose(getattr(named, f"{name}_loss"), mean, rtol=1e-5)
    total = 20 * named.consistency_loss + 0.1 * (named.reward_loss + named.value_loss)
    np.testing.assert_allclose(named.total, total, rtol=1e-6)
    policy = traced[1].policy
    weighted = np.asarray([1.0, 0.5, 0.25]) * policy.steps
    np.testing.assert_allclose(policy.total, weighted.mean(), rtol=1e-5)


def test_the_policys_loss_weighs_entropy_and_scaled_values_of_the_updated_networks(state, traced):
    after, named = traced
    policy, drawn, model = named.policy, update_noise(AGENT), AGENT.model
    gain = 1e-4 * policy.policy.entropy + policy.values / policy.scale
    np.testing.assert_allclose(policy.steps, -gain.mean(-1), rtol=1e-5)
    latents, action = named.model.latents, policy.policy.action
    inputs = (drawn.policy_q, latents, action, drawn.policy_keep)
    new, old = (
        model.drawn_values(q, *inputs).mean(0) for q in (after.params.model.q, state.params.model.q)
    )
    np.testing.assert_allclose(policy.values, new, rtol=1e-4, atol=1e-5)
    assert jnp.abs(new - old).max() > 1e-3


def test_the_scale_is_that_of_the_values_in_the_first_step(state, traced):
    """Fault F65."""
    q = state.params.model.q
    wide = {**q, "out": jax.tree.map(lambda x: 20 * x, q["out"])}
    rest = np.float32(1.0), traced[1].model.latents, update_noise(AGENT)
    loss = jax.jit(functools.partial(losses.policy_loss, AGENT.model), compiler_options=QUICK)
    policy = loss(state.params.policy, wide, *rest)
    first, all_steps = (
        np.subtract(*np.percentile(x, [95, 5])) for x in (policy.values[0], policy.values)
    )
    assert min(first, abs(first - all_steps)) > 1
    np.testing.assert_allclose(policy.scale, 0.99 + 0.01 * first, rtol=1e-6)


def test_every_network_learns_from_its_own_loss_only(state, traced):
    named, drawn, data, model = traced[1], update_noise(AGENT), batch(AGENT), AGENT.model
    # Every parameter has a gradient from its own loss...
    for leaf in jax.tree.leaves((named.gradients, named.policy_gradients)):
        assert leaf.any()
    assert type(named.gradients) is ModelParams

    # ... and none from the targets, or from the policy's loss if it is not the policy's.
    def returns(params, target_q):
        return losses.targets(model, params, target_q, 0.99, data, drawn).returns.sum()

    def policy_loss(q, latents):
        scale, policy = state.scale, state.params.policy
        return losses.policy_loss(model, policy, q, scale, latents, drawn).total

    for function, inputs in (
        (returns, (state.params, state.target_q)),
        (policy_loss, (state.params.model.q, named.model.latents)),
    ):
        gradient = jax.jit(jax.grad(function, (0, 1)), compiler_options=QUICK)(*inputs)
        assert not any(leaf.any() for leaf in jax.tree.leaves(gradient))


def test_the_target_networks_move_a_hundredth_of_the_way_to_the_updated_ones(state, traced):
    after = traced[0]
    for old, new, moved in zip(
        *map(jax.tree.leaves, (state.target_q, after.params.model.q, after.target_q)), strict=True
    ):
        np.testing.assert_allclose(moved, old + 0.01 * (new - old), rtol=1e-6, atol=1e-8)


def test_the_first_step_of_adam_has_the_size_of_its_network(state, traced):
    """To 1e-5, which a bias correction by powers would miss."""
    named = traced[1]

    def steps(*trees):
        pairs = zip(*map(jax.tree.leaves, jax.device_get(trees)), strict=True)
        large = [(a - b)[np.abs(g) > 1e-2] for b, a, g in pairs]
        return np.abs(np.concatenate(large))

    before, after = state.params, traced[0].params
    encoder = steps(before.model.encoder, after.model.encoder, named.clipped.gradient.encoder)
    np.testing.assert_allclose(encoder, 0.3 * 3e-4, rtol=2e-3)  # the parameters' own rounding
    dynamics = steps(before.model[1:], after.model[1:], named.clipped.gradient[1:])
    np.testing.assert_allclose(dynamics, 3e-4, rtol=1e-3)


def test_adam_follows_float64_from_its_first_step_on():
    adam = optimizer.scale_by_adam(eps=1e-5)
    state, (m, v) = adam.init(jnp.zeros(4)), np.zeros((2, 4))
    for t, g in enumerate(np.random.default_rng(0).normal(size=(5, 4)).astype(np.float32), 1):
        step, state = adam.update(jnp.asarray(g), state)
        m, v = 0.9 * m + 0.1 * g.astype(float), 0.999 * v + 0.001 * g.astype(float) ** 2
        exact = m / (1 - 0.9**t) / (np.sqrt(v / (1 - 0.999**t)) + 1e-5)
        np.testing.assert_allclose(step, exact, rtol=1e-6)


def norm(gradients):
    return np.sqrt(sum((np.float64(g) ** 2).sum() for g in jax.tree.leaves(gradients)))


def test_the_paper_era_clips_by_a_norm_with_the_policys_last_gradient(state, traced):
    own, policy = norm(traced[1].gradients), norm(traced[1].policy_gradients)
    np.testing.assert_allclose(traced[1].clipped.norm, own, rtol=1e-5)
    np.testing.assert_allclose(traced[0].policy_gradient_norm, policy, rtol=1e-5)
    before = state._replace(policy_gradient_norm=np.float32(50.0))
    later = update_of(before, update_noise(AGENT))[1]
    counted = np.sqrt(own**2 + 50**2)
    np.testing.assert_allclose(later.clipped.norm, counted, rtol=1e-5)
    np.testing.assert_allclose(norm(later.clipped.gradient), own * 20 / counted, rtol=1e-5)


def test_what_was_clipped_has_the_norm_of_the_limit():
    clipped = optimizer.clip([jnp.asarray([3.0]), jnp.asarray([4.0])], 2.0)
    np.testing.assert_allclose(clipped.gradient, [[1.2], [1.6]], rtol=1e-6)
    np.testing.assert_allclose((clipped.norm, clipped.own_norm), (5, 2), rtol=1e-6)
    assert optimizer.clip([jnp.asarray([3.0])], 20.0).gradient == [3.0]


@pytest.mark.parametrize("name", ["target_keep", "q_keep", "policy_keep"])
def test_every_dropout_mask_matters_and_only_where_it_belongs(state, traced, name):
    """Fault F62."""
    drawn = update_noise(AGENT)
    flipped = drawn._replace(**{name: ~getattr(drawn, name)})
    changed = update_of(state, flipped)[1]

    def seen(named):
        return {
            "target_keep": named.targets.returns,
            "q_keep": named.model.q_logits,
            "policy_keep": named.policy.values,
        }

    for mask, quantity in seen(changed).items():
        same = np.array_equal(quantity, seen(traced[1])[mask])
        # The policy's values also follow from what the Q networks have just learned.
        assert same == (mask != name) or mask == "policy_keep"
        assert not (same and mask == name)


def test_later_eras_drop_units_in_training_only_and_clip_by_the_models_own_norm():
    agent, drawn = LEAST, update_noise(LEAST)
    assert drawn.target_keep is None
    assert drawn.q_keep is not None
    assert drawn.policy_keep is not None
    plan = jax.eval_shape(lambda k: agent.acting_noise(k, 2), jax.random.key(0))
    assert plan.q_keep is None
    before = random_state(agent)._replace(policy_gradient_norm=np.float32(50.0))
    after, named = compiled(agent, "traced_update")(before, batch(agent), drawn)
    np.testing.assert_allclose(named.clipped.norm, norm(named.gradients), rtol=1e-5)
    assert all(np.isfinite(x).all() for x in jax.tree.leaves(named))
    assert after.updates == 1


def test_masks_keep_the_right_share_and_are_independent():
    c = Config(dropout=0.01, mlp_dim=511)
    draw = jax.jit(lambda key: noise.keep_mask(key, c, (40, 50)), compiler_options=QUICK)
    keep = np.asarray(draw(jax.random.key(0)))
    assert keep.shape == (40, 50, 511)
    dropped = 1 - keep.mean()
    assert abs(dropped - 0.01) < 4 * np.sqrt(0.01 * 0.99 / keep.size)
    halves = ~keep[..., :255] & ~keep[..., 256:]  # the two units of one 32-bit draw
    assert abs(halves.mean() - 1e-4) < 5 * np.sqrt(1e-4 / halves.size)
    assert noise.keep_mask(jax.random.key(0), Config(dropout=0.0), (2,)) is None


def test_two_different_networks_are_drawn_in_every_order_alike():
    draw = jax.jit(jax.vmap(lambda key: noise.two_of(key, 3)), compiler_options=QUICK)
    pairs = draw(jax.random.split(jax.random.key(0), 6000))
    kinds, counts = np.unique(pairs, axis=0, return_counts=True)
    assert kinds.tolist() == [[0, 1], [0, 2], [1, 0], [1, 2], [2, 0], [2, 1]]
    assert (np.abs(counts - 1000) < 5 * np.sqrt(1000)).all()


def test_compiled_seeds_and_eager_single_computations_agree(state, traced):
    drawn, data = update_noise(AGENT), batch(AGENT)
    target = losses.targets(AGENT.model, state.params, state.target_q, 0.95, data, drawn)
    for name in ("next_latents", "values", "returns"):
        ours = getattr(traced[1].targets, name)
        np.testing.assert_allclose(getattr(target, name), ours, rtol=1e-4, atol=1e-6)


def test_metrics_are_scalars_of_the_update():
    shapes = jax.eval_shape(AGENT.update, random_state(AGENT), batch(AGENT), update_noise(AGENT))[1]
    assert all(shape.shape == () for shape in shapes.values())


def test_a_seed_knows_nothing_of_the_seed_beside_it(traced):
    alone = traced[1].metrics
    other = update_of(random_state(AGENT, 1), update_noise(AGENT, 1), seed=1)[1].metrics
    both = update_of(random_state(AGENT), update_noise(AGENT))[1].metrics
    for name, value in alone.items():
        assert both[name] == value
        assert other[name] != value or name == "scale"
