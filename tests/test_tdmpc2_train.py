"""TD-MPC2's training as one program: who acts when, what is stored, learned, said and kept."""

import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import jax
import jax.extend.core
import jax.numpy as jnp
import numpy as np
import pytest
from tdmpc2_batches import QUICK, SMALL
from tdmpc2_stand_in import StandIn, Tape

from core.config import ConfigError
from core.tdmpc2 import train
from core.tdmpc2.command import app
from core.tdmpc2.config import Config
from core.tdmpc2.outside import run
from core.tdmpc2.terminations import TerminationError
from core.tdmpc2.train_config import TrainConfig
from core.training.checkpoint import Checkpoints
from core.training.errors import RunError
from core.training.run_config import RunConfig

AGENT = Config(**SMALL)
LENGTH = 5
# Steps of each of the two environments: up to 9 at random, with which a burst of 18 comes.
CONFIG = TrainConfig(AGENT, steps=60, n_envs=2, log_every=8, eval_episodes=3, seed_steps=18)
SEEDS = (3, 5)


@pytest.fixture(scope="module", autouse=True)
def compiled_programs(tmp_path_factory):
    """One compilation of a program for all tests of this module and their processes."""
    folder = tmp_path_factory.mktemp("compiled")
    jax.config.update("jax_compilation_cache_dir", str(folder))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.1)
    yield folder
    jax.config.update("jax_compilation_cache_dir", None)


@pytest.fixture(autouse=True)
def stand_in(monkeypatch):
    monkeypatch.setattr(train, "Agent", StandIn)


def keys(seeds=SEEDS):
    return jax.vmap(jax.random.key)(np.asarray(seeds, np.uint32))


