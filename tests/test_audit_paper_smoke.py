"""Real runs, tiny ones: killed and resumed, as jobs in a real queue, and what they really need."""

import functools
import gc
import json
import os
import signal
import subprocess
import sys
import threading
import time

import jax
import msgspec
import pytest
from paper_runs import changed
from small_slurm import NoSlurmError, reason_for_none, small_slurm

from audits import cli
from audits.paper import training
from audits.paper.eligibility import damages
from audits.paper.files import PROGRESS, read_run
from audits.paper.jobs import read_job
from audits.paper.registry import off_protocol
from audits.paper.submission import Resources, SubmititLauncher
from audits.paper.supervision import Supervisor

SPEC = off_protocol("smoke")["smoke-dreamerv3"]
FOLDER = SPEC.name


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """One compilation for all processes of this module."""
    return tmp_path_factory.mktemp("cache")


def start(name, out, cache, *words):
    command = [sys.executable, "-m", "audits", "paper", "run", name, "--smoke", "--out", str(out)]
    return subprocess.Popen(
        [*command, *words],
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"XDG_CACHE_HOME": str(cache), "JAX_PLATFORMS": "cpu"},
    )


def finish(process):
    _, stderr = process.communicate(timeout=1200)
    assert process.returncode == 0, stderr


@pytest.fixture(scope="module")
def whole(cache, tmp_path_factory):
    """Runs that nothing disturbed, by name."""
    out = tmp_path_factory.mktemp("whole")

    @functools.cache
    def of(name):
        finish(start(name, out, cache))
        return read_run(out / name)

    return of


def training_programs(cache):
    return {path.name for path in cache.rglob("jit_chunk-*-cache")}


def timeless(run):
    return [msgspec.structs.replace(record, seconds=0.0) for record in run.records]


def assert_same(run, whole):
    assert timeless(run) == timeless(whole)
    assert run.finished["learned"] == whole.finished["learned"]  # every bit of it
    assert not damages(run)


# Rows after which each is killed: once it has learned something.
@pytest.mark.parametrize(("name", "rows"), [("smoke-dreamerv3", 240), ("smoke-tdmpc2", 1_010)])
def test_killed_and_resumed_is_bitwise_the_uninterrupted_run(
    name, rows, whole, cache, tmp_path, capsys
):
    undisturbed, programs = whole(name), training_programs(cache)
    assert programs
    process = start(name, tmp_path, cache, "--save-every", "0")
    while process.poll() is None and training.newest_checkpoint(tmp_path / name) < rows:
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    _, stderr = process.communicate()
    assert process.returncode == -signal.SIGKILL, stderr
    finish(start(name, tmp_path, cache))
    assert training_programs(cache) == programs  # nothing is compiled again

    run = read_run(tmp_path / name)
    assert_same(run, undisturbed)
    assert len(run.sessions) == 2
    assert run.sessions[1].begin >= rows
    assert run.records[-1].updates > 300
    assert run.sessions[0].packages["jax"] == jax.__version__
    # It is no run of the protocol, and is told so.
    words = ["paper", "report", "--runs", str(tmp_path), "--agent", run.spec.agent]
    assert cli.main(words) == cli.SAME
    assert f"off protocol: {name}: no run of the protocol" in capsys.readouterr().out


