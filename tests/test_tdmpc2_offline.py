"""Training on a dataset of several tasks: what is drawn, how it goes on, how it is evaluated."""

import dataclasses
import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tdmpc2_batches import QUICK, SMALL
from tdmpc2_stand_in import StandIn, Tape

from core.config import ConfigError
from core.spaces import Continuous
from core.tdmpc2 import multitask, offline, pool, train
from core.tdmpc2.config import Config
from core.tdmpc2.dataset import DatasetError, Origin, save
from core.tdmpc2.evaluation import play_tasks
from core.tdmpc2.offline import OfflineConfig, make_offline, run_offline
from core.tdmpc2.outside import run
from core.tdmpc2.pool import Pool, Where
from core.tdmpc2.pooling import Source, pooled, source_of_run
from core.tdmpc2.train_config import TrainConfig
from core.training import run as training
from core.training import saved
from core.training.checkpoint import CheckpointError
from core.training.run_config import RunConfig

AGENT = Config(**{**SMALL, "task_dim": 3})
HORIZON = SMALL["horizon"]


class Wide(Tape):
    """A tape with one more number observed and one more action, which earns nothing."""

    observation_size = 3
    action_space = Continuous(2)

    def _seen(self, state):
        return jnp.append(super()._seen(state), 7.0)


ENVIRONMENTS = {"Tape": Tape(4), "Wide": Wide(6)}


class StandInOfTasks(StandIn):
    """The stand-in, to which the task is one more number."""

    @classmethod
    def of_tasks(cls, config, tasks):
        longest = max(tasks.episode_lengths)
        return cls(config, tasks.observation_size, tasks.action_size, longest)

    def act(self, params, carry, observation, t0, noise, task):
        return super().act(params, carry, observation, t0, noise + task[:, None])

    def update(self, state, batch, noise):
        return super().update(state, batch._replace(reward=batch.reward + batch.task), noise)


def episodes(name, n, seed=0):
    rng, environment = np.random.default_rng(seed), ENVIRONMENTS[name]
    length = environment.episode_length
    return Source(
        Origin(name),
        rng.normal(size=(n, length + 1, environment.observation_size)).astype(np.float32),
        rng.uniform(-1, 1, (n, length, environment.action_space.size)).astype(np.float32),
        rng.normal(size=(n, length)).astype(np.float32),
    )


DATASET = pooled([episodes("Tape", 3), episodes("Wide", 2, 1)])
CONFIG = OfflineConfig.on(DATASET, agent=AGENT, steps=30, log_every=10, eval_episodes=3)
SEEDS = (3, 5)


@pytest.fixture(scope="module", autouse=True)
def compiled_programs(tmp_path_factory):
    jax.config.update("jax_compilation_cache_dir", str(tmp_path_factory.mktemp("compiled")))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.1)
    yield
    jax.config.update("jax_compilation_cache_dir", None)


@pytest.fixture
def stand_in(monkeypatch):
    def make(name, *, action_repeat=1, time_limit=None):
        del action_repeat, time_limit
        return ENVIRONMENTS[name]

    monkeypatch.setattr(offline, "Agent", StandInOfTasks)
    monkeypatch.setattr(train, "Agent", StandIn)
    for module in (offline, saved, training):
        monkeypatch.setattr(module, "make_environment", make)


def keys(seeds=SEEDS):
    return jax.vmap(jax.random.key)(np.asarray(seeds, np.uint32))


def bits(tree):
    return [
        np.asarray(jax.random.key_data(x) if jnp.issubdtype(x.dtype, jax.dtypes.prng_key) else x)
        for x in jax.tree.leaves(tree)
    ]


def assert_bitwise(left, right):
    for a, b in zip(bits(left), bits(right), strict=True):
        assert a.tobytes() == b.tobytes()


BEGINNINGS = [
    (episode, start)
    for episode, length in enumerate(DATASET.length)
    for start in range(length - HORIZON + 1)
]


def test_slices_are_those_of_the_episodes_time_first():
    episode, start = (jnp.asarray(each, jnp.int32) for each in zip(*BEGINNINGS, strict=True))
    found = pool.batch(Pool.of(DATASET), Where(episode, start), HORIZON)
    row = 0
    whole = []  # [observation, action, reward] of each episode, cut out one after the other
    for length in DATASET.length:
        rows = slice(row, row + length + 1)
        whole.append([DATASET.arrays[n][rows] for n in ("observation", "action", "reward")])
        row += length + 1
    for i, (e, s) in enumerate(BEGINNINGS):
        observation, action, reward = whole[e]
        np.testing.assert_array_equal(found.observation[:, i], observation[s : s + HORIZON + 1])
        np.testing.assert_array_equal(found.action[:, i], action[s : s + HORIZON])
        np.testing.assert_array_equal(found.reward[:, i], reward[s : s + HORIZON])
        assert found.task[i] == DATASET.task[e]
    assert not found.terminated.any()


