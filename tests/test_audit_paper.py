"""Validation against the published curves, on made-up runs: the verdict, and what it is not."""

import json
import shutil

import numpy as np
import pytest
from paper_runs import changed, published, write_all, write_run

from audits import cli
from audits.paper import agents, documents, pictures
from audits.paper.acceptance import criteria
from audits.paper.eligibility import expected_episodes
from audits.paper.errors import PaperError
from audits.paper.files import CURVE, Session, read_run, write_lines
from audits.paper.judgement import Verdict
from audits.paper.registry import off_protocol, registered
from audits.paper.selection import select
from audits.paper.validation import validate
from audits.references import store

AGENT = "dreamerv3"
REGISTRY = {name: spec for name, spec in registered().items() if spec.agent == AGENT}
WALKER = REGISTRY["dreamerv3-walker_walk"]


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    root = tmp_path_factory.mktemp("paper") / "runs"
    write_all(root)
    return root


@pytest.fixture
def root(original, tmp_path):
    return shutil.copytree(original, tmp_path / "runs")


def judged(root, *chosen):
    return validate(root, chosen or (AGENT,))


def shifted(spec, by):
    mean = published(spec)
    return lambda seed, at: mean(at) + by


def reference_lowest(spec, window):
    return store.read(AGENT).task(spec.task).window(window).lowest


def test_runs_like_the_published_ones_pass_every_window(root):
    summary = judged(root, "dreamerv3", "tdmpc2")
    assert summary.verdict is Verdict.PASS
    assert [(w.passed, w.needed) for w in summary.windows] == [(18, 15)] * 2 + [(22, 18)] * 2
    assert not summary.off_protocol
    # Our records lie on every second bin of the published curves, and those differ by up to 80.
    for window in summary.windows:
        assert abs(window.aggregates[0].ours - window.aggregates[0].reference) < 20.0
        assert window.equivalence.verdict.value == "PASS"


def fail_by_tasks(root):
    """Four tasks fall below their bar in the last window; three may."""
    for spec in [s for s in REGISTRY.values() if reference_lowest(s, "around-450k") > 200][:4]:
        floor = reference_lowest(spec, "around-450k") - 51.0
        mean = published(spec)
        write_run(
            root / spec.name, spec, lambda s, at, m=mean, f=floor: m(at) if at <= 400_000 else f
        )


def test_one_failing_task_too_many_fails_the_window_and_no_other(root):
    fail_by_tasks(root)
    first, last = judged(root).windows
    assert (first.verdict, last.verdict) == (Verdict.PASS, Verdict.FAIL)
    assert (last.passed, last.needed) == (14, 15)
    spec = next(s for s in REGISTRY.values() if reference_lowest(s, "around-450k") > 200)
    write_run(root / spec.name, spec)
    assert judged(root).verdict is Verdict.PASS


def test_a_shortfall_of_all_tasks_fails_by_the_aggregate_though_every_task_passes(root):
    for spec in REGISTRY.values():
        low = {w.window: w for w in store.read(AGENT).task(spec.task).windows}
        first, last = low["around-250k"].lowest - 49.0, low["around-450k"].lowest - 49.0
        write_run(root / spec.name, spec, lambda s, at, a=first, b=last: a if at <= 300_000 else b)
    summary = judged(root)
    assert summary.verdict is Verdict.FAIL
    assert [w.passed for w in summary.windows] == [18, 18]
    assert all(a.passes is False for w in summary.windows for a in w.aggregates)


def test_a_task_that_is_exactly_at_its_bar_passes(root):
    windows = {name: store.read(AGENT).task(spec.task).windows for name, spec in REGISTRY.items()}
    for name, (first, last) in windows.items():
        bars = [max(0.0, window.lowest - 50.0) for window in (first, last)]
        write_run(root / name, REGISTRY[name], lambda s, at, b=bars: b[at > 300_000])
    found = judged(root).windows
    assert [w.passed for w in found] == [18, 18]
    above = [task.above for w in found for task in w.tasks if task.bar > 0.0]
    assert above == [0.0] * len(above)
    assert len(above) > 30


