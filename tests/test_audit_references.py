"""Published curves: what is read from the files, and what is refused."""

import gzip
import json
import subprocess
from pathlib import Path

import msgspec
import numpy as np
import pytest
from published_files import dreamerv3_files, results, scores, source, tdmpc2_files

from audits import cli
from audits.paper.acceptance import criteria
from audits.references import store
from audits.references.errors import ReferenceDataError
from audits.references.extraction import extract
from audits.references.files import read_files
from audits.references.sources import AGENTS, Known, sources
from audits.references.task_set import listed_tasks

SHARED = Path(__file__).parents[2] / "shared" / "data"


def test_a_window_is_the_mean_of_the_points_above_its_lower_bound_up_to_its_upper():
    found = extract("dreamerv3", source("dreamerv3"), dreamerv3_files(lambda s, at: s + at / 1e3))
    first, last = found.tasks[0].windows
    assert (first.after, first.until, first.points) == (200_000, 300_000, [10] * 5)
    assert first.means == [s + 255.0 for s in range(5)]
    assert (last.until, last.points, last.means[0]) == (500_000, [9] * 5, 450.0)
    assert found.aggregates[0].mean == 257.0


def test_the_last_million_ends_with_the_tasks_budget():
    found = extract("tdmpc2", source("tdmpc2"), tdmpc2_files(lambda s, at: at / 1e4))
    task = found.tasks[0]
    assert task.budget == 4_000_000
    assert task.window("first-million").means == [80.0] * 3
    assert (task.window("last-million").after, task.window("last-million").means[0]) == (
        3_000_000,
        355.0,
    )


def test_a_point_that_a_seed_lacks_is_told_and_the_others_count():
    files = tdmpc2_files(lambda s, at: 100.0 * s, lacks={(3, 4_000_000)})
    found = extract("tdmpc2", source("tdmpc2"), files)
    task = found.tasks[0]
    assert task.window("last-million").points == [10, 10, 9]
    assert task.window("last-million").means == [100.0, 200.0, 300.0]
    assert (task.band.seeds[-2:], task.band.highest[-2:]) == ([3, 2], [300.0, 200.0])
    assert found.remarks[0].startswith("walker-walk: seed 3 has no point at 4,000,000")


