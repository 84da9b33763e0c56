"""Jobs of a launcher: one for each run, again until it is finished, and no more than needed."""

import datetime
import os
import subprocess
import sys

import pytest
from paper_runs import changed

from audits import cli
from audits.paper import cluster_command, queues, training
from audits.paper.errors import PaperError
from audits.paper.estimate import Estimate, Memory
from audits.paper.files import FINISHED
from audits.paper.jobs import JobRecord, read_job, write_job
from audits.paper.registry import off_protocol, registered
from audits.paper.submission import Resources, SubmititLauncher
from audits.paper.supervision import Supervisor

SPEC = off_protocol("smoke")["smoke-dreamerv3"]
SPECS = [SPEC, changed(SPEC, name="smoke-b"), changed(SPEC, name="smoke-c")]


class ScriptedLauncher:
    """Jobs that have done, when they are looked at, what a script says for their run.

    A script is a list, one item a job: rows that it saves, or "end".
    """

    name = "local"

    def __init__(self, out, scripts):
        self.out, self.scripts = out, {name: list(items) for name, items in scripts.items()}
        self.submitted, self.gpus, self.most = [], [], 0
        self._living = {}

    def submit(self, job, resources, gpus):
        number = str(len(self.submitted) + 1)
        self.submitted.append(job.spec.name)
        self._living[number] = job.spec.name
        self.gpus.append(gpus)
        self.most = max(self.most, len(self._living))
        return number

    def alive(self, record):
        name = self._living.pop(record.job, None)
        if name is not None:
            what = self.scripts[name].pop(0)
            folder = self.out / name
            if what == "end":
                (folder / FINISHED).write_text("{}")
            elif what:
                (folder / training.CHECKPOINTS / str(what)).mkdir(parents=True)
        return False


def supervised(out, scripts, *, together=0, wait=True):
    launcher = ScriptedLauncher(out, scripts)
    specs = [spec for spec in SPECS if spec.name in scripts]
    asked = {spec.name: Resources(1, 1, 1, 1.0) for spec in specs}
    lines = []
    supervisor = Supervisor(out, launcher, asked, 900.0, together, lines.append)
    return supervisor.supervise(specs, poll=0.0, wait=wait), launcher, lines


def test_a_run_whose_job_ends_early_gets_another(tmp_path):
    scripts = {SPEC.name: [240, 480, "end"], "smoke-b": ["end"]}
    given_up, launcher, lines = supervised(tmp_path, scripts)
    assert given_up == []
    assert sorted(launcher.submitted) == ["smoke-b", *[SPEC.name] * 3]
    assert f"{SPEC.name}: job 3, from 240 rows" in lines
    assert (read_job(tmp_path / SPEC.name).attempts, lines[-1]) == (3, f"{SPEC.name}: finished")


def test_a_run_that_comes_no_further_is_given_up_and_the_others_go_on(tmp_path):
    scripts = {SPEC.name: [240, 0, 0, 0], "smoke-b": [240, 480, 720, 960, 1200, "end"]}
    given_up, launcher, lines = supervised(tmp_path, scripts)
    assert given_up == [SPEC.name]
    assert launcher.submitted.count(SPEC.name) == 4
    assert (tmp_path / "smoke-b" / FINISHED).exists()
    assert any("3 jobs came no further" in line for line in lines)
    # The third of them came further: that is enough.
    given_up, launcher, _ = supervised(tmp_path / "b", {SPEC.name: [0, 0, 240, "end"]})
    assert (given_up, len(launcher.submitted)) == ([], 4)
    # Who asks again gets the same number of tries.
    given_up, launcher, _ = supervised(tmp_path, {SPEC.name: [0, 0, 0]})
    assert (given_up, len(launcher.submitted)) == ([SPEC.name], 3)


