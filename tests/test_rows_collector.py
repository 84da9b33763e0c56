"""The row collector: L + 1 rows per episode, and nothing of one episode in the next."""

import jax
import jax.numpy as jnp
import numpy as np
from counting_environment import CountingEnvironment

from core.environments import make_environment, rows

KEY = jax.random.key(3)


def collect(environment, actions, key=KEY):
    """Rows of one environment, and the actions as they are stored."""

    def tick(state, action):
        row = rows.current(state)
        stored = rows.zero_on_last(action, row.is_last)
        return rows.advance(environment, state, action), (row, stored)

    _, answer = jax.lax.scan(tick, rows.init(environment, key), actions)
    return jax.tree.map(np.asarray, answer)


def test_rows_of_a_three_step_episode():
    row, stored = collect(CountingEnvironment(3), jnp.asarray([1, 2, 3, 4, 1, 2]))
    assert row.observation[:, 1:].tolist() == [[0, 0], [1, 1], [2, 2], [3, 3], [0, 0], [1, 1]]
    assert stored.tolist() == [1, 2, 3, 0, 1, 2]
    assert row.reward.tolist() == [0, 1, 1, 1, 0, 1]
    assert row.is_first.tolist() == [True, False, False, False, True, False]
    assert row.is_last.tolist() == [False, False, False, True, False, False]
    assert row.is_terminal.tolist() == [False, False, False, True, False, False]


def test_continuous_actions_are_zeroed_as_vectors():
    actions = jnp.ones((2, 3, 4))
    is_last = jnp.asarray([[False, True, False], [True, False, False]])
    stored = rows.zero_on_last(actions, is_last)
    assert stored.any(-1).tolist() == [[True, False, True], [False, True, True]]


def test_an_episode_that_is_cut_off_is_last_but_not_terminal():
    row, _ = collect(CountingEnvironment(2, terminates=False), jnp.zeros(3, jnp.int32))
    assert row.is_last.tolist() == [False, False, True]
    assert not row.is_terminal.any()


def test_cartpole_that_balances_ends_at_step_500_and_is_not_terminal():
    environment = make_environment("CartPole-v1")

    def tick(state, _):
        row = rows.current(state)
        action = (row.observation[2] + row.observation[3] > 0).astype(jnp.int32)
        return rows.advance(environment, state, action), row

    run = jax.jit(lambda key: jax.lax.scan(tick, rows.init(environment, key), length=502)[1])
    row = run(KEY)
    assert np.flatnonzero(row.is_last).tolist() == [500]
    assert np.flatnonzero(row.is_first).tolist() == [0, 501]
    assert row.reward.sum() == 500
    assert not row.is_terminal.any()


def test_the_action_on_a_last_row_changes_nothing():
    one, _ = collect(CountingEnvironment(2), jnp.asarray([1, 1, 4, 1, 1, 4, 1]))
    other, _ = collect(CountingEnvironment(2), jnp.asarray([1, 1, 2, 1, 1, 0, 1]))
    assert jax.tree.all(jax.tree.map(np.array_equal, one, other))


def test_transitions_begin_the_next_episode_at_once():
    environment = CountingEnvironment(2)

    def tick(state, action):
        after, entered = rows.transition(environment, state, action)
        return after, (rows.current(state), entered)

    _, (seen, entered) = jax.lax.scan(tick, rows.init(environment, KEY), jnp.asarray([1, 2, 3, 4]))
    assert seen.observation[:, 1:].tolist() == [[0, 0], [1, 1], [0, 0], [1, 3]]
    assert entered.observation[:, 1:].tolist() == [[1, 1], [2, 2], [1, 3], [2, 4]]
    assert seen.is_first.tolist() == [True, False, True, False]
    assert entered.is_last.tolist() == entered.is_terminal.tolist() == [False, True, False, True]
    assert not (seen.is_last | entered.is_first).any()
    assert len(set(seen.observation[:, 0].tolist())) == 2


def test_every_episode_of_every_environment_begins_somewhere_else():
    starts = []
    for key in jax.random.split(KEY, 3):
        row, _ = collect(CountingEnvironment(1), jnp.zeros(8, jnp.int32), key)
        starts += row.observation[row.is_first, 0].tolist()
    assert len(set(starts)) == len(starts) == 12


def test_many_environments_are_the_same_as_each_alone():
    environment = make_environment("CartPole-v1")
    actions = jax.random.randint(KEY, (60,), 0, 2)

    def run(key):
        def tick(state, action):
            return rows.advance(environment, state, action), rows.current(state)

        return jax.lax.scan(tick, rows.init(environment, key), actions)[1]

    keys = jax.random.split(KEY, (2, 3))
    many = jax.jit(jax.vmap(jax.vmap(run)))(keys)
    alone = [jax.jit(run)(key) for key in keys.reshape(-1)]
    assert len({str(np.flatnonzero(row.is_last)) for row in alone}) > 1  # not all in step
    for index, row in enumerate(alone):
        for got, expected in zip(many, row, strict=True):
            got = got.reshape(-1, *expected.shape)[index]
            np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)


def test_resets_stay_a_branch_under_vmap():
    environment = CountingEnvironment(3)

    def advance(state, action):
        return rows.advance(environment, state, action)

    keys = jax.random.split(KEY, (2, 4))
    state = jax.vmap(jax.vmap(lambda key: rows.init(environment, key)))(keys)
    program = jax.make_jaxpr(jax.vmap(jax.vmap(advance)))(state, jnp.zeros((2, 4), jnp.int32))
    branches = [e for e in program.jaxpr.eqns if e.primitive.name == "cond"]
    assert len(branches) == 1
    assert branches[0].invars[0].aval.shape == ()
