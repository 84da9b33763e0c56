"""The CartPole comparison on made-up runs: what passes, and what each damage breaks."""

import json
import shutil

import msgspec
import pytest
from audit_runs import METRICS, PLAN, write_runs

from audits.cartpole import stated, table
from audits.cartpole.check import Outcome, failed
from audits.cartpole.comparison import compare
from audits.cartpole.differences import DIFFERENCES
from audits.cartpole.documents import compare_document, write_all
from audits.cartpole.learning import s2
from audits.cartpole.metrics import Window
from audits.cartpole.protocol import WIDTHS
from audits.run_files import CONFIGS, Episode, RunFileError, read_run
from audits.statistics.equivalence import Verdict
from reference_harness.dreamerv3.training import overrides


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    root = tmp_path_factory.mktemp("runs") / "out"
    write_runs(root)
    return root


@pytest.fixture
def root(original, tmp_path):
    return shutil.copytree(original, tmp_path / "out")


def compared(root):
    runs = {
        side: [read_run(root / side / f"seed{seed}", side, seed) for seed in PLAN.seeds]
        for side in table.SIDES
    }
    return compare(PLAN, runs["ours"], runs["reference"], dict.fromkeys(table.SIDES, "live"))


def change_json(path, change):
    value = json.loads(path.read_text())
    change(value)
    path.write_text(json.dumps(value))


def change_line(path, number, **values):
    lines = path.read_text().splitlines()
    lines[number] = json.dumps(json.loads(lines[number]) | values)
    path.write_text("\n".join(lines) + "\n")


def test_runs_as_they_should_be_pass_every_check_that_can_be_made(root):
    summary = compared(root)
    not_passed = {c.id: c.outcome for c in summary.checks if c.outcome is not Outcome.PASS}
    assert set(not_passed) == {"config/rest/reference", "config/defaults/reference"}
    assert set(not_passed.values()) == {Outcome.NOT_MEASURED}
    assert summary.verdict is Verdict.PASS


def test_every_row_of_the_table_that_names_a_key_is_a_check(root):
    ids = {check.id for check in compared(root).checks}
    for row in table.rows():
        for side in table.SIDES:
            named = row.ours if side == "ours" else row.reference
            assert (f"config/{row.row}/{side}" in ids) == bool(named)


TAMPERED = {
    "an update count": (
        lambda root: change_line(root / "reference/seed1/records.jsonl", -1, updates=80),
        {"updates/reference/seed1"},
    ),
    "our update count": (
        lambda root: change_line(root / "ours/seed0/records.jsonl", -1, updates=82),
        {"updates/ours/seed0"},
    ),
    "the rows of a record": (
        lambda root: change_line(root / "reference/seed0/records.jsonl", 0, rows=384),
        {"records/reference/seed0"},
    ),
    "an episode's length": (
        lambda root: change_line(root / "ours/seed2/episodes.jsonl", 4, length=8),
        {"episodes/ours/seed2"},
    ),
    "an episode's end": (
        lambda root: change_line(root / "reference/seed2/episodes.jsonl", 4, terminal=False),
        {"episodes/reference/seed2"},
    ),
    "an episode that is gone": (
        lambda root: drop_line(root / "reference/seed0/episodes.jsonl", 0),
        {"episodes/reference/seed0"},
    ),
    "S2 as it was logged": (
        lambda root: change_line(root / "ours/seed1/records.jsonl", -1, s2_logged=33.0),
        {"s2/ours/seed1"},
    ),
    "an evaluation's mean": (
        lambda root: change_line(root / "ours/seed1/records.jsonl", -1, eval_mean=499.0),
        {"evaluations/ours/seed1"},
    ),
    "an episode of an evaluation": (
        lambda root: change_line(root / "reference/seed1/records.jsonl", -1, eval_returns=[9.0]),
        {"evaluations/reference/seed1"},
    ),
    "a value of our configuration": (
        lambda root: change_config(root / "ours/seed0", "agent", "lam", 0.9),
        {"config/28/ours"},
    ),
    "a value of the reference's": (
        lambda root: change_config(root / "reference/seed2", "run", "train_ratio", 32.0),
        {"config/39/reference"},
    ),
    "a truth value for a number": (
        lambda root: change_config(root / "reference/seed2", "jax", "sync_every", True),
        {"config/48/reference"},
    ),
    "the flush step": (
        lambda root: change_json(
            root / "reference/seed0/timing.json", lambda value: value.pop("flush_episodes")
        ),
        {"flush/reference/seed0"},
    ),
    "what the flush step ended": (
        lambda root: change_json(
            root / "ours/seed0/timing.json", lambda value: value.update(flush_episodes=7)
        ),
        {"flush/ours/seed0"},
    ),
    "the rows at the end": (
        lambda root: change_json(root / "ours/seed0/timing.json", lambda v: v.update(rows=1184)),
        {"final/ours/seed0"},
    ),
    "a number of parameters": (
        lambda root: change_json(
            root / "ours/seed1/run_args.json", lambda v: v["parameters"].update(enc=101)
        ),
        {"parameters"},
    ),
    "where the code came from": (
        lambda root: change_json(
            root / "reference/seed1/run_args.json",
            lambda v: v["imported"].update(embodied="/other/embodied/__init__.py"),
        ),
        {"imported/reference/seed1"},
    ),
    "what the run was told": (
        lambda root: change_json(root / "ours/seed2/run_args.json", lambda v: v.update(size="1m")),
        {"arguments/ours/seed2"},
    ),
    "the mark of a finished run": (
        lambda root: (root / "reference/seed1/finished.json").unlink(),
        {"finished/reference/seed1"},
    ),
}