def test_a_queue_that_does_not_answer_for_a_while_is_asked_again(tmp_path, monkeypatch):
    calls, alive, submit = [], ScriptedLauncher.alive, ScriptedLauncher.submit

    def silent(method):
        def call(self, *arguments):
            calls.append(method.__name__)
            if calls.count(method.__name__) == 2:
                raise PaperError("no answer")
            return method(self, *arguments)

        return call

    monkeypatch.setattr(ScriptedLauncher, "alive", silent(alive))
    monkeypatch.setattr(ScriptedLauncher, "submit", silent(submit))
    given_up, launcher, lines = supervised(tmp_path, {SPEC.name: [240, 480, "end"]})
    assert given_up == []
    assert len(launcher.submitted) == 3
    assert [line for line in lines if "no answer" in line] == [
        "no answer; it is tried again",
        f"{SPEC.name}: no answer",
    ]


def test_no_more_jobs_at_a_time_than_wanted(tmp_path):
    scripts = {spec.name: [240, "end"] for spec in SPECS}
    _, launcher, _ = supervised(tmp_path, scripts, together=1)
    assert (launcher.most, len(launcher.submitted)) == (1, 6)
    assert launcher.gpus == [(0,)] * 6


def test_jobs_side_by_side_on_one_machine_have_gpus_of_their_own(tmp_path):
    scripts = {spec.name: [] for spec in SPECS}
    _, launcher, _ = supervised(tmp_path, scripts, together=2, wait=False)
    assert launcher.gpus == [(0,), (1,)]


def test_finished_runs_get_no_job_and_jobs_at_work_are_left_alone(tmp_path, monkeypatch):
    for spec in SPECS[:2]:
        (tmp_path / spec.name).mkdir()
    (tmp_path / SPEC.name / FINISHED).write_text("{}")
    write_job(tmp_path / "smoke-b", JobRecord("local", "77", "t", 1, 1, 0))
    monkeypatch.setattr(ScriptedLauncher, "alive", lambda self, record: record.job == "77")
    scripts = {SPEC.name: [], "smoke-b": [], "smoke-c": []}
    _, launcher, lines = supervised(tmp_path, scripts, wait=False)
    assert launcher.submitted == ["smoke-c"]
    assert "smoke-b: job 77 is at work on it" in lines


def test_a_folder_of_another_run_stops_everything_before_a_job_is_submitted(tmp_path):
    from audits.paper.files import write_run_file

    write_run_file(tmp_path / "smoke-b", changed(SPECS[1], budget=480), {})
    with pytest.raises(PaperError, match="another specification"):
        supervised(tmp_path, {SPEC.name: ["end"], "smoke-b": ["end"]})
    assert read_job(tmp_path / SPEC.name) is None


@pytest.fixture
def squeue(tmp_path, monkeypatch):
    """A stand-in for Slurm's queue, which says what it is told to."""

    def says(output="", error="", status=0):
        program = tmp_path / "squeue"
        program.write_text(f"#!/bin/sh\necho '{output}'\necho '{error}' >&2\nexit {status}\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")

    return says


def test_what_the_queue_says_of_a_job(squeue, monkeypatch, tmp_path):
    record = JobRecord("slurm", "12", "t", 1, 1, 0)
    for state in ("PENDING", "RUNNING", "COMPLETING", "REQUEUED", "SUSPENDED"):
        squeue(state)
        assert queues.alive(record)
    for state in ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", ""):
        squeue(state)
        assert not queues.alive(record)
    squeue(error="slurm_load_jobs error: Invalid job id specified", status=1)
    assert not queues.alive(record)
    # A controller that does not answer is no sign that a job has ended.
    squeue(error="slurm_load_jobs error: Unable to contact slurm controller", status=1)
    with pytest.raises(PaperError, match="Unable to contact slurm controller"):
        queues.alive(record)
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    with pytest.raises(PaperError, match="no squeue on PATH"):
        queues.alive(record)