def test_the_mean_and_the_median_over_the_tasks_are_asked_for_apart(root):
    window = "around-450k"
    lowest = {n: max(0.0, reference_lowest(s, window) - 49.0) for n, s in REGISTRY.items()}
    middle = float(np.median(list(lowest.values())))
    # The lower half comes up to the middle: the mean is reached, and the median is not.
    write_values(root, {name: max(low, middle - 1.0) for name, low in lowest.items()})
    found = judged(root).windows[1]
    assert (found.passed, found.verdict) == (18, Verdict.FAIL)
    assert {a.name: a.passes for a in found.aggregates} == {"mean": True, "median": False}
    # The lower half falls, three of it to nothing: the other way round.
    tasks = {n: store.read(AGENT).task(s.task).window(window).mean for n, s in REGISTRY.items()}
    lower = sorted(tasks, key=lambda name: tasks[name])[:8]
    fallen = {name: lowest[name] for name in lower} | dict.fromkeys(lower[-3:], 0.0)
    write_values(root, tasks | fallen)
    found = judged(root).windows[1]
    assert (found.passed, found.verdict) == (15, Verdict.FAIL)
    assert {a.name: a.passes for a in found.aggregates} == {"mean": False, "median": True}


def write_values(root, values):
    for name, value in values.items():
        write_run(root / name, REGISTRY[name], lambda seed, at, v=value: v)


def test_being_better_never_fails(root):
    for spec in REGISTRY.values():
        write_run(root / spec.name, spec, shifted(spec, 200.0))
    summary = judged(root)
    assert summary.verdict is Verdict.PASS
    assert {w.equivalence.verdict.value for w in summary.windows} == {"FAIL"}


def test_a_window_that_a_run_has_not_reached_is_incomplete(root):
    write_run(root / WALKER.name, WALKER, until=480_000)
    first, last = judged(root).windows
    assert (first.verdict, last.verdict) == (Verdict.PASS, Verdict.INCOMPLETE)
    assert [t.why for t in last.tasks if t.why] == ["at 480,000 of 500,000 environment steps"]
    assert last.aggregates[0].ours is None


def test_a_failing_window_outweighs_an_incomplete_one(root):
    fail_by_tasks(root)
    shutil.rmtree(root / "tdmpc2-walker-walk")
    summary = judged(root, "dreamerv3", "tdmpc2")
    assert summary.verdict is Verdict.FAIL
    assert summary.windows[2].verdict is Verdict.INCOMPLETE


OFF_PROTOCOL = {
    "another ratio": (
        lambda root: write_run(
            root / WALKER.name,
            changed(WALKER, settings=WALKER.settings | {"train_ratio": 1024.0}),
        ),
        "settings.train_ratio is 1024.0, not 512.0",
    ),
    "a longer budget": (
        lambda root: write_run(root / WALKER.name, changed(WALKER, budget=600_000)),
        "budget is 600000, not 500000",
    ),
    "chosen seeds": (
        lambda root: write_run(root / WALKER.name, WALKER.with_seeds((1, 2, 4))),
        "seeds is (1, 2, 4), not (0, 1, 2, 3, 4)",
    ),
    "another environment": (
        lambda root: write_run(root / WALKER.name, changed(WALKER, environment="WalkerStand")),
        "environment is 'WalkerStand', not 'WalkerWalk'",
    ),
    "a default of the agent": (
        lambda root: write_run(root / WALKER.name, WALKER, agent={"lam": 0.9}),
        "agent.lam is 0.9, not 0.95",
    ),
    "an episode that ended early": (
        lambda root: change_record(root, 19, episodes=[16, 17, 16, 16, 16]),
        "at 400,000 environment steps, seed 1 has 17 episodes of 500.0 actions, not 16 of 500",
    ),
    "episodes of another length": (
        lambda root: change_record(root, 19, lengths=[500.0, 499.5, 500.0, 500.0, 500.0]),
        "at 400,000 environment steps, seed 1 has 16 episodes of 499.5 actions, not 16 of 500",
    ),
    "a record that is gone": (
        lambda root: drop_record(root, 11),
        "the record at 260,000 environment steps is not where one should be",
    ),
    "a damaged file": (
        lambda root: (root / WALKER.name / CURVE).write_bytes(b"{}\n"),
        "curve.jsonl is damaged (line 1",
    ),
}


def change_record(root, number, **values):
    run = read_run(root / WALKER.name)
    run.records[number] = changed(run.records[number], **values)
    write_lines(run.folder / CURVE, run.records)


