"""Runs of a validation: begun, stopped, gone on with, finished; with and without training."""

import json
import subprocess
import sys
import time

import pytest
from filelock import FileLock
from paper_runs import changed

from audits import cli
from audits.paper import session, terminal, training
from audits.paper.calibration import measured
from audits.paper.curve_log import read_records
from audits.paper.eligibility import damages
from audits.paper.errors import PaperError
from audits.paper.files import CURVE, FINISHED, PROGRESS, SESSIONS, Record, read_lines, read_run
from audits.paper.jobs import JobRecord, write_job
from audits.paper.registry import off_protocol, registered
from audits.paper.status import RunStatus, status_of

SPEC = off_protocol("smoke")["smoke-dreamerv3"]
FOLDER = SPEC.name


class Killed(BaseException):
    """What stands for SIGKILL: nothing of ours handles it."""


def log_line(spec, rows, seed):
    return {
        "rows": rows,
        "seed": seed,
        "updates": rows // 3,
        "episode/return": -float(rows + seed),
        "episode/count": 4.0 * ((rows // 4 + 1) // 21 - (rows // 4 - 59) // 21),
        "episode/length": 20.0,
        "time/rows_per_second": 50.0,
    }


def fake_training(*, until=None, half_a_line=False):
    """A training that logs and saves as the core does, and may be killed after some rows."""

    def train(spec, folder, observe, *, save_every=900.0):
        log, checkpoints = folder / training.LOG, folder / training.CHECKPOINTS
        begin = training.newest_checkpoint(folder)
        lines = log.read_bytes().split(b"\n")[:-1] if log.exists() else []
        kept = [line for line in lines if json.loads(line)["rows"] <= begin]
        log.write_bytes(b"".join(line + b"\n" for line in kept))
        for rows in range(begin + 240, spec.progress(spec.budget) + 1, 240):
            if until is not None and rows > until:
                if half_a_line:
                    with log.open("a") as file:
                        file.write('{"rows": ')
                raise Killed
            with log.open("a") as file:
                for seed in spec.seeds:
                    file.write(json.dumps(log_line(spec, rows, seed)) + "\n")
            observe(rows)
            if rows % 480 == 0:
                (checkpoints / str(rows)).mkdir(parents=True)
        return "digest"

    return train


@pytest.fixture
def trained(monkeypatch):
    def use(**how):
        monkeypatch.setattr(training, "train", fake_training(**how))

    monkeypatch.setattr(session, "_BEAT", 0.0)
    use()
    return use


def killed(out, spec=SPEC):
    with pytest.raises(Killed):
        session.work(spec, out)


def test_a_run_from_beginning_to_end(trained, tmp_path):
    assert session.work(SPEC, tmp_path)
    run = read_run(tmp_path / FOLDER)
    assert [r.env_steps for r in run.records] == [480, 960, 1440, 1920, 2400]
    assert run.records[0].values == [-240.0, -241.0]
    assert run.records[1].seconds == 4.8
    assert not damages(run)
    assert run.finished["env_steps"] == 2400
    assert not (run.folder / training.CHECKPOINTS).exists()
    before = {path.name: path.read_bytes() for path in run.folder.iterdir() if path.is_file()}
    trained(until=0)
    assert not session.work(SPEC, tmp_path)  # what is finished is left alone
    assert before == {p.name: p.read_bytes() for p in run.folder.iterdir() if p.is_file()}


def test_a_killed_run_goes_on_from_its_last_checkpoint_to_the_same_records(trained, tmp_path):
    whole, out = tmp_path / "whole", tmp_path / "killed"
    session.work(SPEC, whole)
    trained(until=960, half_a_line=True)
    killed(out)
    assert len(read_lines(out / FOLDER / CURVE, Record)) == 4
    assert (out / FOLDER / training.LOG).read_bytes().endswith(b'{"rows": ')
    trained(until=720)
    (out / FOLDER / training.CHECKPOINTS / "960").rmdir()  # killed before it was saved
    killed(out)
    # The records after the checkpoint are dropped, and made again.
    assert [r.env_steps for r in read_lines(out / FOLDER / CURVE, Record)] == [480, 960, 1440]
    trained()
    session.work(SPEC, out)
    names = (CURVE, FINISHED)
    assert [(out / FOLDER / n).read_bytes() for n in names] == [
        (whole / FOLDER / n).read_bytes() for n in names
    ]
    run = read_run(out / FOLDER)
    assert [s.begin for s in run.sessions] == [0, 480, 480]
    assert [s.begin for s in run.contributors] == [0, 480]


def test_another_specification_is_refused_and_says_how_it_differs(trained, tmp_path, monkeypatch):
    trained(until=480)
    killed(tmp_path)
    with pytest.raises(PaperError, match=r"another specification \(budget is 2400, not 4800"):
        session.work(changed(SPEC, budget=4800), tmp_path)
    with pytest.raises(PaperError, match=r"seeds is \(0, 1\), not \(0, 2\)"):
        session.work(SPEC.with_seeds((0, 2)), tmp_path)
    other = session.resolved(SPEC) | {"lam": 0.5}
    monkeypatch.setattr(session, "resolved", lambda spec: other)
    with pytest.raises(PaperError, match=r"agent\.lam is 0\.95, not 0\.5"):
        session.work(SPEC, tmp_path)


def test_two_processes_do_not_share_a_run(trained, tmp_path):
    (tmp_path / FOLDER).mkdir()
    with (
        FileLock(tmp_path / FOLDER / ".session"),
        pytest.raises(PaperError, match="another process works on"),
    ):
        session.work(SPEC, tmp_path)
    assert not (tmp_path / FOLDER / SESSIONS).exists()


def test_an_agent_without_training_is_refused_by_name(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(training, "offered", lambda agent: agent != "tdmpc2")
    words = ["paper", "run", "tdmpc2-walker-walk", "--out", str(tmp_path)]
    assert cli.main(words) == cli.COULD_NOT_RUN
    assert "the core does not train tdmpc2" in capsys.readouterr().err


def test_a_record_is_there_when_all_seeds_have_it(tmp_path):
    log = tmp_path / "metrics.jsonl"
    lines = [json.dumps(log_line(SPEC, rows, s)) for rows in (240, 480) for s in SPEC.seeds]
    log.write_text("\n".join(lines[:3]) + "\n")
    assert [r.progress for r in read_records(SPEC, log)] == [240]
    log.write_text("\n".join(lines) + "\n")
    assert [r.progress for r in read_records(SPEC, log)] == [240, 480]
    log.write_text(lines[0] + "\nnonsense\n")
    with pytest.raises(PaperError, match="is damaged in line 2"):
        read_records(SPEC, log)


@pytest.mark.parametrize("line", ["[]", '{"seed": 0}', '{"rows": 240}', '{"rows": "x", "seed": 0}'])
def test_a_line_that_is_none_of_a_log_is_told(line, tmp_path):
    log = tmp_path / "metrics.jsonl"
    log.write_text(f"{line}\n")
    with pytest.raises(PaperError, match="is damaged in line 1"):
        read_records(SPEC, log)


def test_a_log_that_has_lost_a_record_ends_the_run_when_that_is_seen(trained, tmp_path):
    trained(until=480)
    killed(tmp_path)
    log = tmp_path / FOLDER / training.LOG
    log.write_text("".join(log.read_text().splitlines(keepends=True)[1:]))
    trained()
    with pytest.raises(PaperError, match=r"lost what it had of the record at 480 env steps"):
        session.work(SPEC, tmp_path)
    assert [r.env_steps for r in read_lines(tmp_path / FOLDER / CURVE, Record)] == [960, 1440]


def test_an_evaluations_record_is_of_its_episodes(tmp_path):
    spec = changed(SPEC, metric="evaluation", eval_episodes=3)
    log = tmp_path / "metrics.jsonl"
    evaluation = {"eval/return": 2.0, "eval/returns": [1.0, 2.0, 3.0], "eval/length": 20.0}
    lines = [log_line(spec, 240, s) | evaluation for s in spec.seeds]
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    record = read_records(spec, log)[0]
    assert (record.values, record.episodes, record.lengths) == ([2.0] * 2, [3] * 2, [20.0] * 2)


def test_the_state_of_a_run(trained, tmp_path, capsys):
    assert status_of(SPEC, tmp_path).state == "not started"
    trained(until=1000)
    killed(tmp_path)
    found = status_of(SPEC, tmp_path)
    assert (found.state, found.env_steps, found.budget) == ("running", 1920, 2400)
    beat = tmp_path / FOLDER / PROGRESS
    about = json.loads(beat.read_bytes()) | {"at": time.time() - 3600, "env_steps_per_second": 4.0}
    beat.write_text(json.dumps(about))
    found = status_of(SPEC, tmp_path)
    assert (found.state, found.left) == ("stopped", 120.0)
    assert found.score == pytest.approx(-960.5)
    words = ["paper", "status", FOLDER, "--smoke", "--out", str(tmp_path)]
    assert cli.main(words) == cli.SAME
    told = capsys.readouterr().out
    assert "80%" in told
    assert "2 min" in told
    assert "0 of 1 finished" in told
    trained()
    session.work(SPEC, tmp_path)
    assert status_of(SPEC, tmp_path).state == "finished"
    (tmp_path / FOLDER / CURVE).write_text("{}\n")
    found = status_of(SPEC, tmp_path)
    assert found.state == "damaged"
    assert "curve.jsonl is damaged" in found.remark


def test_what_can_not_be_read_of_a_run_does_not_keep_the_others_from_being_shown(trained, tmp_path):
    trained(until=1000)
    killed(tmp_path)
    folder = tmp_path / FOLDER

    def silent(job):
        raise PaperError("no squeue on PATH")

    write_job(folder, JobRecord("slurm", "77", "2026-01-01T00:00:00+00:00", 1, 1, 0))
    assert status_of(SPEC, tmp_path, silent).remark == "no squeue on PATH"
    for content in ('{"at": "x"}', '{"env_steps": null}', '{"host": 3}', "[1]", "\xff"):
        (folder / PROGRESS).write_bytes(content.encode("latin-1"))
        found = status_of(SPEC, tmp_path)
        assert (found.state, found.env_steps) == ("stopped", 1920)
    (folder / FINISHED).write_text("{}")
    assert status_of(SPEC, tmp_path, silent).remark == ""


def test_a_run_whose_process_is_gone_from_this_machine_is_not_running(trained, tmp_path):
    trained(until=1000)
    killed(tmp_path)
    assert status_of(SPEC, tmp_path).state == "running"
    beat = tmp_path / FOLDER / PROGRESS
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        gone = json.loads(beat.read_bytes()) | {"pid": child.pid}
    beat.write_text(json.dumps(gone))
    assert status_of(SPEC, tmp_path).state == "stopped"
    beat.write_text(json.dumps(gone | {"host": "another"}))
    assert status_of(SPEC, tmp_path).state == "running"


def test_a_clock_that_was_ahead_does_not_keep_a_run_running(trained, tmp_path):
    trained(until=1000)
    killed(tmp_path)
    beat = tmp_path / FOLDER / PROGRESS
    beat.write_text(json.dumps(json.loads(beat.read_bytes()) | {"at": time.time() + 86_400.0}))
    assert status_of(SPEC, tmp_path).state == "stopped"


def test_nobody_says_when_a_run_ends_whose_pace_is_not_known(capsys):
    begun = RunStatus("a", "running", 0, 100, 1)
    terminal.show_status([begun])
    assert (
        "0 of 1 finished, 1 running; 0 of 100 environment steps (0%)\n" in capsys.readouterr().out
    )
    terminal.show_status([changed(begun, left=120.0)])
    assert "; the slowest running one ends in 2 min\n" in capsys.readouterr().out


@pytest.mark.parametrize("seconds", ["nan", "-5"])
def test_no_time_between_checkpoints_is_one_sentence(seconds, tmp_path, capsys):
    words = ["paper", "run", FOLDER, "--smoke", "--out", str(tmp_path), "--save-every", seconds]
    assert cli.main(words) == cli.COULD_NOT_RUN
    said = capsys.readouterr().err
    assert "save_every must be a finite number from 0" in said
    assert "Traceback" not in said


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan"), float("inf")])
def test_a_time_in_which_nothing_is_measured_is_refused(seconds):
    with pytest.raises(PaperError, match="--seconds: expected a finite number above 0"):
        measured("a", (0,), None, None, ticks=1, evaluations=0, seconds=seconds)


def test_the_planners_runs_are_what_the_core_is_told(tmp_path):
    config = training.run_config(registered()["tdmpc2-humanoid-run"], tmp_path)
    assert (config.train.steps, config.train.n_envs, config.train.log_every) == (
        7_000_000,
        1,
        50_000,
    )
    assert (config.eval_every, config.train.eval_episodes) == (50_000, 10)
    assert (config.train.agent.latent_dim, config.train.updates_per_step) == (512, 1.0)
    assert config.seeds == (0, 1, 2)


def test_the_protocols_runs_are_what_the_core_is_told(tmp_path):
    config = training.run_config(registered()["dreamerv3-ball_in_cup_catch"], tmp_path)
    assert (config.train.steps, config.train.ticks, config.train.log_every) == (
        250_000,
        15_625,
        10_000,
    )
    assert config.train.ring_rows * 16 == 250_000  # the ring for the whole run: nothing grows
    assert (config.action_repeat, config.time_limit, config.seeds) == (2, 1000, (0, 1, 2, 3, 4))
    assert config.train.agent.train_ratio == 512.0
    assert int(config.train.updates_after(config.train.ticks)) == 124_481