def drop_line(path, number):
    lines = path.read_text().splitlines()
    del lines[number]
    path.write_text("\n".join(lines) + "\n")


def change_config(folder, part, key, value):
    path = folder / CONFIGS[folder.parent.name]
    change_json(path, lambda config: config[part].update({key: value}))


@pytest.mark.parametrize("what", TAMPERED)
def test_damage_fails_exactly_the_check_that_is_about_it(root, what):
    damage, expected = TAMPERED[what]
    damage(root)
    summary = compared(root)
    assert {check.id for check in failed(summary.checks)} == expected
    assert summary.verdict is Verdict.FAIL
    assert all(check.found for check in failed(summary.checks))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("records.jsonl", b'{"side": "ref"}\n'),
        ("episodes.jsonl", b"\xff\xfe\n"),
        ("timing.json", b"[]"),
        ("run_args.json", b'{"seed": 0'),
        ("config.yaml", b"a: [1, 2"),
    ],
)
def test_a_damaged_file_is_named(root, name, text):
    path = root / "reference" / "seed0" / name
    path.write_bytes(text)
    with pytest.raises(RunFileError, match=f"{name} is damaged"):
        compared(root)


def test_a_run_that_is_not_there_is_named(root):
    shutil.rmtree(root / "ours" / "seed1")
    with pytest.raises(RunFileError, match="no run of ours, seed 1"):
        compared(root)


def test_metrics_that_part_are_counted_and_come_first(tmp_path):
    write_runs(tmp_path, scale=3.0)  # 1 to 2 becomes 3 to 6
    windows = compared(tmp_path).windows
    parted = {window.metric for window in windows.windows if window.overlap is False}
    assert parted >= set(METRICS)
    assert windows.compared == len(METRICS) + 2  # one window with updates; two derived metrics
    assert windows.parted == len(parted)
    assert list(windows.by_metric())[-1] == "state/retnorm_scale"  # which is 1 everywhere


def test_a_window_of_ours_without_a_mean_is_listed(root):
    path = root / "ours/seed1/records.jsonl"
    lines = path.read_text().splitlines()
    record = json.loads(lines[-1])
    record["train_raw"]["dyn_loss"] = None
    change_line(path, -1, train_raw=record["train_raw"])
    summary = compared(root)
    assert summary.windows.not_finite == ["dyn_loss at 1,200, seed 1"]
    assert not failed(summary.checks)


def test_s2_is_the_mean_over_environments_of_their_last_ten_episodes():
    episodes = [
        Episode(0, worker, row, 1, float(row), True) for worker in range(16) for row in range(1, 13)
    ]
    assert s2(episodes, rows=160) == pytest.approx(5.5)  # rows 1 to 10
    assert s2(episodes, rows=16 * 12) == pytest.approx(7.5)  # 3 to 12
    assert s2(episodes[12:], rows=160) != s2(episodes[12:], rows=160)  # one has none: NaN


def test_documents_are_a_function_of_the_runs(root, tmp_path):
    summary = compared(root)
    first = write_all(summary, PLAN, tmp_path / "a")
    second = write_all(compared(root), PLAN, tmp_path / "b")
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes()
    text = first[0].read_text()
    for check in summary.checks:
        assert f"| {check.id} |" in text
    assert json.loads(first[1].read_text())["verdict"] == "PASS"


def test_what_row_d22_states_of_whole_runs_stands_beside_what_they_show(root):
    summary = compared(root)
    assert "0.51" not in compare_document(summary)  # the runs are too short
    entropy = Window(stated.ENTROPY, stated.ROWS, [0.4, 0.5, 0.6], [0.6, 0.65, 0.7], True)
    windows = msgspec.structs.replace(summary.windows, windows=[entropy], compared=8, overlapping=6)
    text = compare_document(msgspec.structs.replace(summary, windows=windows))
    (line,) = (line for line in text.splitlines() if "0.51" in line)
    assert "0.65 (0.6 to 0.7) of the reference, 0.5 (0.4 to 0.6) of the core" in line
    assert "6 of 8 (75%), each side with its own" in text


def test_a_reports_first_lines_say_what_failed(root, tmp_path):
    change_line(root / "reference/seed1/records.jsonl", -1, updates=80)
    text = write_all(compared(root), PLAN, tmp_path / "a")[0].read_text()
    assert "**FAIL**: 1 of the checks failed." in text
    assert "- **FAIL** `updates/reference/seed1`" in text


def test_widths_are_those_that_the_reference_is_set_to():
    keys = {r".*\.units": "units", "dyn.rssm.hidden": "hidden"}
    keys |= {"dyn.rssm.deter": "deter", "dyn.rssm.classes": "classes"}
    for size, entries in overrides.SIZES.items():
        assert {keys[entry.key]: entry.value for entry in entries} == WIDTHS[size]
    assert set(WIDTHS) == set(overrides.SIZES)


def test_every_override_is_in_the_table_with_its_row():
    rows = {row.row: row for row in table.rows()}
    for entry in overrides.FIXED:
        assert entry.key in rows[entry.row].reference


def test_every_entry_that_a_difference_or_a_setting_names_is_registered():
    from deviations import ROWS
    from parity.agreements import AGREEMENTS

    known = {entry.id for entry in (*ROWS, *AGREEMENTS)}
    named = {probe for row in table.rows() for probe in row.probes}
    named |= {difference.probe for difference in DIFFERENCES} - {""}
    assert named <= known