def drop_record(root, number):
    run = read_run(root / WALKER.name)
    del run.records[number]
    write_lines(run.folder / CURVE, run.records)


@pytest.mark.parametrize("case", OFF_PROTOCOL)
def test_a_run_off_protocol_is_told_and_never_judged(case, root):
    change, said = OFF_PROTOCOL[case]
    change(root)
    summary = judged(root)
    assert [off.run for off in summary.off_protocol] == [WALKER.name]
    assert said in "; ".join(summary.off_protocol[0].why)
    assert summary.verdict is Verdict.INCOMPLETE
    assert all(w.judged == 17 for w in summary.windows)


def test_a_return_that_is_no_number_is_not_a_return_of_zero(root):
    """Zero would pass where the bar lies below it, as that of this task does."""
    spec = REGISTRY["dreamerv3-hopper_hop"]
    assert reference_lowest(spec, "around-250k") - criteria().tolerance < 0.0
    write_run(root / spec.name, spec, lambda seed, at: None if seed == 2 and at > 200_000 else 20.0)
    summary = judged(root)
    assert summary.off_protocol[0].why[0] == (
        "at 220,000 environment steps, seed 2 has a return that is not finite"
    )
    assert {w.verdict for w in summary.windows} == {Verdict.INCOMPLETE}


@pytest.mark.parametrize("value", [-1.0, 1001.0, 1e308])
def test_a_return_that_no_episode_can_have_is_not_judged(root, value):
    change_record(root, 24, values=[value, 1000.0 * (1 + 1e-6), 0.0, 0.0, 0.0])
    assert judged(root).off_protocol[0].why[0] == (
        f"at 500,000 environment steps, seed 0 has a return of {value:g}, not from 0 to 1000"
    )
    assert len(judged(root).off_protocol[0].why) == 1


def test_a_run_off_protocol_is_shown_beside_the_published_curve(root, tmp_path, monkeypatch):
    monkeypatch.setattr(pictures, "draw", lambda *_: None)
    OFF_PROTOCOL["another ratio"][0](root)
    summary = judged(root)
    curve = summary.off_protocol[0].curve
    assert (curve.run, curve.task, len(curve.env_steps)) == (WALKER.name, WALKER.task, 25)
    picture = tmp_path / f"curves-{WALKER.name}.png"
    assert picture in documents.write_all(summary, tmp_path)
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert f"]({picture.name})" in (tmp_path / documents.REPORT).read_text()
    OFF_PROTOCOL["a damaged file"][0](root)
    assert judged(root).off_protocol[0].curve is None


def test_the_first_seeds_are_enough_and_fewer_than_three_are_not(root):
    write_run(root / WALKER.name, WALKER.with_seeds((0, 1, 2)))
    assert judged(root).verdict is Verdict.PASS
    write_run(root / WALKER.name, WALKER.with_seeds((0, 1)))
    summary = judged(root)
    assert summary.verdict is Verdict.INCOMPLETE
    assert {t.why for w in summary.windows for t in w.tasks if t.why} == {
        "2 seeds, 3 are the least"
    }


def test_records_count_by_their_episodes(root):
    run = read_run(root / WALKER.name)
    counts = [record.episodes[0] for record in run.records]
    assert set(counts) == {16, 32}
    value = {16: 100.0, 32: 400.0}
    by_steps = dict(zip(WALKER.records, counts, strict=True))
    write_run(root / WALKER.name, WALKER, lambda seed, at: value[by_steps[at]])
    task = next(t for t in judged(root).windows[0].tasks if t.run == WALKER.name)
    inside = [n for at, n in by_steps.items() if 200_000 < at <= 300_000]
    expected = sum(value[n] * n for n in inside) / sum(inside)
    assert task.ours == pytest.approx([expected] * 5)
    assert expected != pytest.approx(np.mean([value[n] for n in inside]))


def test_the_episodes_of_a_chunk_are_counted_by_hand():
    # 625 ticks a record; an episode takes 501, and ends with tick 500, 1001, 1502, ...
    ends = np.arange(1, 40) * 501 - 1
    for env_steps in WALKER.records:
        last = env_steps // 2 // 16
        counted = 16 * int(((ends <= last) & (ends > last - 625)).sum())
        assert expected_episodes(WALKER, env_steps) == counted


