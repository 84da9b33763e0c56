"""Training as one program: exact counts, no recompilation, and bitwise resumption."""

import dataclasses
import errno
import io
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from filelock import FileLock
from rich.console import Console

from core.config import ConfigError
from core.dreamerv3.config import Config
from core.dreamerv3.metrics import watched
from core.dreamerv3.outside import load, run
from core.dreamerv3.train import make_train
from core.dreamerv3.train_config import TrainConfig
from core.environments import make_environment
from core.training import loop, windows
from core.training.checkpoint import Checkpoints
from core.training.errors import RunError, RunInterruptedError
from core.training.progress import ProgressBar
from core.training.run_config import RunConfig

TINY = {
    "units": 4,
    "hidden": 4,
    "deter": 8,
    "stoch": 2,
    "classes": 4,
    "blocks": 2,
    "prior_layers": 1,
    "enc_layers": 1,
    "dec_layers": 1,
    "actor_layers": 1,
    "critic_layers": 1,
    "bins": 9,
    "batch_size": 3,
    "batch_length": 5,
    "imag_horizon": 2,
    "train_ratio": 5.0,
    "warmup": 10,
}
CONFIG = TrainConfig(Config(**TINY), steps=600, n_envs=4, log_every=48, eval_episodes=3)
SEEDS = (3, 5)


@pytest.fixture(scope="module", autouse=True)
def compiled_programs(tmp_path_factory):
    """One compilation of the program for all tests of this module and their processes."""
    folder = tmp_path_factory.mktemp("compiled")
    jax.config.update("jax_compilation_cache_dir", str(folder))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.5)
    yield folder
    jax.config.update("jax_compilation_cache_dir", None)


@pytest.fixture(scope="module")
def train():
    """The functions, the first state, and the program that the command line compiles too."""
    functions = make_train(CONFIG, make_environment("CartPole-v1"))
    program = jax.jit(functions.chunk, donate_argnums=0)

    def chunk(state, ticks):
        return program(jax.tree.map(jnp.copy, state), jnp.int32(ticks))

    chunk.compilations = program._cache_size
    return functions, jax.jit(functions.init)(keys(SEEDS)), chunk


def keys(seeds):
    return jax.vmap(jax.random.key)(np.asarray(seeds, np.uint32))


def bits(tree):
    return [
        np.asarray(jax.random.key_data(x) if jnp.issubdtype(x.dtype, jax.dtypes.prng_key) else x)
        for x in jax.tree.leaves(tree)
    ]


def assert_bitwise(left, right):
    for a, b in zip(bits(left), bits(right), strict=True):
        assert a.tobytes() == b.tobytes()


def test_updates_are_counted_exactly_at_the_protocol_sizes():
    config = TrainConfig(Config(), steps=20_000)
    assert (config.ticks, config.ring_rows) == (1250, 1250)
    assert [int(config.updates_after(t)) for t in (64, 65, 66, 1250)] == [0, 1, 9, 9481]
    assert config.ticks_without_updates == 64


def test_a_run_does_not_depend_on_its_chunks_and_is_compiled_once(train):
    _, start, chunk = train
    whole, metrics = chunk(start, 30)
    parts = start
    for ticks in (1, 7, 0, 22):
        parts, last = chunk(parts, ticks)
    assert chunk.compilations() == 1
    assert_bitwise(whole, parts)
    assert_bitwise(metrics, last)
    assert int(whole.tick) == 30
    due = int(CONFIG.updates_after(30))
    assert due == 1 + (30 * 4 - 23) // 3
    assert whole.learners.train.updates.tolist() == [due, due]
    assert whole.learners.sums.updates.tolist() == [due - int(CONFIG.updates_after(24))] * 2


def test_seeds_are_independent_of_each_other(train):
    functions, start, chunk = train
    one, _ = chunk(start, 9)
    other, _ = chunk(jax.jit(functions.init)(keys((5, 9))), 9)
    assert one.learners.train.updates.tolist() == [int(CONFIG.updates_after(9))] * 2
    for a, b in zip(bits(one.learners), bits(other.learners), strict=True):
        assert a[1].tobytes() == b[0].tobytes()  # seed 5 beside 3 and beside 9
    deter = one.learners.replay.latents.deter
    assert not np.array_equal(deter[0], deter[1])


