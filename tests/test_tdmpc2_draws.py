"""What is random in TD-MPC2's training: no two steps, environments, updates or seeds share it."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tdmpc2_batches import QUICK, SMALL
from tdmpc2_stand_in import Tape

from core.spaces import Continuous
from core.tdmpc2 import offline, train
from core.tdmpc2.config import Config
from core.tdmpc2.dataset import Origin
from core.tdmpc2.intermediates import watched
from core.tdmpc2.offline import OfflineConfig
from core.tdmpc2.pooling import Source, pooled
from core.tdmpc2.train_config import TrainConfig

AGENT = Config(**{**SMALL, "horizon": 1, "batch_size": 16, "task_dim": 3})
LENGTH, ACTIONS, ENVS, TICKS, UPDATES = 8, 3, 2, 24, 40
BURST = 24  # of both environments: ticks 0 to 12 are random
SEEDS = np.asarray([3, 5], np.uint32)


class Noted(NamedTuple):
    params: Any
    updates: Any
    noise: Any
    batches: Any


class Noting:
    """An agent that notes the noise and the batch of every update, and acts on its noise."""

    def __init__(self, config, observation_size, action_size, episode_length):
        self.config, self.action_size = config, action_size
        self.observation_size, self.episode_length = observation_size, episode_length

    @classmethod
    def of_tasks(cls, config, tasks):
        longest = max(tasks.episode_lengths)
        return cls(config, tasks.observation_size, tasks.action_size, longest)

    def init(self, key):
        batch = (UPDATES, 2, self.config.batch_size, self.observation_size)
        return Noted(
            jax.random.normal(key, (4,)),
            jnp.zeros((), jnp.int32),
            jnp.zeros((UPDATES, 2)),
            jnp.zeros(batch),
        )

    def initial_carry(self, n):
        return jnp.zeros((n, self.config.horizon, self.action_size))

    def acting_noise(self, key, n, *, explore=True):
        return jax.random.uniform(key, (n, self.action_size), minval=-1.0)

    def act(self, params, carry, observation, t0, noise):
        return carry, noise

    def update_noise(self, key):
        return jax.random.normal(key, (2,))

    def update(self, state, batch, noise):
        found = state._replace(
            updates=state.updates + 1,
            noise=state.noise.at[state.updates].set(noise),
            batches=state.batches.at[state.updates].set(batch.observation),
        )
        return found, dict.fromkeys(watched(self.config), jnp.zeros(()))


class Several(Tape):
    action_space = Continuous(ACTIONS)


def played(functions, ticks, *constants):
    start = jax.jit(functions.init, compiler_options=QUICK)(jax.vmap(jax.random.key)(SEEDS))
    chunk = jax.jit(functions.chunk, compiler_options=QUICK)
    state, _ = chunk(start, jnp.int32(ticks), *constants)
    while int(state.tick) < ticks:  # within the burst
        state, _ = chunk(state, jnp.int32(ticks - int(state.tick)), *constants)
    return start.learners.train.params, state.learners


@pytest.fixture(scope="module")
def online():
    config = TrainConfig(AGENT, steps=ENVS * TICKS, n_envs=ENVS, log_every=8, seed_steps=BURST)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(train, "Agent", Noting)
        functions = train.make_train(config, Several(LENGTH))
    # 24 updates with tick 12, two with each later one.
    return played(functions, 12 + 1 + 6)


@pytest.fixture(scope="module")
def on_a_dataset():
    rng = np.random.default_rng(0)
    # 60 places for slices to begin at, none of which looks like another.
    source = Source(
        Origin("Tape"),
        rng.normal(size=(6, 11, 2)).astype(np.float32),
        rng.uniform(-1, 1, (6, 10, 1)).astype(np.float32),
        rng.normal(size=(6, 10)).astype(np.float32),
    )
    dataset = pooled([source])
    config = OfflineConfig.on(dataset, agent=AGENT, steps=UPDATES, log_every=10)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(offline, "Agent", Noting)
        functions = offline.make_offline(config, dataset, [Tape(10)])
    return played(functions, 10, *functions.constants)


def all_different(numbers):
    return len(np.unique(numbers, axis=0)) == len(numbers)


@pytest.mark.parametrize("run", ["online", "on_a_dataset"])
def test_every_update_of_every_seed_has_noise_and_a_batch_of_its_own(run, request):
    _, learners = request.getfixturevalue(run)
    made = learners.train.updates.tolist()
    assert made == ([BURST + 12] * 2 if run == "online" else [10] * 2)
    noise, batches = (np.asarray(x)[:, : made[0]] for x in learners.train[2:])
    assert all_different(noise.ravel())
    assert all_different(batches.reshape(2 * made[0], -1))
    if run == "on_a_dataset":
        # The seeds draw from the same rows: it is the draws that differ, within a batch as well.
        assert min(len(np.unique(one[0], axis=0)) for one in batches.reshape(-1, 2, 16, 2)) > 4


def test_every_number_of_every_action_is_a_draw_of_its_own(online):
    _, learners = online
    # [seeds, rounds, environments, steps, numbers]: two whole rounds, of random actions and plans
    actions = np.asarray(learners.replay.action)[:, :2]
    assert actions.size == 2 * 2 * ENVS * LENGTH * ACTIONS
    assert all_different(actions.ravel())


def test_random_actions_fill_their_range_evenly(online):
    _, learners = online
    actions = np.asarray(learners.replay.action)[:, 0]
    assert np.abs(actions).max() <= 1
    # Of 96 numbers; a quarter of them has a standard deviation of 4.2.
    counts, _ = np.histogram(actions, bins=4, range=(-1, 1))
    assert counts.sum() == 96
    assert np.abs(counts - 24).max() <= 17


def test_first_parameters_are_those_of_the_seed(online):
    params, _ = online
    assert all_different(np.asarray(params).ravel())
