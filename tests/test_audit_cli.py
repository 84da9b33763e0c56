"""The `audit` command: what users type, and what they are told."""

import json
import shutil

import pytest
from audit_runs import PLAN, write_runs

from audits import cli
from audits.cartpole import comparison, reference


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    root = tmp_path_factory.mktemp("runs") / "out"
    write_runs(root)
    return root


@pytest.fixture
def out(original, tmp_path, monkeypatch):
    monkeypatch.setattr(reference, "is_installed", lambda: False)
    return shutil.copytree(original, tmp_path / "out")


def audit(*words):
    return cli.main(["cartpole", "--smoke", *map(str, words)])


def test_the_report_is_made_from_the_runs_that_are_there(out, capsys):
    assert audit("--seeds", 0, 1, 2, "--out", out, "--report-only") == cli.SAME
    told = capsys.readouterr().out
    assert "PASS: all checks passed" in told
    names = {"compare.md", "summary.json", "curves.png", "config_table.md"}
    assert names <= {path.name for path in out.iterdir()}
    before = {name: (out / name).read_bytes() for name in names}
    assert audit("--out", out, "--report-only") == cli.SAME
    assert before == {name: (out / name).read_bytes() for name in names}


def test_a_failed_check_is_named_and_is_the_exit_status(out, capsys):
    timing = out / "reference/seed0/timing.json"
    timing.write_text(json.dumps(json.loads(timing.read_text()) | {"flush_episodes": None}))
    assert audit("--out", out, "--report-only") == cli.DIFFERS
    told = capsys.readouterr().out
    assert "FAIL flush/reference/seed0: timing.json has no flush_episodes" in told


def test_the_committed_schema_is_that_of_the_summary(out, capsys):
    assert cli.main(["schema"]) == cli.SAME
    schema = json.loads(capsys.readouterr().out)
    assert schema == json.loads(comparison.SCHEMA_PATH.read_text("utf-8")), (
        f"run: audit schema > {comparison.SCHEMA_PATH.name}"
    )
    assert audit("--out", out, "--report-only") == cli.SAME
    summary = json.loads((out / "summary.json").read_text())
    fields = schema["$defs"]["Summary"]
    assert set(fields["required"]) <= set(summary) <= set(fields["properties"])


def test_the_summary_as_json_is_all_that_is_printed(out, capsys):
    assert audit("--out", out, "--report-only", "--json") == cli.SAME
    summary = json.loads(capsys.readouterr().out)
    assert summary["verdict"] == "PASS"
    assert len(summary["curves"]) == 2 * len(PLAN.seeds)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--seeds", 1, 1), "different numbers"),
        (("--seeds", -1), "a seed lies in 0 to"),
        (("--devices", 0), "--devices: at least 1"),
        (("--report-only", "--seeds", 7), "seed 7 of reference was not recorded"),
        (("--reference", "live"), "is not installed"),
        (("--reference", "nowhere"), "nowhere"),
    ],
)
def test_a_mistake_is_one_sentence(words, said, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(reference, "is_installed", lambda: False)
    monkeypatch.setattr("audits.cartpole.session._train_ours", lambda *_: None)
    monkeypatch.setenv("WORLD_MODEL_PARITY_HOME", str(tmp_path / "home"))
    assert audit("--out", tmp_path / "out", *words) == cli.COULD_NOT_RUN
    captured = capsys.readouterr()
    assert said in captured.out + captured.err
    assert "Traceback" not in captured.err


def test_a_run_that_is_missing_is_named(out, capsys):
    shutil.rmtree(out / "ours" / "seed2")
    assert audit("--out", out, "--report-only") == cli.COULD_NOT_RUN
    assert "there is no run of ours, seed 2" in capsys.readouterr().err


def test_two_audits_do_not_share_a_folder(out, capsys):
    import filelock

    with filelock.FileLock(out / ".lock"):
        assert audit("--out", out, "--reference", "live") == cli.COULD_NOT_RUN
    assert "another audit is running" in capsys.readouterr().err
