"""The episode buffer against lists of episodes, and the schedule against a loop that counts."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.tdmpc2 import episodes
from core.tdmpc2.resizing import fitted
from core.tdmpc2.schedule import Schedule, default_seed_steps

HORIZON, DRAWN = 2, 400
SHAPES = [(1, 1, 2), (2, 3, 4), (3, 2, 5)]  # capacity, environments, steps per episode


def number(environment, step):
    """A number for every step of every environment; one more half for what followed it."""
    return 1000.0 * (environment + 1) + step


@functools.cache
def programs(capacity, n_envs, length):
    """Fills a buffer up to a number of steps, and draws from it."""

    def fill(steps):
        def add(step, state):
            of = number(jnp.arange(n_envs), step)
            seen = jnp.stack([of, of], -1)
            return episodes.add(state, step, seen, -of[:, None], of / 2, seen + 0.5)

        return jax.lax.fori_loop(0, steps, add, episodes.init(capacity, n_envs, length, 2, 1))

    def draw(state, steps, key):
        where = episodes.draw(state, steps, key, DRAWN, HORIZON)
        return where, episodes.batch(state, where, HORIZON)

    return jax.jit(fill), jax.jit(draw)


def complete(steps, capacity, n_envs, length):
    """The steps of the episodes that can be sampled, oldest first, as lists would hold them."""
    ended = [
        (env, list(range(first, first + length)))
        for first in range(0, steps - steps % length, length)
        for env in range(n_envs)
    ]
    return ended[-capacity * n_envs :]


@given(st.sampled_from(SHAPES), st.integers(0, 40), st.integers(0, 2**32 - 1))
def test_slices_are_those_of_the_last_complete_episodes(shape, steps, seed):
    _, n_envs, length = shape
    fill, draw = programs(*shape)
    state, known = fill(steps), complete(steps, *shape)
    assert episodes.held(state, steps) * n_envs == len(known)
    if not known:
        return
    _, batch = draw(state, steps, jax.random.key(seed))
    slices = {
        tuple(number(env, t) for t in rows[i : i + HORIZON])
        for env, rows in known
        for i in range(length - HORIZON + 1)
    }
    action = np.asarray(batch.action[..., 0])
    assert set(map(tuple, -action.T)) <= slices
    np.testing.assert_array_equal(batch.reward, -action / 2)
    # The last observation of a slice is what followed its last step; the first of an episode
    # is that of its reset, and the others were overwritten by what the next step saw.
    np.testing.assert_array_equal(batch.observation[:-1, :, 0], -action)
    end = -action[-1] % 1000 % length == length - 1
    np.testing.assert_array_equal(
        batch.observation[-1], np.repeat((-action[-1] + np.where(end, 0.5, 1))[:, None], 2, 1)
    )
    assert not batch.terminated.any()


def test_every_episode_and_every_beginning_is_as_likely_as_any_other():
    shape = (2, 3, 4)
    fill, draw = programs(*shape)
    state, counts = fill(22), {}
    for i in range(40):
        where, _ = draw(state, 22, jax.random.key(i))
        for one in zip(*(x.tolist() for x in where), strict=True):
            counts[one] = counts.get(one, 0) + 1
    assert len(counts) == 2 * 3 * (4 - HORIZON + 1)
    expected = 40 * DRAWN / len(counts)
    assert max(abs(n - expected) for n in counts.values()) < 5 * np.sqrt(expected)


@pytest.mark.parametrize(
    ("steps", "length", "n_envs", "ceil", "floor"),
    [
        (1_000_000, 500, 1, 2000, 2000),  # the control suite: both forms are one
        (1_000_001, 500, 1, 2001, 2000),
        (1_000_000, 300, 2, 1667, 1666),
        (1_000_000, 300, 16, 209, 208),
        (10, 300, 1, 1, 1),
    ],
)
def test_the_capacity_in_both_forms(steps, length, n_envs, ceil, floor):
    """Row T26."""
    assert episodes.rounds(steps, length, n_envs) == ceil
    assert episodes.rounds(steps, length, n_envs, "floor") == floor


@pytest.mark.parametrize(("held", "wanted"), [(2, 5), (5, 2), (3, 3)])
def test_a_buffer_of_another_size_is_the_one_that_had_it_from_the_start(held, wanted):
    resized = fitted(programs(held, 2, 4)[0](11), 11, wanted)
    for a, b in zip(resized, programs(wanted, 2, 4)[0](11), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_buffer_that_has_overwritten_or_would_have_is_not_resized():
    with pytest.raises(ValueError, match=r"has overwritten.*--replay-capacity 16 or another"):
        fitted(programs(2, 2, 4)[0](12), 12, 3)
    with pytest.raises(ValueError, match=r"holds 3 episodes.*only 1 of them.*--replay-capacity 40"):
        fitted(programs(5, 2, 4)[0](12), 12, 1)


def test_an_empty_buffer_is_refused():
    with pytest.raises(ValueError, match="at least one round of one environment and one step"):
        episodes.init(1, 0, 5, 2, 1)


def counted(seed_steps, episode_length, steps):
    """The reference's loop, with one environment: the random actions, and updates by step."""
    random, updates = 0, []
    for step in range(steps):
        random += not step > seed_steps
        learned = 0 if step < seed_steps else seed_steps if step == seed_steps else 1
        updates.append(sum(updates[-1:]) + learned)
    return random, updates


@pytest.mark.parametrize(("seed_steps", "length"), [(7, 3), (5, 5), (1000, 200)])
def test_one_environment_learns_as_often_as_the_reference(seed_steps, length):
    """Rows T7, T8 and T28."""
    schedule = Schedule.of(seed_steps, length, 1, 1.0)
    steps = np.arange(seed_steps + 20)
    random, updates = counted(seed_steps, length, len(steps))
    assert int(schedule.is_random(jnp.asarray(steps)).sum()) == random == seed_steps + 1
    assert schedule.updates_after(jnp.asarray(steps + 1)).tolist() == updates
    assert updates[seed_steps] == seed_steps


@pytest.mark.parametrize(
    ("n_envs", "ratio", "last_random", "per_step"),
    [
        (4, 1.0, 250, 4),
        (16, 1.0, 200, 16),  # 1000 div 16 is 62, and no episode has ended by then
        (4, 0.5, 250, 2),
        (1, 0.25, 1000, 1),
        (1, 4.0, 1000, 4),
        (3, 0.5, 333, 2),
    ],
)
def test_several_environments_share_the_seed_phase_and_learn_as_often(
    n_envs, ratio, last_random, per_step
):
    """Rows T7 and T28."""
    schedule = Schedule.of(default_seed_steps(200), 200, n_envs, ratio)
    assert schedule == Schedule(1000, per_step, last_random)
    after = schedule.updates_after(jnp.asarray([last_random, last_random + 1, last_random + 3]))
    assert after.tolist() == [0, 1000, 1000 + 2 * per_step]
    assert default_seed_steps(500) == 2500
