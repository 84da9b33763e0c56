"""The launcher of the reference's runs: what counts, what is started again, what is left."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from reference_harness import home, installation
from reference_harness.dreamerv3.training import launcher
from reference_harness.dreamerv3.training.attempts import Limits, Program
from reference_harness.dreamerv3.training.files import append_line, read_lines, write_json
from reference_harness.dreamerv3.training.launcher import run_seeds
from reference_harness.dreamerv3.training.overrides import FIXED, SIZES, override_set
from reference_harness.dreamerv3.training.reference import PIN, environment
from reference_harness.dreamerv3.training.runs import MARKER, RunFolder
from reference_harness.dreamerv3.training.settings import Settings, SettingsError, smoke
from reference_harness.errors import HarnessError
from reference_harness.pins import find_pin

if not hasattr(os, "sched_getaffinity"):
    pytest.skip("pinning to cores needs Linux", allow_module_level=True)

HERE = Path(__file__).with_name("training_operations")
TOY = Program("the toy", Path(sys.executable), HERE / "toy.py", environment=environment)
PATIENCE = 30.0  # on a busy machine too


def run(out, *seeds, behaviours=None, told=None, **options):
    out.mkdir(exist_ok=True)
    (out / "behaviours.json").write_text(json.dumps(behaviours or {}))
    runs = [smoke(seed, "tiny") for seed in seeds]
    report = [] if told is None else told
    return run_seeds(out, runs, options.pop("program", TOY), report=report.append, **options)


def finished(out, seed):
    return (out / f"seed{seed}" / MARKER).exists()


def attempts(out, seed):
    return [int(pid) for pid in (out / f"attempts{seed}").read_text().split()]


def wait_until(condition, what):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"{what} did not happen within {PATIENCE} s"
        time.sleep(0.02)


def gone(pid):
    with contextlib.suppress(psutil.NoSuchProcess):
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    return True


def test_a_run_that_ends_well_counts_and_is_kept(tmp_path):
    told = []
    assert run(tmp_path, 0, 1, told=told) == []
    assert finished(tmp_path, 0)
    assert finished(tmp_path, 1)
    assert "seed 0: 1,200 of 1,200 rows, 1,200 updates, evaluation 9.5, after 1 s" in told
    pids = attempts(tmp_path, 0)
    told.clear()
    assert run(tmp_path, 0, 1, told=told) == []
    assert attempts(tmp_path, 0) == pids
    assert told == [f"seed {seed}: already finished, kept" for seed in (0, 1)]


def test_a_finished_run_of_other_settings_is_not_taken_for_this_one(tmp_path):
    run(tmp_path, 0)
    with pytest.raises(HarnessError, match=r"other settings \(steps 1200 instead of 400\)"):
        run_seeds(tmp_path, [Settings(0, 400, 400, 2, "tiny")], TOY)
    assert finished(tmp_path, 0)


def test_what_an_interrupted_run_left_is_removed_first(tmp_path):
    left = tmp_path / "seed0" / "checkpoint.ckpt"
    left.parent.mkdir()
    left.write_text("the reference would resume from this")
    assert run(tmp_path, 0) == []
    assert finished(tmp_path, 0)
    assert not left.exists()


def test_a_run_that_raises_is_not_tried_again_and_says_why(tmp_path):
    (error,) = run(tmp_path, 0, 1, behaviours={"0": "raises"})
    assert "seed 0 of the toy failed on dreamerv3.train: ValueError: the loss is not" in str(error)
    assert str(tmp_path / "seed0.log") in str(error)
    assert not finished(tmp_path, 0)
    assert len(attempts(tmp_path, 0)) == 1
    assert finished(tmp_path, 1)  # the others go on
    assert run(tmp_path, 0) == []


def test_a_run_whose_process_dies_is_started_again(tmp_path):
    told = []
    assert run(tmp_path, 0, behaviours={"0": "dies once"}, told=told) == []
    assert len(attempts(tmp_path, 0)) == 2
    assert any("exit status 7" in line and "starting it again" in line for line in told)
    assert json.loads((tmp_path / "seed0" / MARKER).read_text())["attempt"] == 2


def test_a_run_that_always_dies_is_given_up_with_the_end_of_its_log(tmp_path):
    (error,) = run(tmp_path, 0, behaviours={"0": "dies"}, limits=Limits(attempts=3))
    assert len(attempts(tmp_path, 0)) == 3
    assert "exit status 7" in str(error)
    assert "the toy has begun" in str(error)


def test_a_run_without_a_sign_of_life_is_killed_and_started_again(tmp_path, monkeypatch):
    monkeypatch.setattr(launcher, "_SLICE", 0.05)
    told = []
    limits = Limits(stall_seconds=4.0)
    assert run(tmp_path, 0, behaviours={"0": "hangs once"}, told=told, limits=limits) == []
    assert any("gave no sign of life for 4 s and was killed" in line for line in told)
    first, second = attempts(tmp_path, 0)
    assert gone(first)
    assert first != second


def test_a_run_has_a_time_limit(tmp_path):
    limits = Limits(seconds=1.0)
    (error,) = run(tmp_path, 0, behaviours={"0": "hangs"}, limits=limits)
    assert "took longer than 1 s and was killed" in str(error)
    assert not finished(tmp_path, 0)


@pytest.mark.parametrize(
    ("lacking", "named"),
    [
        ("a record", r"3 records \(there are 2\)"),
        ("the flush", "timing.json of 1,200 rows and the flush step"),
        ("episodes.jsonl", "episodes.jsonl"),
        ("run_args.json", "run_args.json with these settings"),
    ],
)
def test_a_run_that_lacks_something_does_not_count(tmp_path, lacking, named):
    (error,) = run(tmp_path, 0, behaviours={"0": f"lacks {lacking}"})
    assert not finished(tmp_path, 0)
    with pytest.raises(HarnessError, match=f"but lacks {named}; see .*seed0.log"):
        raise error


def test_pinned_runs_have_a_core_and_a_thread_each(tmp_path):
    cores = sorted(os.sched_getaffinity(0))[:2]
    assert run(tmp_path, 0, 1, 2, cores=cores) == []
    seen = [json.loads((tmp_path / f"seed{s}" / "environment.json").read_text()) for s in (0, 1, 2)]
    assert {tuple(place["cores"]) for place in seen} <= {(core,) for core in cores}
    assert {place["threads"] for place in seen} == {"1"}
    assert {place["cores"][0] for place in seen[: len(cores)]} == set(cores)
    assert sorted(os.sched_getaffinity(0))[:2] == cores  # this process is not pinned
    run(tmp_path, 3)
    free = json.loads((tmp_path / "seed3" / "environment.json").read_text())
    assert (len(free["cores"]), free["threads"]) == (len(os.sched_getaffinity(0)), None)


def test_cores_that_are_not_there_are_refused(tmp_path):
    with pytest.raises(HarnessError, match="--cores 4096: name different cores out of"):
        run(tmp_path, 0, cores=[4096])


def test_compiled_programs_are_kept_apart_by_the_number_of_cores(monkeypatch, tmp_path):
    monkeypatch.setenv(home.HOME_VARIABLE, str(tmp_path))
    folders = {environment(n)["JAX_COMPILATION_CACHE_DIR"] for n in (1, 2)}
    assert len(folders) == 2
    assert all(folder.startswith(str(tmp_path / "compiled")) for folder in folders)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_stopped_launcher_leaves_no_process_and_nothing_half_counted(tmp_path, number):
    (tmp_path / "behaviours.json").write_text(json.dumps({"1": "hangs"}))
    owner = subprocess.Popen(
        [sys.executable, HERE / "owner.py", tmp_path, "0", "1", "2"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        wait_until((tmp_path / "attempts1").exists, "the second seed")
        wait_until(lambda: attempts(tmp_path, 1), "the second seed's process")
        (pid,) = attempts(tmp_path, 1)
        with pytest.raises(HarnessError, match="another process is running seed 1"):
            run(tmp_path, 1)
        os.kill(owner.pid, number)
        _, errors = owner.communicate(timeout=PATIENCE)
        wait_until(lambda: gone(pid), "the end of the seed's process")
    finally:
        owner.kill()
    kills = number == signal.SIGKILL
    assert owner.returncode == (-number if kills else 128 + number)
    assert errors == "" if kills else errors.startswith("stopped: finished seeds are kept")
    assert [finished(tmp_path, seed) for seed in (0, 1, 2)] == [True, False, False]
    before = attempts(tmp_path, 0)
    assert run(tmp_path, 0, 1, 2) == []
    assert attempts(tmp_path, 0) == before
    assert len(attempts(tmp_path, 1)) == 2


def test_the_command_names_what_is_wrong_with_its_arguments(tmp_path):
    def said(*arguments):
        command = [sys.executable, "-m", "reference_harness.dreamerv3.training", *arguments]
        variables = {**os.environ, home.HOME_VARIABLE: str(tmp_path / "nothing")}
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=variables)
        assert "Traceback" not in done.stderr
        return done.returncode, done.stderr

    out = ("--out", str(tmp_path / "out"))
    assert said(*out, "--steps", "1000") == (
        1,
        "error: a run ends with a record: 1000 rows are not a multiple of 2000\n",
    )
    assert "leave out --eval-episodes" in said(*out, "--smoke", "--eval-episodes", "3")[1]
    assert f"install it with `parity reference install {PIN}`" in said(*out)[1]
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"seed": -1}, "a seed lies in 0 to"),
        ({"record_every": 1_000}, "every 1000 rows is not a multiple"),
        ({"steps": 20_016}, "20016 rows are not a multiple of 2000"),
        ({"eval_episodes": 0}, "at least 1 episode"),
    ],
)
def test_settings_that_no_run_can_have_are_refused(changed, complaint):
    with pytest.raises(SettingsError, match=complaint):
        Settings(**changed)


def test_updates_are_those_of_the_gate_and_the_ratio():
    full = Settings()
    assert [smoke(0, "1m").updates_at(rows) for rows in (400, 800, 1_200)] == [0, 0, 81]
    assert [full.updates_at(rows) for rows in (1_039, 1_040, 1_041, 1_042)] == [0, 1, 1, 2]
    assert full.updates_at(2_000) == 481
    assert full.updates_at(20_000) == 9_481
    assert full.records == list(range(2_000, 20_001, 2_000))


def test_the_override_set_says_everything_once():
    entries = [*FIXED, *SIZES["1m"]]
    assert len({entry.key for entry in entries}) == len(entries)
    made = override_set(Settings(seed=2), "/runs/{odd}")
    assert made["logdir"].format(timestamp="now") == "/runs/{odd}"
    assert (made["seed"], made["run.steps"]) == (2, 20_000)
    assert len(made) == len(entries) + 3


def test_files_hold_no_half_line_and_no_nan(tmp_path):
    path = tmp_path / "lines.jsonl"
    append_line(path, {"a": float("nan"), "b": [1.5, float("inf")]})
    with path.open("a") as file:
        file.write('{"half": ')
    assert read_lines(path) == [{"a": None, "b": [1.5, None]}]
    write_json(tmp_path / "value.json", {"a": float("nan")})
    assert json.loads((tmp_path / "value.json").read_text()) == {"a": None}
    assert sorted(p.name for p in tmp_path.iterdir()) == ["lines.jsonl", "value.json"]


def test_an_empty_folder_is_not_a_run(tmp_path):
    folder = RunFolder(tmp_path, smoke(0, "tiny"))
    assert not folder.is_finished()
    assert len(folder.missing()) == 6
    with pytest.raises(HarnessError, match="lacks"):
        folder.mark_finished()


@pytest.fixture
def installed():
    if installation.find(find_pin(PIN)) is None:
        pytest.skip(f"{PIN} is not installed")