def test_a_process_of_this_machine_is_alive_until_it_ends():
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        now = datetime.datetime.now(datetime.UTC)
        record = JobRecord("local", str(process.pid), now.isoformat(timespec="seconds"), 1, 1, 0)
        assert queues.alive(record)
        # Another process has its number by now: that of the job was there before it.
        then = (now - datetime.timedelta(hours=1)).isoformat(timespec="seconds")
        assert not queues.alive(changed(record, submitted=then))
        process.kill()
        process.wait()
        assert not queues.alive(record)
    for number in ("abc", "-5"):
        assert not queues.alive(changed(record, job=number))


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--gpus", "-1"),
        ("--cpus", "0"),
        ("--hours", "0"),
        ("--hours", "nan"),
        ("--jobs", "-1"),
        ("--poll", "nan"),
        ("--save-every", "-1"),
    ],
)
def test_a_number_that_no_job_can_have_is_refused(option, value, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(cluster_command, "estimated", lambda spec, out: estimate())
    words = ["paper", "run", SPEC.name, "--smoke", "--dry-run", "--out", str(tmp_path)]
    assert cli.main([*words, option, value]) == cli.COULD_NOT_RUN
    assert f"audit: {option}: expected" in capsys.readouterr().err
    assert cli.main(words) == cli.SAME


def estimate(hours=None):
    class Measured:
        seconds = 3600 * (hours or 0)

    memory = Memory(2 * 10**9, 10**8, 0, 10**9, 5)
    return Estimate("x", memory, Measured() if hours else None)


@pytest.mark.parametrize(
    ("measured", "limit", "asked"),
    [(None, None, 24.0), (None, 8.0, 8.0), (10.0, None, 12.5), (10.0, 8.0, 8.0), (0.1, None, 1.0)],
)
def test_a_job_asks_for_what_the_estimate_says(measured, limit, asked, tmp_path, monkeypatch):
    monkeypatch.setattr(cluster_command, "estimated", lambda spec, out: estimate(measured))
    found = cluster_command.resources_of([SPEC], tmp_path, gpus=1, cpus=4, hours=limit)[SPEC.name]
    assert (found.hours, found.gpus, found.cpus) == (asked, 1, 4)
    assert found.memory == round(1.25 * (4 * 2**30 + 2 * 5 * 2.1e9))
    without = cluster_command.resources_of([SPEC], tmp_path, gpus=0, cpus=4, hours=limit)
    assert without[SPEC.name].memory > found.memory + 10e9


def test_a_dry_run_prints_the_jobs_and_submits_nothing(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(cluster_command, "estimated", lambda spec, out: estimate())
    monkeypatch.setattr(cluster_command, "SubmititLauncher", None)
    done = tmp_path / "dreamerv3-walker_run"
    done.mkdir()
    (done / FINISHED).write_text("{}")
    words = ["paper", "run", "dreamerv3", "--out", str(tmp_path), "--launcher", "slurm"]
    assert cli.main([*words, "--dry-run", "--hours", "6"]) == cli.SAME
    told = capsys.readouterr().out.splitlines()
    names = {line.split()[0] for line in told[1:]}
    assert names == {n for n in registered() if n.startswith("dreamerv3")} - {done.name}
    assert told[1].split()[1:6] == ["0", "1", "8", "30", "6.0"]
    assert [path.name for path in tmp_path.iterdir()] == [done.name]


def test_what_submitit_is_told(tmp_path):
    pytest.importorskip("submitit", reason="submitit is not installed")
    from audits.paper.job import RunJob

    launcher = SubmititLauncher("local", tmp_path / "jobs")
    job, asked = RunJob(SPEC, tmp_path, 900.0), Resources(1, 8, 25 * 10**9, 6.0)
    told = launcher.parameters(job, asked, (3,))
    assert (told["timeout_min"], told["mem_gb"], told["gpus_per_node"]) == (360, 24, 1)
    assert told["local_visible_gpus"] == [3]
    launcher.name, launcher._options = "slurm", {"partition": "gpu"}
    told = launcher.parameters(job, asked)
    assert told["slurm_additional_parameters"] == {"requeue": True, "partition": "gpu"}
    assert told["slurm_signal_delay_s"] == 300


def test_a_job_of_this_machine_that_fails_is_given_up_and_its_log_tells_why(tmp_path, monkeypatch):
    pytest.importorskip("submitit", reason="submitit is not installed")
    from audits.paper import supervision

    monkeypatch.setattr(supervision, "FRUITLESS", 1)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    spec = changed(SPEC, environment="Nowhere-v0")
    launcher = SubmititLauncher("local", tmp_path / "jobs")
    asked, lines = {spec.name: Resources(0, 1, 2**30, 1.0)}, []
    supervisor = Supervisor(tmp_path, launcher, asked, 900.0, 1, lines.append)
    assert supervisor.supervise([spec], poll=0.2) == [spec.name]
    record = read_job(tmp_path / spec.name)
    logs = (tmp_path / "jobs" / record.job).glob("*.err")
    assert "there is no environment 'Nowhere-v0'" in "".join(log.read_text() for log in logs)
    assert f"see {tmp_path / 'jobs' / record.job}" in lines[-1]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--sbatch", "partition"), "expected key=value"),
        (("--seeds", 1, 1), "--seeds: different numbers"),
    ],
)
def test_a_mistake_is_one_sentence(words, said, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(cluster_command, "estimated", lambda spec, out: estimate())
    command = ["paper", "run", SPEC.name, "--smoke", "--out", tmp_path, "--launcher", "local"]
    command += words
    assert cli.main([str(word) for word in command]) == cli.COULD_NOT_RUN
    assert said in capsys.readouterr().err


def test_memory_is_computed_once_for_a_run_and_a_core(tmp_path, monkeypatch):
    from audits.paper import estimate as module

    computed = []

    def count(spec):
        computed.append(spec.name)
        return Memory(1, 2, 3, 4, len(spec.seeds))

    monkeypatch.setattr(module, "memory", count)
    for spec in (SPEC, SPEC, SPECS[1], SPEC.with_seeds((0,)), SPEC.with_seeds((0,))):
        assert module.estimated(spec, tmp_path).memory.seeds == len(spec.seeds)
    assert computed == [SPEC.name, "smoke-b", SPEC.name]
    monkeypatch.setattr(module, "source_digest", lambda: "another core")
    module.estimated(SPECS[1], tmp_path)
    assert computed[3:] == ["smoke-b"]


def test_a_calibration_gives_the_time_of_the_whole_run(tmp_path):
    from audits.paper.calibration import Calibration, keep_calibration, read_calibration

    found = Calibration(SPEC.name, 2, "gpu X", 60.0, 0.5, 10.0, 1000, 5, 1, None)
    keep_calibration(found, tmp_path)
    assert read_calibration(SPEC, tmp_path).seconds == 60 + 500 + 50
    assert read_calibration(SPEC.with_seeds((0,)), tmp_path) is None  # of other seeds
    (tmp_path / "calibrations.json").write_text("[")
    assert read_calibration(SPEC, tmp_path) is None


def test_what_a_program_holds_beside_its_arguments_is_counted_by_hand():
    import jax
    import jax.numpy as jnp

    from audits.paper.liveness import temporary_bytes

    x = jax.ShapeDtypeStruct((1000,), jnp.float32)

    def chain(x):  # every result takes the place of the last
        return jnp.sin(jnp.cos(x))

    def both(x):  # the argument is needed to the end
        return jnp.sin(x) + x

    def outer(x):  # [1000, 1000] twice, before the sum
        grid = x[:, None] * x
        return (jnp.exp(grid) + grid).sum()

    def loop(x):  # a loop overwrites what it carries
        return jax.lax.fori_loop(0, 5, lambda i, y: jnp.sin(y), x)

    assert temporary_bytes(chain, x) == 0
    assert temporary_bytes(both, x) == 4_000
    assert temporary_bytes(outer, x) == pytest.approx(8_000_000, rel=0.01)
    assert temporary_bytes(loop, x) < 100
