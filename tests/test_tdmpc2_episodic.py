"""The episodic mode: what is sampled, what is due, and values that are known in closed form."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tdmpc2_batches import QUICK, SMALL
from tdmpc2_stand_in import StandIn, Tape

from core.config import ConfigError
from core.environments.rows import Observed
from core.spaces import Continuous
from core.tdmpc2 import ends, rings, train
from core.tdmpc2.config import Config
from core.tdmpc2.episodic import Episodic
from core.tdmpc2.resizing import fitted_rings
from core.tdmpc2.train_config import TrainConfig
from core.training.checkpoint import Checkpoints
from core.training.devices import spread

HORIZON, DRAWN, ROWS = 2, 300, 40


@functools.cache
def programs(capacity, n_envs):
    """Fills rings with rows of given flags, up to a number of them, and draws from them."""

    def fill(ends, terminal, count):
        def add(row, state):
            of = 100.0 * (jnp.arange(n_envs) + 1) + row
            first = jnp.where(row > 0, ends[row - 1], True)
            last = ends[row]
            seen = Observed(of[:, None], of / 2, first, last, last & terminal[row])
            return rings.add(state, row, seen, -of[:, None], HORIZON)

        return jax.lax.fori_loop(0, count, add, rings.init(capacity, n_envs, 1, 1, HORIZON))

    def draw(state, count, key):
        where = rings.draw(state, count, key, DRAWN, HORIZON)
        return where, rings.batch(state, where, HORIZON)

    return tuple(jax.jit(f, compiler_options=QUICK) for f in (fill, draw))


def finished(ends, count, capacity):
    """The stored rows of every finished episode that are enough for a slice, as lists."""
    found = []
    for environment in range(ends.shape[1]):
        begin = 0
        for row in range(count):
            if ends[row, environment]:
                kept = [r for r in range(begin, row + 1) if r >= count - capacity]
                if len(kept) > HORIZON and row - begin >= HORIZON:
                    found.append((environment, kept))
                begin = row + 1
    return found


# No episode has its first row as its last one.
flags = st.lists(st.integers(1, 9), min_size=2 * ROWS, max_size=2 * ROWS)


@given(flags, flags, st.integers(1, ROWS), st.sampled_from([(7, 2), (64, 1)]))
def test_slices_are_those_of_finished_episodes_that_are_long_enough(lengths, kinds, count, shape):
    capacity, n_envs = shape
    ends = np.zeros((ROWS, n_envs), bool)
    for environment in range(n_envs):
        stops = np.cumsum(np.asarray(lengths[environment::n_envs]) + 1) - 1
        ends[stops[stops < ROWS], environment] = True
    terminal = np.reshape(kinds[: ROWS * n_envs], ends.shape) > 4
    fill, draw = programs(*shape)
    state = fill(jnp.asarray(ends), jnp.asarray(terminal), count)
    known = finished(ends, count, capacity)
    assert bool(rings.can_sample(state)) == bool(known)
    if not known:
        return
    where, batch = draw(state, count, jax.random.key(count))
    starts = {(env, r) for env, rows in known for r in rows[: len(rows) - HORIZON]}
    drawn = list(zip(*(x.tolist() for x in where), strict=True))
    assert set(drawn) <= starts
    for (env, row), b in zip(drawn[:40], range(40), strict=True):
        of = 100.0 * (env + 1) + np.arange(row, row + HORIZON + 1)
        np.testing.assert_array_equal(batch.observation[:, b, 0], of)
        np.testing.assert_array_equal(batch.action[:, b, 0], -of[:-1])
        np.testing.assert_array_equal(batch.reward[:, b], of[1:] / 2)
        after = slice(row + 1, row + HORIZON + 1)
        np.testing.assert_array_equal(batch.terminated[:, b], (ends & terminal)[after, env])
    # Every episode is as likely as any other, however much of it is left.
    of_episode = [sum((env, r) in set(drawn) for r in rows) for env, rows in known]
    assert min(of_episode) > 0 or 20 * len(known) > DRAWN


def test_every_finished_episode_is_as_likely_as_any_other_and_every_beginning_in_it():
    """Rows per episode 2, 3, 6 and 9: shares 0, ⅓, ⅓, ⅓."""
    ends = np.zeros((ROWS, 1), bool)
    ends[np.cumsum([2, 3, 6, 9]) - 1] = True
    fill, draw = programs(64, 1)
    state, counts = fill(jnp.asarray(ends), jnp.asarray(ends), 24), np.zeros(24)
    for i in range(40):
        counts += np.bincount(draw(state, 24, jax.random.key(i))[0].row, minlength=24)
    expected = np.zeros(24)
    for begin, starts in ((2, 1), (5, 4), (11, 7)):
        expected[begin : begin + starts] = 40 * DRAWN / 3 / starts
    assert (np.abs(counts - expected) <= 5 * np.sqrt(expected)).all()


@pytest.mark.parametrize(("held", "wanted"), [(20, 64), (64, 20)])
def test_rings_of_another_size_are_those_that_had_it_from_the_start(held, wanted):
    ends = np.arange(ROWS)[:, None] % 4 == 3
    of = {n: programs(n, 1)[0](jnp.asarray(ends), jnp.asarray(ends), 18) for n in (held, wanted)}
    resized = fitted_rings(of[held], 18, wanted, HORIZON)
    for a, b in zip(*map(jax.tree.leaves, (resized, of[wanted])), strict=True):
        np.testing.assert_array_equal(a, b)


def test_rings_that_have_overwritten_or_would_have_are_not_resized():
    ends = jnp.zeros((ROWS, 2), bool)
    state = programs(7, 2)[0](ends, ends, 8)
    with pytest.raises(ValueError, match="has overwritten older ones"):
        fitted_rings(state, 8, 9, HORIZON)
    with pytest.raises(ValueError, match="kept only 5 of them"):
        fitted_rings(state, 7, 5, HORIZON)
    with pytest.raises(ValueError, match="holds no slice of 3 rows"):
        rings.init(2, 1, 1, 1, HORIZON)


LENGTH = 6
CONFIG = TrainConfig(Config(**SMALL), steps=60, n_envs=2, log_every=8, seed_steps=18, episodic=True)


def test_an_update_is_due_for_every_environment_that_stepped(monkeypatch):
    """Rows T28 and T29: half of the episodes end after three steps, in other ticks per seed."""
    monkeypatch.setattr(train, "Agent", StandIn)
    functions = train.make_train(CONFIG, Tape(LENGTH, ends=3, doomed=0.5))
    chunk = jax.jit(functions.chunk, compiler_options=QUICK)
    keys = jax.vmap(jax.random.key)(jnp.arange(2))
    start = jax.jit(functions.init, compiler_options=QUICK)(keys)

    def until(tick, ticks):
        state = start
        while int(state.tick) < tick:
            state, _ = chunk(state, jnp.int32(min(ticks, tick - int(state.tick))))
        return state

    whole, parts = until(30, 30), until(30, 1)
    for a, b in zip(*map(jax.tree.leaves, (whole, parts)), strict=True):
        plain = [jax.random.key_data(x) if x.dtype.name.startswith("key") else x for x in (a, b)]
        np.testing.assert_array_equal(*plain)
    assert not whole.learners.terminations.count.any()
    replay = whole.learners.replay
    assert replay.terminated.any(axis=(1, 2)).all()
    time = np.asarray(replay.observation)[:, :, :30, 1]
    last = np.concatenate([time[:, :, 1:] == 0, np.zeros((2, 2, 1), bool)], -1)
    assert (last.sum((1, 2)) != last.sum((1, 2))[::-1]).all()
    # Actions are random up to row 9, the burst of 18 follows, and then an update per step.
    last[:, :, 29] = np.asarray(replay.terminated)[:, :, 29] | (time[:, :, 29] == LENGTH)
    expected = 18 + (~last[:, :, 10:]).sum((1, 2))
    assert whole.learners.train.updates.tolist() == expected.tolist()


def test_seeds_that_learn_in_different_ticks_stay_on_one_device():
    functions = train.make_train(CONFIG, Tape(LENGTH))
    mesh = jax.sharding.AbstractMesh((2,), ("seeds",))
    with pytest.raises(ConfigError, match=r"learn in different ticks.*--devices 1"):
        spread(functions, mesh)


def test_nothing_is_due_before_there_is_an_episode_to_learn_from():
    """Row T29: the burst waits for it; later, an update per environment that stepped."""
    mode = Episodic(CONFIG, Tape(LENGTH), CONFIG.schedule(Tape(LENGTH)))
    empty = mode.replay(1)
    listed = empty.listed._replace(count=empty.listed.count + 1)

    def due(updates, replay, stepped, tick):
        return int(mode._due(jnp.int32(updates), replay, jnp.asarray(stepped), jnp.int32(tick)))

    both, one, none = [True, True], [True, False], [False, False]
    some = empty._replace(listed=listed)
    assert [due(0, some, both, 8), due(0, empty, both, 9), due(0, empty, both, 40)] == [0, 0, 0]
    assert [due(0, some, both, 9), due(0, some, none, 40)] == [18, 18]
    assert [due(18, some, m, 10) for m in (both, one, none)] == [20, 19, 18]


class Chain:
    """Pays 1 per step, whatever is done, and ends by itself after `steps` of them."""

    action_space = Continuous(1)
    episode_length = 20

    def __init__(self, steps):
        self.steps, self.observation_size = steps, steps + 1

    def reset(self, key):
        del key
        return jnp.zeros((), jnp.int32), jax.nn.one_hot(0, self.observation_size)

    def step(self, key, state, action):
        del key, action
        at, no = state + 1, jnp.zeros((), bool)
        return at, jax.nn.one_hot(at, self.observation_size), jnp.ones(()), at >= self.steps, no


def test_the_values_of_a_chain_that_ends_are_those_in_closed_form(tmp_path):
    """Rows T29 and T7, with the real agent: n steps before the end, (1 − γⁿ) / (1 − γ).

    Were the end not seen, the values would all be 1 / (1 − γ), 20. It is predicted where it is, and
    a plan from there is worth the last reward.

    The second half of the run goes on from a checkpoint.
    """
    widths = {"enc_dim": 16, "mlp_dim": 16, "latent_dim": 16, "simnorm_dim": 4, "num_q": 2}
    planner = {"iterations": 1, "num_samples": 8, "num_elites": 2, "num_pi_trajs": 2}
    learning = {"horizon": 1, "batch_size": 32, "dropout": 0.0, "learning_rate": 3e-3, "tau": 0.05}
    config = Config(**widths, **planner, **learning, bins=21, vmax=3.0)
    config = TrainConfig(config, steps=1200, n_envs=2, seed_steps=40, episodic=True)
    functions, agent = (make(config, Chain(3)) for make in (train.make_train, train.make_agent))
    start = jax.jit(functions.init, compiler_options=QUICK)(jax.random.key(7)[None])
    chunk = jax.jit(functions.chunk, compiler_options=QUICK)

    def until(state, tick):
        metrics = {}
        while int(state.tick) < tick:
            state, metrics = chunk(state, jnp.int32(tick - int(state.tick)))
        return state, metrics

    saved, _ = until(start, 300)
    Checkpoints(tmp_path, {}).save(600, saved)
    _, restored = Checkpoints(tmp_path, {}).restore(jax.eval_shape(lambda: saved))
    both = (jax.tree.leaves(until(x, 320)[0].learners.train) for x in (saved, restored))
    for a, b in zip(*both, strict=True):
        np.testing.assert_array_equal(a, b)
    state, metrics = until(restored, config.ticks)
    learner = jax.tree.map(lambda x: x[0], state.learners)

    # The burst, and then an update for every step: three rows of four.
    assert abs(int(learner.train.updates) - (40 + 2 * 0.75 * (600 - 21))) <= 2
    assert learner.fault.update == 0
    assert all(np.isfinite(v) for name, v in metrics.items() if name.startswith("train/"))
    assert learner.carry.any(axis=(-2, -1)).all()

    params = learner.train.params
    latent = agent.model.encode(params.model, jnp.eye(4)[:3])
    logits = agent.model.q_logits(params.model.q, latent, jnp.zeros((3, 1)), None)
    values = np.asarray(agent.model.support.decode(logits))
    known = [(1 - agent.discount**n) / (1 - agent.discount) for n in (3, 2, 1)]
    np.testing.assert_allclose(values, np.broadcast_to(known, values.shape), rtol=0.03)

    following = agent.model.next(params.model, latent, jnp.zeros((3, 1)))
    over = ends.predicted(agent.model.termination_logits(params.model, following))
    assert over.tolist() == [False, False, True]
    assert metrics["train/termination_f1"][0] > 0.9
    assert 0.25 < metrics["train/termination_rate"][0] < 0.42
    noise = jax.tree.map(lambda x: x[0], agent.acting_noise(jax.random.key(0), 1))
    plan = jax.jit(agent.plan, compiler_options=QUICK)
    for index, worth in ((2, 1.0), (1, known[1])):
        start = jnp.eye(4)[index], agent.initial_carry(1)[0], jnp.asarray(True)
        planned = plan(params, *start, noise).iterations.values
        np.testing.assert_allclose(planned, np.full(planned.shape, worth), rtol=0.05)