def test_provenance_is_of_the_sessions_of_which_something_is_left(root):
    def session(begin, commit, changed=False):
        return Session(begin, "t", commit * 10, changed, "s", {"jax": "1"}, "gpu X", "h")

    started = [session(0, "a"), session(90_000, "b"), session(90_000, "c"), session(50_000, "d")]
    write_run(root / WALKER.name, WALKER, sessions=[*started, session(70_000, "d", changed=True)])
    found = next(p for p in judged(root).provenance if p.run == WALKER.name)
    assert [s.commit[0] for s in found.sessions] == ["a", "d", "d"]
    assert found.remarks[0].startswith("3 codes: ")
    assert found.remarks[1] == "a tree with changes that no commit holds"


def test_half_a_line_is_not_there(root):
    with (root / WALKER.name / CURVE).open("ab") as file:
        file.write(b'{"env_steps": 52')
    assert judged(root).verdict is Verdict.PASS


def test_the_shares_are_those_of_the_protocol():
    assert [criteria().tasks_needed(tasks) for tasks in (18, 22, 5, 1)] == [15, 18, 4, 1]


def test_the_registry_is_the_protocol():
    every = registered()
    assert len(every) == 40
    assert sum(spec.agent == "tdmpc2" for spec in every.values()) == 22
    assert (len(WALKER.records), WALKER.episode_length) == (25, 500)
    assert every["tdmpc2-humanoid-run"].budget == 14_000_000
    assert len(every["tdmpc2-humanoid-run"].records) == 140
    assert agents.resolved(WALKER)["deter"] == 2048
    assert agents.resolved(every["tdmpc2-cup-catch"])["latent_dim"] == 512
    assert every["tdmpc2-cup-catch"].environment == "BallInCup"


@pytest.mark.parametrize("kind", ["trial", "smoke"])
def test_runs_off_protocol_can_be_made_and_are_no_registered_ones(kind):
    for name, spec in off_protocol(kind).items():
        assert name.startswith(f"{kind}-")
        assert name not in registered()
        assert spec.records[-1] == spec.budget
        assert agents.resolved(spec)
        assert select([name], [], kind) == [spec]
        with pytest.raises(PaperError, match="no run is called"):
            select([name], [])


def paper(*words):
    return cli.main(["paper", *map(str, words)])


def test_the_exit_status_and_the_documents(root, capsys, monkeypatch):
    names = {"report.md", "summary.json", "curves-dreamerv3.png"}
    assert paper("report", "--runs", root, "--agent", "dreamerv3") == cli.SAME
    before = {name: (root / name).read_bytes() for name in names}
    assert paper("report", "--runs", root, "--agent", "dreamerv3") == cli.SAME
    assert before == {name: (root / name).read_bytes() for name in names}
    monkeypatch.setattr(pictures, "draw", lambda *_: None)
    capsys.readouterr()
    assert paper("report", "--runs", root) == cli.SAME
    assert capsys.readouterr().out == "PASS: every window passes.\n"
    text = before["report.md"].decode()
    assert "| dmc_walker_walk | PASS |" in text
    assert "c0ffeec0ffee" in text

    shutil.rmtree(root / "tdmpc2-walker-walk")
    assert paper("report", "--runs", root) == cli.SAME
    assert paper("report", "--runs", root, "--strict") == cli.DIFFERS
    assert "INCOMPLETE: 2 of 4 windows have tasks" in capsys.readouterr().out
    assert paper("report", "--runs", root, "--agent", "dreamerv3", "--strict") == cli.SAME

    fail_by_tasks(root)
    capsys.readouterr()
    assert paper("report", "--runs", root, "--json") == cli.DIFFERS
    assert json.loads(capsys.readouterr().out)["verdict"] == "FAIL"
    assert "14 of 18 tasks pass, 15 must" in (root / "report.md").read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("report", "--runs", "nowhere"), "nowhere is no folder"),
        (("list", "walker_wlk"), "did you mean"),
        (("run", "walker_walk", "--trial"), "no run is called 'walker_walk'. See trial.yaml."),
        (("run", "--trial", "--smoke"), "give one of them"),
    ],
)
def test_a_mistake_is_one_sentence(words, said, capsys):
    assert paper(*words) == cli.COULD_NOT_RUN
    assert said in capsys.readouterr().err