def test_training_writes_its_latents_back_and_acting_rows_are_stored(train):
    _, start, chunk = train
    before, _ = chunk(start, 5)  # 20 rows: the gate opens at 5 · 4 + 3
    assert int(CONFIG.updates_after(5)) == 0
    after, _ = chunk(before, 1)
    old, new = (s.learners.replay.latents.deter[:, :, :6] for s in (before, after))
    changed = (np.asarray(old) != np.asarray(new)).any(-1)
    # The only items are one row of context and rows 1 to 5; row 5 itself is new.
    assert not changed[:, :, 0].any()
    assert changed[:, :, 1:5].any(-1).sum() >= 3
    stored = after.learners.replay.rows
    assert not stored.action[stored.is_last].any()
    assert stored.is_first[:, :, 0].all()
    assert not stored.reward[stored.is_first].any()


def test_evaluations_begin_alike_and_count_steps(train):
    functions, start, _ = train
    evaluate = jax.jit(functions.evaluate)
    scores, lengths = evaluate(start)
    assert scores.shape == lengths.shape == (2, 3)
    np.testing.assert_array_equal(scores, lengths)  # CartPole pays 1 per step
    assert len(np.unique(lengths)) > 1
    np.testing.assert_array_equal(scores, evaluate(start)[0])


def test_episodes_are_counted_by_the_step_that_ends_them():
    episodes = windows.no_episodes(2)
    # Environment 0: episodes of 2 and 1 steps; environment 1: none ends.
    flags = [(0, 0), (0, 1), (1, 0), (0, 1), (1, 0)]
    for first, last in flags:
        reward = jnp.array([0.0 if first else 1.5, 1.0])
        is_first, is_last = jnp.array([first, 0], bool), jnp.array([last, 0], bool)
        episodes = windows.add_step(episodes, reward, is_first, is_last)
    metrics = windows.episode_metrics(episodes)
    assert metrics["episode/count"] == 2
    assert metrics["episode/return"] == (3.0 + 1.5) / 2
    assert metrics["episode/length"] == 1.5
    assert np.isnan(metrics["episode/recent_return"])  # one environment has finished none
    for _ in range(12):
        episodes = windows.add_step(
            episodes, jnp.array([4.0, 1.0]), jnp.zeros(2, bool), jnp.ones(2, bool)
        )
        episodes = windows.add_step(episodes, jnp.zeros(2), jnp.ones(2, bool), jnp.zeros(2, bool))
    recent = windows.episode_metrics(episodes)["episode/recent_return"]
    assert recent == (4.0 + 1.0) / 2  # the last ten only
    cut, _ = windows.start_window(jnp.array(True), episodes, windows.no_sums({}))
    assert cut.window_finished == 0
    assert (cut.finished == episodes.finished).all()


def test_the_first_faulty_term_is_remembered():
    fault = windows.no_fault()
    good = {"rec_loss": 1.0, "opt_loss": 1.0, "actor_loss": 1.0, "ret/mean": jnp.nan}
    good = {name: jnp.float32(value) for name, value in good.items()}
    terms = watched(good)
    fault = windows.check(fault, good, jnp.int32(7), terms)
    assert fault.update == 0
    bad = good | {"actor_loss": jnp.float32(jnp.inf), "opt_loss": jnp.float32(jnp.nan)}
    fault = windows.check(fault, bad, jnp.int32(8), terms)
    fault = windows.check(fault, good | {"rec_loss": jnp.float32(jnp.nan)}, jnp.int32(9), terms)
    assert (int(fault.update), terms[int(fault.term)]) == (8, "actor_loss")


def test_seeds_that_are_none_are_refused():
    for seeds in ((), (1, 1), (-1,)):
        with pytest.raises(ConfigError, match="seeds must"):
            RunConfig(CONFIG, "CartPole-v1", seeds, Path("nowhere"))


def arguments(logdir, compiled, **options):
    chosen = {"steps": CONFIG.steps, "n-envs": 4, "log-every": 48, "eval-every": 240} | options
    chosen |= {f"agent.{key}": value for key, value in TINY.items()}
    words = ["--logdir", logdir, "--cache", compiled, "--eval-episodes", 3, "--seeds", *SEEDS]
    words += [word for key, value in chosen.items() for word in (f"--{key}", value)]
    return [sys.executable, "-m", "core.dreamerv3", *map(str, words)]