REFUSED = {
    "a task that nobody classified": (
        "tdmpc2",
        lambda: tdmpc2_files() | {"results/cheetah-fly.csv": results([(0, 1.0, 1)])},
        "results of 'cheetah-fly', a task that sources.yaml does not classify",
    ),
    "the same in the other format": (
        "dreamerv3",
        lambda: {"scores/x.json.gz": scores([("dmc_cheetah_fly", 0, {10_000: 1.0})])},
        "'dmc_cheetah_fly'",
    ),
    "a mapped task without results": (
        "tdmpc2",
        lambda: {"results/dog-run.csv": results([(0, 1.0, 1)])},
        "has no results of walker-walk",
    ),
    "a seed without points in a window": (
        "dreamerv3",
        lambda: dreamerv3_files(steps=range(10_000, 400_000, 10_000)),
        r"seed 0, 1, 2, 3, 4 has no point in \(400,000, 500,000\]",
    ),
    "two points at one step": (
        "tdmpc2",
        lambda: {"results/walker-walk.csv": results([(0, 1.0, 1), (0, 2.0, 1)])},
        "has two points at step 0",
    ),
    "a return that is no number": (
        "tdmpc2",
        lambda: {"results/walker-walk.csv": results([(0, "nan", 1)])},
        "has no finite point at step 0",
    ),
    "a file that is cut short": (
        "dreamerv3",
        lambda: {"scores/x.json.gz": gzip.compress(b"[]")[:-3]},
        "scores/x.json.gz is damaged",
    ),
    "a table with other columns": (
        "tdmpc2",
        lambda: {"results/walker-walk.csv": b"step,return\n0,1\n"},
        "walker-walk.csv is damaged",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case):
    agent, files, said = REFUSED[case]
    with pytest.raises(ReferenceDataError, match=said):
        extract(agent, source(agent), files())


def test_tasks_of_other_suites_and_those_that_playground_lacks_are_left_out():
    more = {f"results/{name}.csv": results([(0, 1.0, 1)]) for name in ("mw-push", "dog-run")}
    found = extract("tdmpc2", source("tdmpc2"), tdmpc2_files() | more)
    assert [task.task for task in found.tasks] == ["walker-walk"]
    assert list(found.files) == ["results/walker-walk.csv"]


def test_an_extraction_checks_itself_against_what_is_known():
    files = dreamerv3_files(lambda s, at: 100.0 * s)
    right = [Known(mean=200.0, median=200.0, at=250_000), Known(mean=200.0, window="around-250k")]
    found = extract("dreamerv3", source("dreamerv3", known=right), files)
    assert [a.known for a in found.aggregates] == ["200.0", None, "200.0 / 200.0"]
    with pytest.raises(
        ReferenceDataError, match=r"the mean over tasks .* is 200.0000 and .* 200.2"
    ):
        extract("dreamerv3", source("dreamerv3", known=[Known(mean=200.2, at=250_000)]), files)


def test_a_folder_of_the_files_must_have_their_digests(tmp_path):
    files = tdmpc2_files()
    digests = extract("tdmpc2", source("tdmpc2"), files).files
    place = tmp_path / "walker-walk.csv"
    place.write_bytes(files["results/walker-walk.csv"])
    assert read_files(source("tdmpc2"), tmp_path, digests) == files
    place.write_bytes(place.read_bytes().replace(b"100.0", b"100.1"))
    with pytest.raises(ReferenceDataError, match=r"is not the published results/walker-walk\.csv"):
        read_files(source("tdmpc2"), tmp_path, digests)
    place.unlink()
    with pytest.raises(ReferenceDataError, match="expected a checkout of"):
        read_files(source("tdmpc2"), tmp_path, digests)


def test_the_multi_task_list_is_read_and_never_run():
    text = "import nowhere\nTASK_SET = {'mt30': ['a', 'b'], 'mt80': ['c']}\n"
    assert listed_tasks(text) == ["a", "b"]
    for text in ("TASK_SET = {'mt80': []}", "TASK_SET = read()", "X = 1"):
        with pytest.raises(ReferenceDataError, match="has no list TASK_SET"):
            listed_tasks(text)


def test_a_checkout_without_the_pinned_commit_is_refused(tmp_path):
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    with pytest.raises(ReferenceDataError, match=r"does not have commit 5f6fadec0.*fetch it with"):
        read_files(sources()["tdmpc2"], tmp_path, {})


@pytest.mark.parametrize("agent", AGENTS)
def test_what_is_kept_is_whole_and_consistent(agent):
    kept, rules = store.read(agent), criteria()
    published = sources()[agent]
    assert kept.commit == published.find_pin().commit
    assert {t.task: t.environment for t in kept.tasks} == published.mapped
    low, high = rules.scores
    for task in kept.tasks:
        assert [w.window for w in task.windows] == [w.name for w in rules.windows[agent]]
        for window, rule in zip(task.windows, rules.windows[agent], strict=True):
            assert (window.after, window.until) == rule.bounds(task.budget)
            assert len(window.means) == len(window.seeds) == len(window.points)
            assert all(low <= value <= high for value in window.means)
            at = np.asarray(task.band.env_steps)
            inside = (at > window.after) & (at <= window.until)
            # The band has the same points: its mean over the window is that of the seeds.
            if len(set(window.points)) == 1:
                mean = np.mean(np.asarray(task.band.mean)[inside])
                assert mean == pytest.approx(window.mean, abs=0.01)
    for rule, aggregate in zip(rules.windows[agent], kept.aggregates, strict=False):
        means = [task.window(rule.name).mean for task in kept.tasks]
        assert aggregate.mean == pytest.approx(np.mean(means), abs=1e-4)
        assert aggregate.median == pytest.approx(np.median(means), abs=1e-4)
    assert sum(a.known is not None for a in kept.aggregates) == len(published.known)


def test_the_task_maps_are_those_of_playground():
    from core.environments.playground_adapter import NAMES

    for agent, tasks in (("dreamerv3", 18), ("tdmpc2", 22)):
        assert len(sources()[agent].mapped) == tasks
        assert set(sources()[agent].mapped.values()) <= set(NAMES)
    assert set(sources()["tdmpc2"].mt30) <= set(sources()["tdmpc2"].mapped)
    assert len(sources()["tdmpc2"].mt30) == 19
    assert len(sources()["tdmpc2"].unavailable) == 17


@pytest.mark.skipif(not SHARED.is_dir(), reason=f"the published files are not in {SHARED}")
def test_the_published_files_give_what_is_kept(capsys):
    folders = {
        "dreamerv3": SHARED / "dreamerv3_29eb964",
        "tdmpc2": SHARED / "tdmpc2_5f6fade",
    }
    words = [w for agent, folder in folders.items() for w in (f"--{agent}", str(folder))]
    assert cli.main(["references", "extract", *words, "--check"]) == cli.SAME
    told = capsys.readouterr().out
    assert "mean 675.3505, median 790.3980" in told
    assert "mean 757.8459, median 868.4763" in told
    assert "seed 3 has no point at 4,000,000" in told


def test_what_is_written_is_read_back_and_has_the_same_bytes(tmp_path, capsys):
    kept = store.read("tdmpc2")
    path = store.write(kept, tmp_path)
    assert path.read_bytes() == store.path_of("tdmpc2").read_bytes()
    assert msgspec.to_builtins(store.read("tdmpc2", tmp_path)) == json.loads(path.read_bytes())
    path.write_bytes(path.read_bytes()[:-9])
    store.read.cache_clear()
    with pytest.raises(ReferenceDataError, match=r"is damaged.*extract --tdmpc2 CHECKOUT"):
        store.read("tdmpc2", tmp_path)
    assert cli.main(["references", "extract"]) == cli.COULD_NOT_RUN
    assert "name a checkout" in capsys.readouterr().err
