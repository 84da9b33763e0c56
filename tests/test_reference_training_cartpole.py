"""CartPole in numpy against the installed gymnax, and the rows that it makes of episodes."""

import gymnax
import jax
import numpy as np
import pytest
from gymnax.environments.classic_control.cartpole import EnvState

from reference_harness.dreamerv3.training.cartpole import LIMIT, CartPole, advance, fallen

TOLERANCE = 1e-6
EDGES = np.array([2.4, 3.0, 12 * 2 * np.pi / 360, 3.0], np.float32)

ENVIRONMENT, PARAMS = gymnax.make("CartPole-v1")


def full_state(state, time):
    names = ("x", "x_dot", "theta", "theta_dot")
    return EnvState(time=time, **dict(zip(names, state, strict=True)))


@jax.jit
def theirs(state, time, action):
    full = full_state(state, time)
    seen, after, reward, _, _ = ENVIRONMENT.step_env(jax.random.key(0), full, action, PARAMS)
    ends = ENVIRONMENT.is_terminated(after, PARAMS), ENVIRONMENT.is_truncated(after, PARAMS)
    return seen, reward, *ends


def one_step(state, time, action):
    seen, reward, terminated, truncated = jax.device_get(theirs(state, time, action))
    return seen, float(reward), bool(terminated), bool(truncated)


def standing(state, time=0):
    pole = CartPole(np.random.default_rng(0))
    pole._begin(np.asarray(state, np.float32), time)
    return pole


@pytest.mark.parametrize("action", [0, 1])
def test_a_step_is_gymnaxs(action):
    rng = np.random.default_rng(action)
    states = rng.uniform(-EDGES, EDGES, (300, 4)).astype(np.float32)
    ends = 0
    for state in states:
        time = int(rng.integers(0, LIMIT))
        seen, reward, terminated, truncated = one_step(state, time, action)
        row = standing(state, time).step(action, reset=False)
        assert row["vector"].dtype == np.float32
        np.testing.assert_allclose(row["vector"], seen, rtol=0, atol=TOLERANCE)
        assert row["reward"] == reward == 1.0
        assert row["is_terminal"] == terminated
        assert row["is_last"] == (terminated or truncated)
        ends += terminated
    assert 10 < ends < 290  # both outcomes were seen


def test_the_edges_are_gymnaxs():
    for index, edge in ((0, EDGES[0]), (2, EDGES[2])):
        for sign in (-1, 1):
            for bound in (edge, np.nextafter(edge, np.float32(9)), np.nextafter(edge, 0)):
                state = np.zeros(4, np.float32)
                state[index] = sign * bound
                told = ENVIRONMENT.is_terminated(full_state(state, 0), PARAMS)
                assert fallen(state) == bool(told)


def test_a_rollout_of_600_rows_is_gymnaxs():
    rng = np.random.default_rng(3)
    episodes = []
    pole = CartPole(np.random.default_rng([3, 0]), episodes.append)
    starts, last, state, time = [], True, None, 0
    for number in range(600):
        action = int(rng.integers(0, 2))
        row = pole.step(action, reset=last)
        if last:
            starts.append(number)
            state, time = row["vector"], 0
            assert np.abs(state).max() <= 0.05
            assert (row["reward"], row["is_first"]) == (0.0, True)
            assert not row["is_last"]
        else:
            state, reward, terminated, truncated = one_step(state, time, action)
            time += 1
            # Not from the port's own state: what differs may add up, as it does in a run.
            np.testing.assert_allclose(row["vector"], state, rtol=0, atol=1e-5)
            assert (row["reward"], row["is_first"]) == (reward, False)
            assert row["is_last"] == (terminated or truncated)
            assert row["is_terminal"] == terminated
        last = row["is_last"]
    assert len(episodes) > 10
    # L + 1 rows for an episode of L steps, one episode after the other.
    ends = [start + episode["length"] for start, episode in zip(starts, episodes, strict=False)]
    assert ends == [episode["row_last"] for episode in episodes]
    assert starts[1:] == [end + 1 for end in ends][: len(starts) - 1]
    assert all(episode["score"] == episode["length"] for episode in episodes)
    assert all(episode["terminal"] for episode in episodes)


def test_an_episode_that_is_cut_off_is_not_terminal():
    episodes = []
    pole = CartPole(np.random.default_rng(0), episodes.append)
    pole.step(0, reset=True)
    pole._begin(np.zeros(4, np.float32), time=LIMIT - 1)
    row = pole.step(1, reset=False)
    assert (row["is_last"], row["is_terminal"]) == (True, False)
    assert not episodes[0]["terminal"]
    assert one_step(np.zeros(4, np.float32), LIMIT - 1, 1)[2:] == (False, True)


def test_a_fall_in_the_last_step_is_terminal():
    state = np.array([2.39, 3.0, 0.0, 0.0], np.float32)
    row = standing(state, LIMIT - 1).step(1, reset=False)
    assert (row["is_last"], row["is_terminal"]) == (True, True)
    assert one_step(state, LIMIT - 1, 1)[2:] == (True, True)


def test_nothing_steps_beyond_the_end():
    pole = standing([2.39, 3.0, 0.0, 0.0])
    assert pole.step(1, reset=False)["is_last"]
    with pytest.raises(RuntimeError, match="beyond the end"):
        pole.step(1, reset=False)
    assert pole.step(0, reset=True)["is_first"]


def test_numbers_stay_float32():
    state = np.full(4, 0.01, np.float32)
    assert advance(state, 1).dtype == np.float32
    # A float64 anywhere in the computation would round differently somewhere.
    assert {type(value) for value in advance(state, 0)} == {np.float32}