def test_every_episode_is_as_likely_whatever_its_length_and_so_is_every_beginning_in_it():
    n = 100_000
    where = jax.jit(pool.draw, static_argnums=(2, 3))(
        Pool.of(DATASET), jax.random.key(0), n, HORIZON
    )
    drawn = np.stack([where.episode, where.start], 1)
    found, counts = np.unique(drawn, axis=0, return_counts=True)
    assert [tuple(pair) for pair in found.tolist()] == BEGINNINGS
    expected = n / 5 / (DATASET.length[found[:, 0]] - HORIZON + 1)
    # Of a chi-squared variable with 18 degrees of freedom, 60 is exceeded with p = 2e-6.
    assert len(BEGINNINGS) == 19
    assert ((counts - expected) ** 2 / expected).sum() < 60


def test_a_run_does_not_depend_on_its_chunks(stand_in):
    functions = make_offline(CONFIG, DATASET, list(ENVIRONMENTS.values()))
    chunk = jax.jit(functions.chunk, compiler_options=QUICK)
    start = jax.jit(functions.init)(keys())
    whole, metrics = chunk(start, jnp.int32(25), *functions.constants)
    parts, last = start, {}
    for ticks in (1, 13, 11):
        parts, last = chunk(parts, jnp.int32(ticks), *functions.constants)
    assert_bitwise(whole, parts)
    assert_bitwise(metrics, last)
    assert whole.learners.train.updates.tolist() == [25, 25]
    assert whole.learners.sums.updates.tolist() == [5, 5]  # since update 20
    other, _ = chunk(jax.jit(functions.init)(keys((5, 9))), jnp.int32(25), *functions.constants)
    for a, b in zip(bits(whole.learners), bits(other.learners), strict=True):
        assert a[1].tobytes() == b[0].tobytes()  # seed 5 beside 3 and beside 9


def run_of(logdir, config=CONFIG, dataset=DATASET, **settings):
    settings = {"seeds": SEEDS, "eval_every": config.log_every} | settings
    return run_offline(RunConfig(config, "Tape Wide", logdir=logdir, **settings), dataset)


def log_of(logdir):
    lines = map(json.loads, (logdir / "metrics.jsonl").read_text().splitlines())
    return [{k: v for k, v in line.items() if not k.startswith("time/")} for line in lines]


def test_a_run_goes_on_bit_by_bit_with_the_same_log_and_no_other_data(stand_in, tmp_path):
    whole = run_of(tmp_path / "whole")
    run_of(tmp_path / "parts", dataclasses.replace(CONFIG, steps=10))
    parts = run_of(tmp_path / "parts")
    assert_bitwise(whole, parts)
    assert log_of(tmp_path / "whole") == log_of(tmp_path / "parts")

    array = DATASET.reward.copy()
    array[0] += 1
    other = dataclasses.replace(DATASET, reward=array)
    config = dataclasses.replace(CONFIG, steps=40, dataset=other.digest)
    with pytest.raises(ConfigError, match="not that of a run on this dataset"):
        run_of(tmp_path / "parts", config)
    with pytest.raises(CheckpointError, match="dataset was"):
        run_of(tmp_path / "parts", config, other)


def test_every_line_of_the_log_has_an_evaluation_of_every_task(stand_in, tmp_path):
    """Row T16."""
    run_of(tmp_path, seeds=(3,))
    lines = log_of(tmp_path)
    assert [line["rows"] for line in lines] == [10, 20, 30]
    for line in lines:
        returns = np.asarray(line["eval/returns"])
        assert returns.shape == (2, 3)
        np.testing.assert_allclose(line["eval/return/Tape"], returns[0].mean(), rtol=1e-6)
        np.testing.assert_allclose(line["eval/return/Wide"], returns[1].mean(), rtol=1e-6)
        np.testing.assert_allclose(line["eval/score"], (returns / 10).mean(), rtol=1e-6)
        assert line["eval/lengths"] == [[4] * 3, [6] * 3]
    assert len({str(line["eval/returns"]) for line in lines}) == 3


def test_evaluations_start_anew_and_depend_on_the_state_alone(stand_in):
    functions = make_offline(CONFIG, DATASET, list(ENVIRONMENTS.values()))
    state = jax.jit(functions.init)(keys())
    evaluate = jax.jit(functions.evaluate, compiler_options=QUICK)
    first, _ = evaluate(state)
    later, _ = evaluate(state._replace(tick=jnp.int32(10)))  # the same parameters
    assert first.shape == (2, 2, 3)
    assert len(np.unique(np.stack([first, later]))) == 24
    assert_bitwise(first, evaluate(state)[0])