@pytest.fixture(scope="module")
def program():
    """The functions, the first state of two seeds, and the program."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(train, "Agent", StandIn)
        functions = train.make_train(CONFIG, Tape(LENGTH))
        chunk = jax.jit(functions.chunk, compiler_options=QUICK)
        start = jax.jit(functions.init, compiler_options=QUICK)(keys())
        chunk(start, jnp.int32(0))
    return functions, start, chunk


def until(chunk, state, tick, ticks=1000):
    """The state at a tick, in chunks of so many ticks."""
    metrics, chunks = {}, 0
    while int(state.tick) < tick:
        state, metrics = chunk(state, jnp.int32(min(ticks, tick - int(state.tick))))
        chunks += 1
    return state, metrics, chunks


def bits(tree):
    return [
        np.asarray(jax.random.key_data(x) if jnp.issubdtype(x.dtype, jax.dtypes.prng_key) else x)
        for x in jax.tree.leaves(tree)
    ]


def assert_bitwise(left, right):
    for a, b in zip(bits(left), bits(right), strict=True):
        assert a.tobytes() == b.tobytes()


def test_a_run_does_not_depend_on_its_chunks_even_within_the_burst(program):
    _, start, chunk = program
    whole, metrics, _ = until(chunk, start, 20)
    for ticks, least in ((1, 28), (3, 9)):
        parts, last, chunks = until(chunk, start, 20, ticks)
        assert chunks >= least  # the burst of 18 updates alone takes 9 of 2, or 3 of 6
        assert_bitwise(whole, parts)
        assert_bitwise(metrics, last)
    assert chunk._cache_size() == 1
    # Ticks 0 to 9 act at random; 18 updates follow the last of them, 2 each later one.
    assert whole.learners.train.updates.tolist() == [18 + 2 * 10] * 2
    assert whole.learners.sums.updates.tolist() == [2 * 4] * 2  # since tick 16


def test_a_chunk_stops_within_a_burst_that_is_longer_than_itself(program):
    _, start, chunk = program
    before, *_ = until(chunk, start, 9)
    state, _ = chunk(before, jnp.int32(2))
    assert (int(state.tick), state.learners.train.updates.tolist()) == (9, [4, 4])
    np.testing.assert_array_equal(
        state.learners.environments.simulation.time,
        before.learners.environments.simulation.time * 0,  # the step was taken, once
    )
    state, _ = chunk(state, jnp.int32(2))
    assert (int(state.tick), state.learners.train.updates.tolist()) == (9, [8, 8])


def test_what_to_do_stays_a_branch_and_how_often_a_loop_under_vmap(program):
    functions, start, _ = program
    found = {"cond": [], "while": []}

    def search(jaxpr):
        for equation in jaxpr.eqns:
            name = equation.primitive.name
            if name == "cond":
                found[name].append(equation.invars[0].aval.shape)
            if name == "while":
                found[name].append(equation.params["cond_jaxpr"].out_avals[0].shape)
            for inner in jax.extend.core.jaxprs_in_params(equation.params):
                search(inner)

    search(jax.make_jaxpr(functions.chunk)(start, jnp.int32(1)).jaxpr)
    assert found["cond"] == [(), ()]  # random or planned; whether an episode ended
    assert set(found["while"]) == {()}


def test_seeds_are_independent_of_each_other(program):
    functions, start, chunk = program
    one, *_ = until(chunk, start, 12)
    other, *_ = until(chunk, jax.jit(functions.init)(keys((5, 9))), 12)
    for a, b in zip(bits(one.learners), bits(other.learners), strict=True):
        assert a[1].tobytes() == b[0].tobytes()  # seed 5 beside 3 and beside 9
    action = one.learners.replay.action
    assert not np.array_equal(action[0], action[1])


def test_every_step_is_stored_with_what_it_led_to(program):
    _, start, chunk = program
    state, *_ = until(chunk, start, 20)
    replay = jax.tree.map(np.asarray, state.learners.replay)
    assert replay.reward.shape == (2, 7, 2, LENGTH)  # 60 steps are 6 rounds, and one to write in
    written = slice(0, 4)
    times = np.broadcast_to(np.arange(LENGTH + 1.0), (2, 4, 2, LENGTH + 1))
    np.testing.assert_array_equal(replay.observation[:, written, ..., 1], times)
    starts = replay.observation[:, written, ..., 0]
    np.testing.assert_array_equal(starts, starts[..., :1].repeat(LENGTH + 1, -1))
    assert len(np.unique(starts[..., 0])) == 16
    expected = times[..., 1:] + replay.action[:, written, ..., 0]
    np.testing.assert_allclose(replay.reward[:, written], expected, rtol=1e-6)
    assert not replay.reward[:, 4:].any()
    assert not state.learners.terminations.count.any()


def test_an_episode_is_sampled_from_the_step_after_its_last_one_on(program):
    """The reference stores it with the reset that follows."""
    _, start, chunk = program
    mode = train.Timed(CONFIG, Tape(LENGTH), CONFIG.schedule(Tape(LENGTH)))
    state, *_ = until(chunk, start, 2 * LENGTH)
    replay = jax.tree.map(lambda x: x[0], state.learners.replay)
    starts = np.asarray(replay.observation)[:, :, 0, 0]
    for steps, rounds in ((2 * LENGTH, 1), (2 * LENGTH + 1, 2)):
        batches = [mode.sample(replay, jnp.int32(steps), jax.random.key(i)) for i in range(20)]
        seen = np.concatenate([np.asarray(batch.observation)[0, :, 0] for batch in batches])
        np.testing.assert_array_equal(np.unique(seen), np.unique(starts[:rounds]))


def test_the_first_plan_starts_from_zeros_and_every_episode_forgets(program):
    """Rows T7, T8 and T11."""
    _, start, chunk = program
    state, *_ = until(chunk, start, 10)
    assert not state.learners.carry.any()
    random = np.asarray(state.learners.replay.action)[:, :2]
    assert len(np.unique(random)) == random.size
    assert np.abs(random).max() < 1
    before = 0
    for step in range(3):
        state, *_ = until(chunk, state, 11 + step)
        assert_follows(state.learners.carry, before, state.learners.replay.action[:, 2, :, step])
        before = state.learners.carry
    state, *_ = until(chunk, state, 16)
    action = state.learners.replay.action[:, 3, :, 0]
    assert_follows(state.learners.carry, 0, action)


def assert_follows(carry, before, action):
    """What the stand-in carries once it has acted."""
    expected = np.broadcast_to(before + action[:, :, None] + 1, carry.shape)
    np.testing.assert_allclose(carry, expected, rtol=1e-6, atol=1e-6)


def test_figures_of_the_window_are_those_of_its_episodes(program):
    _, start, chunk = program
    state, metrics, _ = until(chunk, start, 8)
    assert metrics["episode/count"].tolist() == [2, 2]  # since tick 4
    assert metrics["episode/length"].tolist() == [LENGTH, LENGTH]
    rewards = np.asarray(state.learners.replay.reward)[:, 0]
    np.testing.assert_allclose(metrics["episode/return"], rewards.sum(-1).mean(-1), rtol=1e-6)
    assert np.isnan(metrics["train/total_loss"]).all()


def test_evaluations_differ_from_each_other_but_not_from_one_run_to_the_next(program):
    """Row T9."""
    functions, start, _ = program
    evaluate = jax.jit(functions.evaluate, compiler_options=QUICK)
    scores, lengths = evaluate(start)
    assert scores.shape == (2, 3)
    assert lengths.tolist() == [[LENGTH] * 3] * 2
    np.testing.assert_array_equal(scores, evaluate(start)[0])
    later = start._replace(tick=jnp.int32(8))
    assert len(np.unique(np.stack([scores, evaluate(later)[0]]))) == 12


def test_a_loss_that_is_not_finite_is_remembered_with_its_update(program):
    _, start, chunk = program
    state, *_ = until(chunk, start, 12)
    trained = state.learners.train
    spoilt = trained._replace(weights=trained.weights.at[1].set(jnp.nan))
    state, *_ = until(chunk, state._replace(learners=state.learners._replace(train=spoilt)), 13)
    assert state.learners.fault.update.tolist() == [0, 18 + 2 * 2 + 1]
    assert program[0].terms[state.learners.fault.term[1]] == "consistency_loss"


# A run from the outside.


def run_config(logdir, **changed):
    return RunConfig(dataclasses.replace(CONFIG, **changed), "Tape", SEEDS, logdir, eval_every=16)


@pytest.fixture
def tape(monkeypatch):
    """Makes runs play the tape."""
    monkeypatch.setattr("core.training.run.make_environment", lambda name, **_: Tape(LENGTH))


def figures(logdir):
    """The log without what depends on the machine."""
    lines = [json.loads(line) for line in (logdir / "metrics.jsonl").read_text().splitlines()]
    return [{k: v for k, v in line.items() if not k.startswith("time/")} for line in lines]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The folder and the last state of a run that nothing disturbed."""
    folder = tmp_path_factory.mktemp("whole")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(train, "Agent", StandIn)
        patch.setattr("core.training.run.make_environment", lambda name, **_: Tape(LENGTH))
        return folder, run(run_config(folder))


