"""Environments: names, adapters, time limits and action repeats."""

import importlib.util
import sys

import gymnax
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from counting_environment import CountingEnvironment
from gymnax.environments import environment as gymnax_environment
from gymnax.environments import spaces

from core.environments import EnvironmentSetupError, make_environment, playground_adapter
from core.environments.action_repeat import ActionRepeat
from core.environments.time_limit import TimeLimit
from core.spaces import Continuous, Discrete

needs_playground = pytest.mark.skipif(
    importlib.util.find_spec("mujoco_playground") is None,
    reason="mujoco_playground is not installed",
)
KEY = jax.random.key(0)


def play(environment, steps, action=0):
    """Rewards, terminations, truncations and observations of an episode, up to its end."""
    state, _ = environment.reset(KEY)
    answers = []
    for _ in range(steps):
        state, observation, reward, *ends = environment.step(KEY, state, jnp.asarray(action))
        answers.append((float(reward), *map(bool, ends), np.asarray(observation).tolist()))
        if any(map(bool, ends)):
            break
    return answers


@pytest.mark.parametrize(
    ("name", "nearest"), [("CartPole-v0", "CartPole-v1"), ("cartpolebalance", "CartpoleBalance")]
)
def test_an_unknown_name_is_answered_with_the_nearest(name, nearest):
    with pytest.raises(EnvironmentSetupError, match=f"did you mean '{nearest}'"):
        make_environment(name)


@pytest.mark.parametrize("option", ["action_repeat", "time_limit"])
def test_numbers_of_steps_below_one_are_refused(option):
    with pytest.raises(EnvironmentSetupError, match=f"{option} must be at least 1, not 0"):
        make_environment("CartPole-v1", **{option: 0})


def test_without_playground_the_message_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco_playground", None)
    with pytest.raises(EnvironmentSetupError, match=r"pip install -e '.\[playground\]'"):
        make_environment("WalkerWalk")


@pytest.mark.parametrize(
    ("name", "size", "space"),
    [
        ("CartPole-v1", 4, Discrete(2)),
        ("Pendulum-v1", 3, Continuous(1)),
        ("Breakout-MinAtar", 400, Discrete(3)),
        ("DiscountingChain-bsuite", 2, Discrete(5)),
    ],
)
def test_states_keep_their_types_and_observations_are_flat(name, size, space):
    environment = make_environment(name)
    action = jnp.zeros(1) if space == Continuous(1) else jnp.int32(0)
    state, observation = jax.eval_shape(environment.reset, KEY)
    after = jax.eval_shape(environment.step, KEY, state, action)

    def kinds(tree):
        return jax.tree.map(lambda leaf: (leaf.shape, leaf.dtype, leaf.weak_type), tree)

    assert kinds(after[0]) == kinds(state)
    assert [environment.observation_size, environment.action_space] == [size, space]
    assert observation.shape == after[1].shape == (size,)
    assert [leaf.dtype for leaf in after[1:]] == [jnp.float32, jnp.float32, jnp.bool, jnp.bool]


def test_cartpole_is_the_bare_dynamics():
    bare, parameters = gymnax.make("CartPole-v1")
    environment = make_environment("CartPole-v1")
    state, _ = environment.reset(KEY)
    for action in (1, 1, 0, 1):
        expected, bare_state, *_ = bare.step_env(KEY, state, action, parameters)
        state, observation, *_ = environment.step(KEY, state, jnp.int32(action))
        np.testing.assert_array_equal(observation, expected)
        assert jax.tree.all(jax.tree.map(jnp.array_equal, state, bare_state))


@pytest.mark.parametrize(
    ("time", "angle", "ends"),
    [
        (498, 0.0, [False, False]),
        (499, 0.0, [False, True]),  # the 500th step
        (498, 1.0, [True, False]),
        (499, 1.0, [True, True]),
    ],
)
def test_a_time_limit_truncates_and_does_not_terminate(time, angle, ends):
    environment = make_environment("CartPole-v1")
    state, _ = environment.reset(KEY)
    state = state.replace(time=jnp.int32(time), theta=jnp.float32(angle))
    _, _, _, terminated, truncated = environment.step(KEY, state, jnp.int32(0))
    assert [bool(terminated), bool(truncated)] == ends


def test_a_time_limit_of_ones_own_replaces_gymnaxs():
    episode = play(make_environment("Pendulum-v1", time_limit=3), 10, action=[0.0])
    assert [step[1:3] for step in episode] == [(False, False), (False, False), (False, True)]