def figures(logdir):
    """The log without what depends on the machine."""
    lines = [json.loads(line) for line in (logdir / "metrics.jsonl").read_text().splitlines()]
    return [{k: v for k, v in line.items() if not k.startswith("time/")} for line in lines]


def start(logdir, compiled, **options):
    command = arguments(logdir, compiled, **options)
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)


def finish(process):
    _, stderr = process.communicate(timeout=900)
    assert process.returncode == 0, stderr
    return stderr


@pytest.fixture(scope="module")
def whole(compiled_programs, tmp_path_factory):
    """The folder of a run that nothing disturbed."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    finish(start(folder, compiled_programs))
    return folder


def test_killed_and_resumed_is_bitwise_the_uninterrupted_run(
    train, whole, tmp_path, compiled_programs
):
    _, state, _ = train
    killed = tmp_path / "killed"
    programs = training_programs(compiled_programs)
    assert programs

    rng = np.random.default_rng()  # other moments in every run of the suite
    for kill in range(2):
        seen = newest(killed)
        process = start(killed, compiled_programs, **{"save-every": 0})
        # Wait for a checkpoint of its own, then for a random moment: perhaps amid the next.
        while process.poll() is None and newest(killed) == seen:
            time.sleep(0.005)
        time.sleep(rng.uniform(0, 0.1))
        process.send_signal(signal.SIGKILL)
        _, stderr = process.communicate()
        assert process.returncode in (0, -signal.SIGKILL), stderr
        assert kill or process.returncode, "the first process was done before it was killed"
    last = finish(start(killed, compiled_programs))
    assert "resuming at" in last or "nothing is left" in last
    assert training_programs(compiled_programs) == programs  # nothing new compiled

    assert figures(killed) == figures(whole)
    assert figures(whole)[-1]["rows"] == 600
    identity = RunConfig(CONFIG, "CartPole-v1", SEEDS, whole).identity()
    ends = [Checkpoints(d / "checkpoints", identity).restore(state) for d in (whole, killed)]
    assert [rows for rows, _ in ends] == [600, 600]
    assert ends[0][1].learners.train.updates.tolist() == [int(CONFIG.updates_after(150))] * 2
    assert_bitwise(ends[0][1], ends[1][1])


def test_a_run_with_more_steps_is_bitwise_the_one_that_had_them(train, whole, tmp_path):
    _, state, _ = train
    shorter = dataclasses.replace(CONFIG, steps=200)
    options = {"env": "CartPole-v1", "seeds": SEEDS, "logdir": tmp_path, "eval_every": 240}
    assert run(RunConfig(shorter, **options)).learners.replay.added.tolist() == [50, 50]
    longer = run(RunConfig(CONFIG, **options))
    identity = RunConfig(CONFIG, **options).identity()
    assert_bitwise(longer, Checkpoints(whole / "checkpoints", identity).restore(state)[1])
    # The end of the shorter run is the only line that the longer one does not write.
    assert [line for line in figures(tmp_path) if line["rows"] != 200] == figures(whole)
    with pytest.raises(ConfigError, match="has 600 rows already, more than the 200 of --steps"):
        run(RunConfig(shorter, **options))


def test_a_run_is_loaded_from_its_folder(whole, tmp_path):
    half = whole / "checkpoints" / "601.orbax-checkpoint-tmp"  # as another process writes it
    half.mkdir()
    saved = load(whole)
    half.rmdir()
    assert (saved.config.train, saved.config.seeds, saved.rows) == (CONFIG, SEEDS, 600)
    scores, _ = jax.jit(saved.train.evaluate)(saved.state)
    last = figures(whole)[-len(SEEDS) :]
    assert [line["eval/return"] for line in last] == np.mean(scores, -1).tolist()
    (tmp_path / "config.json").write_text("{}")
    for folder, said in ((tmp_path / "none", "folder of a run"), (tmp_path, "another folder")):
        with pytest.raises(RunError, match=said):
            load(folder)


def test_the_package_gives_the_function_whatever_was_imported_before():
    import core.dreamerv3 as package

    assert package.run is run
    assert package.load is load


def test_ctrl_c_saves_and_ends_with_130(train, tmp_path, compiled_programs):
    process = start(tmp_path, compiled_programs, **{"save-every": 0})
    while process.poll() is None and newest(tmp_path) == 0:
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate()
    assert process.returncode == 130, stderr
    rows = newest(tmp_path)
    assert f"interrupted at {rows:,} rows, which are saved; the same command" in stderr
    assert "Traceback" not in stderr
    assert [path for path in (tmp_path / "checkpoints").iterdir() if "tmp" in path.name] == []


def test_ctrl_c_during_compilation_ends_with_130_and_promises_no_checkpoint(tmp_path):
    process = start(tmp_path / "run", tmp_path / "compiled")
    told = process.stderr.readline()
    assert told.startswith("compiling")
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate()
    assert process.returncode == 130, stderr
    assert stderr == "interrupted before the first checkpoint; the same command starts anew\n"


def training_programs(cache):
    """Whether a small program takes long enough to be kept depends on the machine's load."""
    return {path.name for path in cache.iterdir() if path.name.startswith("jit_chunk")}


