"""The smoke run on the live reference: everything happens, and as often as it should."""

import dataclasses
import json
from pathlib import Path

import pytest

from reference_harness import home, installation
from reference_harness.dreamerv3.training.files import read_lines
from reference_harness.dreamerv3.training.launcher import run_seeds
from reference_harness.dreamerv3.training.overrides import FIXED
from reference_harness.dreamerv3.training.reference import PIN, reference_program
from reference_harness.dreamerv3.training.settings import ENVIRONMENTS, smoke
from reference_harness.pins import find_pin
from reference_harness.worker import Worker

pytestmark = pytest.mark.reference

SETTINGS = smoke(0, "tiny")
LAST = SETTINGS.steps // ENVIRONMENTS  # the row that only the flush step reaches


@pytest.fixture(scope="module")
def program():
    if installation.find(find_pin(PIN)) is None:
        pytest.skip(f"{PIN} is not installed in {home.data_folder()}")
    return reference_program()


@pytest.mark.parametrize("waiting", [True, False])
def test_a_dead_prefetch_thread_is_noticed(program, waiting):
    operations = Path(__file__).with_name("training_operations") / "dying_prefetch.py"
    paths = program.import_paths
    with Worker("side", program.python, operations, import_paths=paths, time_limit=60) as worker:
        inputs = {"batches": 3, "waiting": waiting}
        answer = worker.ask("batches_of_a_dying_thread", inputs)
    assert answer["came"].tolist() == [0, 1, 2]
    kind, words, cause = answer["raised"].tobytes().decode().split("\n")
    assert kind == "PrefetchDiedError"
    assert "KeyError: 'the replay has lost a chunk'" in words
    assert cause == "KeyError('the replay has lost a chunk')"


@pytest.fixture(scope="module")
def folder(program, tmp_path_factory):
    out = tmp_path_factory.mktemp("smoke")
    told = []
    errors = run_seeds(out, [SETTINGS], program, report=told.append)
    assert errors == []
    assert "seed 0: 1,200 of 1,200 rows, 81 updates" in "\n".join(told)
    return out / "seed0"


@pytest.fixture(scope="module")
def records(folder):
    return read_lines(folder / "records.jsonl")


@pytest.fixture(scope="module")
def episodes(folder):
    return read_lines(folder / "episodes.jsonl")


def test_updates_begin_at_the_gate(folder, records):
    assert [(r["rows"], r["updates"]) for r in records] == [(400, 0), (800, 0), (1_200, 81)]
    progress = read_lines(folder / "progress.jsonl")
    assert [line["rows"] for line in progress] == list(range(16, 1_201, 16))
    assert {line["rows"]: line["updates"] for line in progress if line["updates"] < 10} == {
        **dict.fromkeys(range(16, 1_040, 16), 0),
        1_040: 1,
        1_056: 9,
    }
    assert all(line["updates"] == SETTINGS.updates_at(line["rows"]) for line in progress)


def test_metrics_stand_under_the_references_own_names(records):
    assert records[0]["train_raw"] == records[1]["train_raw"] == {}
    metrics = records[2]["train_raw"]
    for name in ("vector_loss", "critic_loss_std", "opt_grad_norm", "ret_normed/mag", "td_error"):
        assert metrics[name] is not None
    # The metrics of update n come with update n + 1: those of 1 to 80 are in the window.
    assert metrics["opt_grad_steps"] == pytest.approx(40.5)
    assert records[2]["train_nan"] == {}
    assert records[1]["retnorm"] == {"lo": 0.0, "hi": 0.0, "scale": 1.0}
    assert records[2]["retnorm"]["hi"] != 0.0


def test_evaluations_play_whole_episodes_with_the_latest_parameters(records):
    for record in records:
        assert len(record["eval_returns"]) == SETTINGS.eval_episodes
        assert record["eval_returns"] == record["eval_lengths"]
        assert 1 <= min(record["eval_lengths"]) <= max(record["eval_lengths"]) <= 500
    # Without an update in between, the same parameters play the same episodes.
    assert records[0]["eval_returns"] == records[1]["eval_returns"]
    assert [record["acts_with_latest"] for record in records] == [True, True, False]


def test_episodes_tile_the_rows_of_every_environment(folder, episodes):
    timing = json.loads((folder / "timing.json").read_text())
    assert timing["flush_episodes"] == sum(e["row_last"] == LAST for e in episodes)
    for worker in range(ENVIRONMENTS):
        start = 0
        for episode in (e for e in episodes if e["worker"] == worker):
            assert episode["row_last"] == start + episode["length"] <= LAST
            assert episode["score"] == episode["length"]
            start = episode["row_last"] + 1


def test_neither_evaluation_nor_flush_changes_the_training(program, episodes, tmp_path):
    # Up to the gate no thread draws from the agent's generator: the same actions follow
    # each other exactly, whatever is done in between, unless that draws from it.
    shorter = dataclasses.replace(SETTINGS, steps=800, record_every=80, eval_episodes=3)
    assert run_seeds(tmp_path, [shorter], program, report=lambda line: None) == []
    end = shorter.steps // ENVIRONMENTS
    same = [episode for episode in episodes if episode["row_last"] <= end]
    assert len(same) > ENVIRONMENTS
    evaluated = read_lines(tmp_path / "seed0" / "episodes.jsonl")
    assert sorted(evaluated, key=str) == sorted(same, key=str)


def test_the_stock_logger_saw_the_same_episodes(folder, episodes):
    stock = [line for line in read_lines(folder / "metrics.jsonl") if "episode/score" in line]
    logged = {(line["step"], line["episode/score"]) for line in stock}
    # Rows are counted one environment after the other. Several episodes that end in one
    # step of the counter do not exist, so none is hidden by another.
    ours = {
        (e["row_last"] * ENVIRONMENTS + e["worker"] + 1, e["score"])
        for e in episodes
        if e["row_last"] < LAST
    }
    assert logged == ours


def test_the_reference_resolved_the_override_set(folder):
    from ruamel.yaml import YAML

    config = YAML(typ="safe").load((folder / "config.yaml").read_text())
    for entry in FIXED:
        value = config
        for part in entry.key.split("."):
            value = value[part]
        assert value == entry.value, entry.key
    assert config["actor"]["units"] == config["enc"]["simple"]["units"] == 8
    assert config["run"]["steps"] == SETTINGS.steps
    facts = json.loads((folder / "run_args.json").read_text())
    tree = str(installation.find(find_pin(PIN)).tree)
    assert all(path.startswith(tree) for path in facts["imported"].values())
    assert {key: facts[key] for key in dataclasses.asdict(SETTINGS)} == dataclasses.asdict(SETTINGS)
    assert facts["packages"]["jax"] == "0.4.26"