def test_tasks_act_on_padded_observations_and_begin_episodes_once():
    tasks, n = DATASET.tasks, 4
    index = jnp.arange(2.0)[:, None]

    def act(carry, observation, t0, key):
        del key
        action = 0.1 * index + t0
        # Neither would be noticed if it was what it should be.
        beyond = jnp.where(index == 0, observation[..., 2], observation[..., 2] - 7.0)
        assert observation.shape == (2, n, 3)
        # The second number is one that the first task's actions lack, and earns nothing.
        return carry + 1, jnp.stack([action + 100 * beyond, jnp.full_like(action, -3.0)], -1)

    scores, lengths = jax.jit(
        lambda key: play_tasks(
            act, tasks, list(ENVIRONMENTS.values()), jnp.zeros((2, n, 1, 2)), key, n
        )
    )(jax.random.key(0))
    steps = np.asarray([4, 6])
    expected = steps * (steps + 1) / 2 + 0.1 * np.arange(2) * steps + 1
    np.testing.assert_allclose(scores, np.broadcast_to(expected[:, None], (2, n)), rtol=1e-6)
    np.testing.assert_array_equal(lengths, np.broadcast_to(steps[:, None], (2, n)))


def test_what_can_not_be_is_refused(stand_in):
    short = dataclasses.replace(CONFIG, agent=AGENT.replace(horizon=5))
    with pytest.raises(ConfigError, match="above the 4 steps of the episodes of Tape"):
        make_offline(short, DATASET, list(ENVIRONMENTS.values()))
    with pytest.raises(ConfigError, match="n_envs is 1, not 2"):
        dataclasses.replace(CONFIG, n_envs=2)
    origins = (Origin("Wide"), Origin("Wide"))
    with pytest.raises(DatasetError, match=r"Tape have lengths \(2, 1, 4\) .* \(3, 2, 6\)"):
        offline.environments_of(dataclasses.replace(DATASET, origins=origins))


def test_the_agent_itself_takes_these_batches_and_plays_these_tasks():
    """Only traced: updates and plans of several tasks are computed in the tests of the agent."""
    functions = make_offline(CONFIG, DATASET, list(ENVIRONMENTS.values()))
    state = jax.eval_shape(functions.init, keys())
    after, metrics = jax.eval_shape(functions.chunk, state, jnp.int32(2), *functions.constants)
    assert jax.tree.map(lambda x: (x.shape, x.dtype), after) == jax.tree.map(
        lambda x: (x.shape, x.dtype), state
    )
    assert all(value.shape == (2,) for value in metrics.values())
    played = jax.eval_shape(functions.evaluate, state)
    assert [leaf.shape for leaf in played] == [(2, 2, 3)] * 2


def test_the_episodes_of_a_run_become_a_dataset_that_the_command_trains_on(
    stand_in, tmp_path, capsys
):
    settings = {"steps": 20, "log_every": 8, "seed_steps": 8, "n_envs": 2}
    for name in ENVIRONMENTS:
        config = TrainConfig(Config(**SMALL), **settings)
        state = run(RunConfig(config, name, SEEDS, tmp_path / name))
        reward = np.asarray(state.learners.replay.reward)
        whole = int(state.tick) // reward.shape[-1]
        found = source_of_run(tmp_path / name)
        assert found.origin == Origin(name)
        expected = reward[:, :whole].swapaxes(0, 1).reshape(-1, reward.shape[-1])
        np.testing.assert_array_equal(found.reward, expected)

    folders = [str(tmp_path / name) for name in ENVIRONMENTS]
    command = ["pool", "--runs", *folders, "--dataset", str(tmp_path / "pool")]
    multitask.app(command, result_action="return_value")
    assert capsys.readouterr().out == "Tape: 8 episodes of 4\nWide: 4 episodes of 6\n"
    command = ["train", "--dataset", str(tmp_path / "pool"), "--logdir", str(tmp_path / "run")]
    command += ["--steps", "4", "--log-every", "2", "--eval-episodes", "2"]
    for key in ("horizon", "batch_size"):
        command += [f"--agent.{key}", str(SMALL[key])]
    multitask.app(command, result_action="return_value")
    assert [line["rows"] for line in log_of(tmp_path / "run")] == [2, 4]
    with pytest.raises(SystemExit) as refused:
        multitask.app([*command[:2], str(tmp_path / "none"), *command[3:]])
    assert refused.value.code == 1
    assert "choose the folder of a dataset" in capsys.readouterr().err


def test_folders_without_a_run_are_refused(tmp_path):
    with pytest.raises(DatasetError, match=r"config.json can not be read"):
        source_of_run(tmp_path)
    (tmp_path / "config.json").write_text('{"agent.bins": 3}')
    with pytest.raises(DatasetError, match="not that of a run"):
        source_of_run(tmp_path)
    save(DATASET, tmp_path / "pool")
    with pytest.raises(DatasetError, match="choose the folder of a run"):
        source_of_run(tmp_path / "pool")