def newest(logdir):
    folder = Path(logdir) / "checkpoints"
    return max((int(p.name) for p in folder.glob("*") if p.name.isdigit()), default=0)


def test_a_loss_that_is_not_finite_stops_the_run(train, tmp_path):
    _, start, chunk = train
    state, _ = chunk(start, 8)
    spoilt = state.learners.train.params["rew"]
    spoilt = jax.tree.map(lambda x: x.at[1].set(jnp.nan), spoilt)  # of seed 5
    params = state.learners.train.params | {"rew": spoilt}
    learners = state.learners._replace(train=state.learners.train._replace(params=params))
    config = RunConfig(CONFIG, "CartPole-v1", SEEDS, tmp_path)
    checkpoints = Checkpoints(tmp_path / "checkpoints", config.identity())
    checkpoints.save(32, state._replace(learners=learners))
    first = int(CONFIG.updates_after(8)) + 1
    told = rf"\(seed 5: rew_loss at update {first}\).*; the last checkpoint, at 32 rows, is from be"
    with pytest.raises(RunError, match=told):
        run(config)
    assert checkpoints.latest == newest(tmp_path) == 32


def test_a_fault_before_the_first_checkpoint_promises_none(train, tmp_path):
    _, start, _ = train
    spoilt = start.learners._replace(fault=windows.Fault(jnp.int32([0, 7]), jnp.int32([0, 1])))
    checkpoints = Checkpoints(tmp_path, {})
    with pytest.raises(RunError, match=r"seed 5: rew_loss at update 7.*there is no checkpoint\."):
        loop._stop_at_fault(
            start._replace(learners=spoilt), SEEDS, ("rec", "rew_loss"), checkpoints
        )


def test_a_run_that_ends_before_its_first_update_says_so(tmp_path, monkeypatch):
    def stop(*_):
        raise InterruptedError

    monkeypatch.setattr("core.training.run._compiled", stop)
    shown = io.StringIO()
    short = RunConfig(dataclasses.replace(CONFIG, steps=20), "CartPole-v1", (3,), tmp_path)
    with pytest.raises(InterruptedError):
        run(short, ProgressBar(20, Console(file=shown)))
    assert shown.getvalue() == (
        "the first update would come at 24 rows: nothing is learned in 20 steps\n"
    )


def test_a_second_ctrl_c_names_the_checkpoint_that_there_is(train, tmp_path, monkeypatch):
    def pressed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("core.training.run._compiled", lambda *_: None)
    monkeypatch.setattr("core.training.run.train_to_the_end", pressed)
    config = RunConfig(CONFIG, "CartPole-v1", SEEDS, tmp_path)
    Checkpoints(tmp_path / "checkpoints", config.identity()).save(32, train[1])
    with pytest.raises(RunInterruptedError, match="the last checkpoint holds 32 rows") as got:
        run(config)
    assert got.value.number == signal.SIGINT


def test_a_full_disk_at_the_start_is_one_sentence(tmp_path, monkeypatch):
    def full(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("core.training.logging.os.fsync", full)
    with pytest.raises(RunError, match=r"config.json can not be written: No space left.*make room"):
        run(RunConfig(CONFIG, "CartPole-v1", (3,), tmp_path))
    assert sorted(path.name for path in tmp_path.iterdir()) == [".lock", "checkpoints"]


def test_one_folder_is_used_by_one_process(tmp_path):
    config = RunConfig(CONFIG, "CartPole-v1", (3,), tmp_path)
    with FileLock(tmp_path / ".lock"), pytest.raises(RunError, match="another process is training"):
        run(config)