def test_a_run_logs_every_window_and_evaluates_from_its_first_interval_on(whole):
    folder, state = whole
    lines = [line for line in figures(folder) if line["seed"] == 5]
    assert [line["rows"] for line in lines] == [8, 16, 24, 32, 40, 48, 56, 60]
    assert [line["rows"] for line in lines if "eval/return" in line] == [16, 32, 48, 60]
    assert [line["updates"] for line in lines] == [0, 0, 22, 30, 38, 46, 54, 58]
    assert state.learners.train.updates.tolist() == [58, 58]
    assert json.loads((folder / "config.json").read_text())["updates_per_step"] == 1.0


def test_a_run_with_more_steps_is_bitwise_the_one_that_had_them(whole, tape, tmp_path):
    """Rows T12 and T26: the shorter run ends amid an episode, with a smaller buffer."""
    shorter = run(run_config(tmp_path, steps=36))
    assert shorter.learners.replay.reward.shape[1] == 5
    assert_bitwise(run(run_config(tmp_path)), whole[1])
    kept = [line for line in figures(tmp_path) if line["rows"] != 36]
    assert kept == figures(whole[0])


KILLED = """
import sys
from pathlib import Path
from test_tdmpc2_train import StandIn, Tape, LENGTH, run, run_config, train
import core.training.run
import core.training.loop as loop

train.Agent = StandIn
core.training.run.make_environment = lambda name, **_: Tape(LENGTH)
config = run_config(Path(sys.argv[1]))
object.__setattr__(config, "save_every", 0.0)
loop._Pace.took = lambda *_: print(flush=True)  # one tick, or two updates, at a time
run(config)
"""


