"""Recorded runs: what is kept of a run, and that it names no folder of the machine."""

import json
from pathlib import Path

import msgspec
import pytest
from audit_runs import PLAN, write_run

import core
import reports
from audits.cartpole import documents, recordings, reference, session, table
from audits.cartpole.comparison import Summary
from audits.cartpole.errors import AuditError, NotRecordedError
from audits.cartpole.protocol import plan as make_plan
from audits.cartpole.session import Choices
from audits.run_files import CONFIGS, read_run
from reference_harness import installation


@pytest.fixture
def recorded(tmp_path, monkeypatch):
    """A folder of recordings, and a reference that is installed in /tree."""
    folder = tmp_path / "recorded"
    monkeypatch.setattr(reference, "_RECORDINGS", folder)

    class Installed:
        import_path = Path("/tree")

    monkeypatch.setattr(installation, "find", lambda pin: Installed())
    defaults = {"env.dmc.repeat": 2, "report": True, "logdir": "/dev/null"}

    def configuration(settings):
        return reference.Configuration({}, defaults)

    monkeypatch.setattr(recordings, "configuration", configuration)
    return folder


def change(path, **values):
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def test_a_recorded_run_is_the_run_without_this_machines_folders(recorded, tmp_path):
    folder = tmp_path / "out" / "reference" / "seed0"
    write_run(folder, "reference", 0)
    overrides = {"overrides": {"logdir": str(folder)}, "environment": {"JAX_PLATFORMS": "cpu"}}
    overrides["environment"]["JAX_COMPILATION_CACHE_DIR"] = "/somebody/compiled"
    change(folder / "run_args.json", **overrides)
    target = recordings.keep(PLAN, "reference", folder, 0)
    assert target == recorded / "smoke" / "reference" / "seed0"
    before, after = read_run(folder, "reference", 0), read_run(target, "reference", 0)
    assert (after.records, after.episodes, after.timing) == (
        before.records,
        before.episodes,
        before.timing,
    )
    assert after.args["imported"]["embodied"] == "dreamerv3-29eb964/embodied/__init__.py"
    assert after.args["overrides"] == {"logdir": "seed0"}
    assert after.args["environment"] == {"JAX_PLATFORMS": "cpu"}
    text = "".join(path.read_text() for path in target.iterdir())
    assert str(tmp_path) not in text
    assert "/tree" not in text


def test_of_the_reference_s_configuration_only_named_keys_are_kept(recorded, tmp_path):
    folder = tmp_path / "seed0"
    write_run(folder, "reference", 0)
    config = json.loads((folder / "config.yaml").read_text())
    config["report"] = False
    config["env"] = {"dmc": {"repeat": 2}}
    (folder / "config.yaml").write_text(json.dumps(config))
    run = read_run(recordings.keep(PLAN, "reference", folder, 0), "reference", 0)
    assert set(run.config) == table.named_keys()
    assert run.finished is not None
    # `report` departs, `env.dmc.repeat` does not.
    assert run.finished["strangers"] == "report is False, its default True"


def test_our_run_is_kept_with_places_within_the_project(recorded, tmp_path):
    folder = tmp_path / "seed0"
    write_run(folder, "ours", 0)
    own = Path(core.__file__).parent / "dreamerv3" / "agent.py"
    change(folder / "run_args.json", imported={"core.dreamerv3.agent": str(own)})
    target = recordings.keep(PLAN, "ours", folder, 0)
    kept = read_run(target, "ours", 0)
    assert kept.args["imported"] == {"core.dreamerv3.agent": "core/dreamerv3/agent.py"}
    assert kept.config == read_run(folder, "ours", 0).config
    assert (target / CONFIGS["ours"]).is_file()


def test_a_run_from_elsewhere_is_refused_and_nothing_is_left(recorded, tmp_path):
    folder = tmp_path / "seed0"
    write_run(folder, "reference", 0)
    change(folder / "run_args.json", imported={"embodied": "/other/tree/embodied/__init__.py"})
    with pytest.raises(AuditError, match=r"names /other/tree/embodied/__init__\.py"):
        recordings.keep(PLAN, "reference", folder, 0)
    assert [path for path in recorded.rglob("*") if path.is_file()] == []


def test_an_unfinished_run_is_refused(recorded, tmp_path):
    folder = tmp_path / "seed0"
    write_run(folder, "ours", 0)
    (folder / "finished.json").unlink()
    with pytest.raises(AuditError, match="holds no finished run"):
        recordings.keep(PLAN, "ours", folder, 0)


def test_a_seed_that_was_not_recorded_is_named(recorded, tmp_path):
    folder = tmp_path / "seed0"
    write_run(folder, "reference", 0)
    recordings.keep(PLAN, "reference", folder, 0)
    with pytest.raises(NotRecordedError, match=r"seed 1, 2 of reference .*\(recorded: 0\)"):
        reference.check_recorded(PLAN, "reference")


def test_no_recorded_run_in_the_package_names_an_absolute_folder():
    for path in reference._RECORDINGS.rglob("*"):
        if path.is_file():
            assert recordings._UNPUBLISHED.search(path.read_text()) is None, path


def test_the_published_comparison_is_that_of_the_recorded_runs(tmp_path):
    """Made with `audit cartpole --core recorded --out reports/cartpole`."""
    folder = Path(reports.__file__).parent / "cartpole"
    published = msgspec.json.decode((folder / documents.SUMMARY).read_bytes(), type=Summary)
    plan = make_plan(tuple(published.seeds))
    found = session.run(Choices(plan, tmp_path, "recorded", "recorded", False), str)
    same = ("windows", "curves", "provenance", "differences", "verdict")
    for name in same:
        assert getattr(found, name) == getattr(published, name)
    for ours, theirs in zip(found.statistics, published.statistics, strict=True):
        assert (ours.ours, ours.reference) == (theirs.ours, theirs.reference)
    assert documents.compare_document(published) == (folder / documents.COMPARE).read_text()
    table_document = documents.table_document(published.checks, plan)
    assert table_document == (folder / documents.TABLE).read_text()