@pytest.fixture
def slurm(tmp_path_factory, monkeypatch, cache):
    if reason_for_none():
        pytest.skip(f"no Slurm can be started here: {reason_for_none()}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    folder = tmp_path_factory.mktemp("slurm")
    try:
        with small_slurm(folder) as variables:
            for name, value in variables.items():
                monkeypatch.setenv(name, value)
            yield
    except NoSlurmError as error:
        pytest.skip(f"no Slurm can be started here: {error}")


def test_jobs_in_a_queue_survive_a_kill_and_the_end_of_their_time(whole, slurm, tmp_path):
    """One job is killed, and submitted again; one is told that its time is up, and goes on."""
    pytest.importorskip("submitit", reason="submitit is not installed")
    whole(FOLDER)
    other = changed(SPEC, name="smoke-other", seeds=(2, 3))
    specs = [SPEC, other]
    lines = []
    asked = dict.fromkeys((s.name for s in specs), Resources(0, 1, 2**30, 0.5))
    launcher = SubmititLauncher("slurm", tmp_path / "jobs")
    supervisor = Supervisor(tmp_path, launcher, asked, 0.0, 0, lines.append)

    def disturb():
        """Kills the process of the first job, and announces the end of the second's time."""
        pending = dict.fromkeys(s.name for s in specs)
        deadline = time.monotonic() + 900
        while pending and time.monotonic() < deadline:
            for name in list(pending):
                rows = training.newest_checkpoint(tmp_path / name)
                if 0 < rows < 960 and (tmp_path / name / PROGRESS).exists():
                    about = json.loads((tmp_path / name / PROGRESS).read_bytes())
                    if name == FOLDER:
                        os.kill(about["pid"], signal.SIGKILL)
                    else:
                        command = ["scancel", "--signal=USR2", about["job"]]
                        subprocess.run(command, check=True)
                    del pending[name]
            time.sleep(0.01)

    thread = threading.Thread(target=disturb, daemon=True)
    thread.start()
    given_up = supervisor.supervise(specs, poll=1.0)
    thread.join(10)
    assert given_up == [], lines
    run, moved = (read_run(tmp_path / spec.name) for spec in specs)
    assert_same(run, whole(FOLDER))
    assert not damages(moved)
    assert [len(r.sessions) for r in (run, moved)] == [2, 2], lines
    assert all(r.sessions[1].begin > 0 for r in (run, moved))
    first, second = (read_job(tmp_path / spec.name) for spec in specs)
    assert (first.attempts, second.attempts) == (2, 1)  # the second was never submitted again
    assert run.sessions[0].job != run.sessions[1].job == first.job
    assert moved.sessions[0].job == moved.sessions[1].job == second.job
    assert f"{FOLDER}: finished" in lines


def test_the_estimate_is_what_a_run_takes():
    """Of a run whose rings are most of it, and latent states most of those, as the protocol's."""
    from audits.paper.estimate import memory

    status = "/proc/self/status"
    if not os.path.exists(status):
        pytest.skip(f"a process's memory is read from {status}")

    def resident(field):
        with open(status) as file:
            line = next(line for line in file if line.startswith(field))
        return int(line.split()[1]) * 1024

    settings = SPEC.settings | {"deter": 512}
    spec = changed(SPEC, budget=500_000, chunk=5_000, settings=settings, seeds=(0,))
    expected = memory(spec)
    assert expected.replay > 0.9 * expected.device
    assert expected.state > 500e6

    _, functions, shape = training.program(spec)
    program = jax.jit(functions.chunk, donate_argnums=0).lower(shape, jax.numpy.int32(1)).compile()
    init = jax.jit(functions.init)
    keys = jax.vmap(jax.random.key)(jax.numpy.zeros(1, jax.numpy.uint32))
    init.lower(keys).compile()
    gc.collect()
    before = resident("VmRSS:")
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # the peak starts anew
    state, _ = program(init(keys), jax.numpy.int32(20))
    assert int(state.learners.train.updates[0]) > 10
    # Pages of zeros that nobody has written to are not there yet: the shapes are.
    held = sum(leaf.nbytes for leaf in jax.tree.leaves(state))
    assert held == pytest.approx(expected.state, rel=1e-6)
    temporary = program.memory_analysis().temp_size_in_bytes
    # Nothing holds the rings twice; the compiler copies those of rewards and flags, 1 % of them.
    assert temporary < 0.1 * expected.state
    assert resident("VmHWM:") - before < 1.1 * expected.device + 64e6