def test_killed_and_resumed_is_bitwise_the_uninterrupted_run(
    whole, tape, tmp_path, compiled_programs
):
    """Row T12."""
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=Path(__file__).parent,
        env={**os.environ, "JAX_COMPILATION_CACHE_DIR": str(compiled_programs)},
        text=True,
    )
    # Amid the burst, or somewhat later: other moments in every run of the suite.
    for _ in range(np.random.default_rng().integers(11, 25)):
        assert process.stdout.readline()
    time.sleep(np.random.default_rng().uniform(0, 0.05))
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    saved = Checkpoints(tmp_path / "checkpoints", run_config(tmp_path).identity()).latest
    assert 16 <= saved < 60
    assert_bitwise(run(run_config(tmp_path)), whole[1])
    assert figures(tmp_path) == figures(whole[0])


@pytest.mark.parametrize(("ends", "wrong"), [(3, 3), (LENGTH, 1)])
def test_episodes_that_end_by_themselves_are_counted(program, ends, wrong):
    """Row T10: before their time, and at the very time too."""
    functions, start, chunk = program
    running = start.learners.environments
    doomed = running.simulation._replace(ends=jnp.full_like(running.simulation.ends, ends))
    running = running._replace(simulation=doomed)
    state, _ = chunk(
        start._replace(learners=start.learners._replace(environments=running)), jnp.int32(8)
    )
    # In both environments: the end, that there is none in step 5, and the next one in step 8.
    assert state.learners.terminations.count.tolist() == [2 * wrong, 2 * wrong]
    assert state.learners.terminations.first.tolist() == [ends, ends]
    told = f"seed 3: {2 * wrong}, the first in step {ends}; seed 5: {2 * wrong}"
    with pytest.raises(TerminationError, match=told):
        functions.check(state, SEEDS)
    assert issubclass(TerminationError, ValueError)


def test_a_run_with_such_episodes_ends_with_a_sentence(program, tape, tmp_path):
    _, start, chunk = program
    state, *_ = until(chunk, start, 8)
    ended = state.learners.terminations._replace(count=jnp.int32([0, 4]), first=jnp.int32([0, 7]))
    config = run_config(tmp_path)
    checkpoints = Checkpoints(tmp_path / "checkpoints", config.identity())
    checkpoints.save(16, state._replace(learners=state.learners._replace(terminations=ended)))
    told = r"before their 5 steps.*\(seed 5: 4, the first in step 7\).*train with --episodic"
    with pytest.raises(RunError, match=told):
        run(config)
    assert checkpoints.latest == 16


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--env", "CartPole-v1"], "those of this environment are discrete"),
        (["--env", "Pendulum-v2"], "did you mean 'Pendulum-v1'"),
        (["--time-limit", "2"], "horizon must not be above the 2 steps of an episode"),
        (["--size", "2"], "unknown size 2: expected one of 1, 5, 19, 48, 317"),
        (["--seed-steps", "0"], "seed_steps must be a whole number from 1"),
        (["--updates-per-step", "1e9"], "which 32 bits do not count"),
        (["--replay-rounding", "up"], "replay_rounding must be one of 'ceil', 'floor'"),
        (["--agent.num_q", "1"], "num_q must be a whole number from 2"),
        (["--agent.episodic", "True"], "agent.episodic belongs to a run whose episodes may end"),
    ],
)
def test_a_mistake_is_one_sentence(words, told, tmp_path, capsys):
    with pytest.raises(SystemExit) as got:
        app(["--logdir", str(tmp_path / "run"), "--cache", str(tmp_path / "cache"), *words])
    jax.config.update("jax_compilation_cache_dir", None)
    assert got.value.code == 2
    stderr = capsys.readouterr().err
    assert told in stderr
    assert stderr.count("\n") == 1
    assert not (tmp_path / "run").exists()


def test_a_number_that_is_none_is_refused():
    with pytest.raises(ConfigError, match="updates_per_step must be a finite number"):
        TrainConfig(updates_per_step=float("nan"))