class Echo(gymnax_environment.Environment):
    """Observes the action that reached it, of bounds [−2, 6] and none."""

    def reset_env(self, key, params):
        return jnp.zeros(2), gymnax_environment.EnvState(time=0)

    def step_env(self, key, state, action, params):
        return action, state.replace(time=state.time + 1), 0.0, jnp.array(False), {}

    def action_space(self, params):
        return spaces.Box(jnp.array([-2.0, -jnp.inf]), jnp.array([6.0, jnp.inf]), (2,))


@pytest.mark.parametrize(
    ("action", "received"), [(0.5, [4, 0.5]), (-1.0, [-2, -1]), (7.0, [6, 1]), (-9.0, [-2, -1])]
)
def test_actions_are_clipped_and_scaled_to_the_environments_bounds(monkeypatch, action, received):
    made = (Echo(), gymnax_environment.EnvParams())
    monkeypatch.setattr(gymnax, "make", lambda name: made)
    environment = make_environment("Pendulum-v1")
    state, _ = environment.reset(KEY)
    _, observation, *_ = environment.step(KEY, state, jnp.full(2, action))
    assert observation.tolist() == received


def test_action_repeat_sums_rewards_in_every_episode():
    environment = ActionRepeat(CountingEnvironment(4), 2)
    for _ in range(2):
        assert [step[0] for step in play(environment, 9)] == [2, 2]


@pytest.mark.parametrize("terminates", [True, False])
def test_action_repeat_stops_where_the_episode_ends(terminates):
    environment = ActionRepeat(CountingEnvironment(6, terminates=terminates), 4)
    first, second = play(environment, 9, action=3)
    start = first[3][0]
    assert first == (4, False, False, [start, 4, 3])
    assert second == (2, terminates, not terminates, [start, 6, 3])


def test_a_time_limit_counts_steps_and_not_actions():
    environment = ActionRepeat(TimeLimit(CountingEnvironment(100), 6), 4)
    assert [step[:3] for step in play(environment, 9)] == [(4, False, False), (2, False, True)]


@needs_playground
@pytest.mark.filterwarnings("ignore")  # of the packages that come with it
def test_playground_names_are_those_of_the_package():
    suite = playground_adapter.load_suite("CartpoleBalance")
    assert sorted(playground_adapter.NAMES) == sorted(suite.ALL_ENVS)


@needs_playground
@pytest.mark.filterwarnings("ignore")
def test_playground_steps_the_bare_environment_and_cuts_it_off():
    environment = make_environment("CartpoleBalance", action_repeat=2, time_limit=5)
    suite = playground_adapter.load_suite("CartpoleBalance")
    bare = suite.load("CartpoleBalance", config_overrides={"impl": "jax"})
    assert [environment.observation_size, environment.action_space] == [5, Continuous(1)]

    def ours(key):
        state, first = environment.reset(key)

        def step(state, action):
            state, *answer = environment.step(key, state, action)
            return state, answer

        return first, jax.lax.scan(step, state, jnp.full((3, 1), 3.0))[1]

    def theirs(key):
        def step(state, action):
            state = bare.step(state, action)
            return state, (state.obs, state.reward)

        state = bare.reset(key)
        return state.obs, jax.lax.scan(step, state, jnp.ones((5, 1)))[1]

    first, (observations, rewards, terminated, truncated) = jax.jit(ours)(KEY)
    expected_first, (expected, expected_rewards) = jax.jit(theirs)(KEY)
    np.testing.assert_allclose(first, expected_first, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(observations, expected[jnp.array([1, 3, 4])], rtol=1e-4, atol=1e-5)
    r = np.asarray(expected_rewards)
    np.testing.assert_allclose(rewards, [r[0] + r[1], r[2] + r[3], r[4]], rtol=1e-5)
    assert truncated.tolist() == [False, False, True]
    assert not terminated.any()


@pytest.mark.parametrize(
    ("repeats", "options", "actions"), [(1, {}, 200), (2, {}, 100), (3, {"time_limit": 20}, 7)]
)
def test_an_environment_knows_how_many_actions_an_episode_takes(repeats, options, actions):
    environment = make_environment("Pendulum-v1", action_repeat=repeats, **options)
    assert environment.episode_length == actions


def test_a_time_limit_amid_a_repeat_is_reached_with_its_last_action():
    limited = ActionRepeat(TimeLimit(CountingEnvironment(100), 7), 3)
    assert limited.episode_length == len(play(limited, 50)) == 3
