"""Training on several tasks, on made-up files: sources, dataset, verdict, and what is refused."""

import json
import pickle
import shutil

import numpy as np
import pytest
from filelock import FileLock
from multitask_runs import TASKS, episodes, use, write_offline, write_source
from paper_runs import changed

from audits import cli
from audits.multitask import offline, pooling
from audits.multitask.criteria import criteria
from audits.multitask.judgement import judge
from audits.multitask.offline import OFFLINE_RUNS, spec_of
from audits.multitask.pooling import build, read_about
from audits.multitask.protocol import DATASET, OFFLINE, SOURCES, protocol
from audits.multitask.sources import (
    EPISODES,
    SOURCE_RUNS,
    SourceRecord,
    SourceState,
    state_of,
)
from audits.multitask.validation import validate
from audits.paper import agents, session, training
from audits.paper.errors import PaperError
from audits.paper.files import CURVE, FINISHED, write_run_file
from audits.paper.job import RunJob
from audits.paper.judgement import Verdict
from core.tdmpc2 import dataset as stored
from core.tdmpc2 import pooling as core_pooling
from core.tdmpc2.mt30 import MT30
from core.tdmpc2.pooling import pooled


class Killed(BaseException):
    """What stands for SIGKILL: nothing of ours handles it."""


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """A whole validation that passes."""
    folder = tmp_path_factory.mktemp("multitask")
    with pytest.MonkeyPatch.context() as patch:
        wanted = use(patch, folder)
        out = folder / "out"
        for index, spec in enumerate(wanted.find(())):
            write_source(out, spec, chance=index)
        build(wanted, out, lambda line: None)
        write_offline(out, spec_of(out), [300.0] * len(TASKS))
    protocol.cache_clear()
    return out


@pytest.fixture
def wanted(monkeypatch, tmp_path):
    yield use(monkeypatch, tmp_path)
    protocol.cache_clear()


@pytest.fixture
def out(original, wanted, tmp_path):
    return shutil.copytree(original, tmp_path / "out")


def audit(*words):
    return cli.main(["multitask", *map(str, words)])


def quiet(line):
    """Nobody listens."""


def again(out, spec, **how):
    """Makes a source anew."""
    shutil.rmtree(out / SOURCES / spec.name)
    return write_source(out, spec, **how)


def flip(folder):
    """Changes a bit of an observation."""
    path, first = folder / "episodes.npz", stored.load(folder).observation[:1].tobytes()
    content = bytearray(path.read_bytes())
    content[content.index(first)] ^= 1
    path.write_bytes(content)


def test_the_protocol_is_the_19_tasks_and_what_the_core_is_told(tmp_path):
    wanted = protocol()
    assert dict(wanted.tasks) == dict(MT30)
    assert list(wanted.runs) == list(MT30)
    spec = wanted.runs["walker-stand"]
    config = training.run_config(spec, tmp_path)
    assert (config.train.steps, config.eval_every, config.train.eval_episodes) == (
        500_000,
        50_000,
        10,
    )
    assert config.train.replay_capacity > config.train.steps  # no episode is overwritten
    assert (config.seeds, config.action_repeat, config.time_limit) == ((0, 1, 2), 2, 1000)
    offline_spec = wanted.offline_spec("", {})
    agent = offline.agent_config(offline_spec.settings)
    assert (agent.latent_dim, agent.task_dim, agent.batch_size) == (768, 96, 1024)  # row T14
    assert len(offline_spec.records) == 10
    small = protocol(smoke=True)
    assert all(agents.resolved(spec) for spec in small.runs.values())
    assert OFFLINE_RUNS.resolved(small.offline_spec("", {}))
    assert (criteria().judged_needed(19), criteria().passing_needed(16)) == (16, 13)


def test_the_dataset_is_all_episodes_of_all_sources_and_says_which(out, wanted, capsys):
    about = read_about(out)
    whole = pooled([episodes(spec, i) for i, spec in enumerate(wanted.find(()))])
    assert about.digest == whole.digest == pooling.read_episodes(about, out).digest
    assert about.rows == 5 * 12 * 6
    assert [(s.run, s.count, s.returns) for s in about.sources] == [
        (task, 12, [390.0, 400.0, 410.0]) for task in TASKS
    ]
    before = (out / DATASET / pooling.ABOUT).read_bytes()
    assert audit("dataset", "--out", out) == cli.SAME
    assert "made before, and still that of its sources" in capsys.readouterr().out
    assert before == (out / DATASET / pooling.ABOUT).read_bytes()


def test_sources_are_listed_with_state_and_digest(out, wanted, capsys):
    shutil.rmtree(out / SOURCES / "Beta")
    again(out, wanted.runs["Gamma"], until=20)
    assert audit("sources", "--list", "--out", out) == cli.SAME
    lines = capsys.readouterr().out.splitlines()
    told = {line.split()[0]: line for line in lines[1:]}
    assert read_about(out).sources[0].digest[:12] in told["Alpha"]
    assert "400.0" in told["Alpha"]
    assert "not started" in told["Beta"]
    assert "not finished: at 20 of 40 environment steps" in told["Gamma"]
    assert lines[-1] == "3 of 5 can be pooled"


def lacks_one(out, wanted):
    shutil.rmtree(out / SOURCES / "Beta")
    return "Beta: not started"


def is_cut_short(out, wanted):
    again(out, wanted.runs["Beta"], until=20)
    return "Beta: not finished: at 20 of 40"


def has_other_settings(out, wanted):
    again(out, changed(wanted.runs["Beta"], settings={"size": 1}))
    return "Beta: settings.bins is None, not 11"


def has_another_agent(out, wanted):
    again(out, wanted.runs["Beta"], agent={"horizon": 4})
    return "Beta: agent.horizon is 4, not 3"


def has_fewer_seeds(out, wanted):
    again(out, wanted.runs["Beta"].with_seeds((0, 1)))
    return r"Beta: seeds is \(0, 1\), not \(0, 1, 2\)"


def has_lost_episodes(out, wanted):
    again(out, wanted.runs["Beta"], fewer=1)
    return "does not hold the 12 episodes of Beta"


def has_a_flipped_byte(out, wanted):
    flip(out / SOURCES / "Beta" / EPISODES)
    return "the episodes of Beta can not be used"


@pytest.mark.parametrize(
    "fault",
    [
        lacks_one,
        is_cut_short,
        has_other_settings,
        has_another_agent,
        has_fewer_seeds,
        has_lost_episodes,
        has_a_flipped_byte,
    ],
)
def test_a_source_that_is_not_the_protocols_is_not_pooled(fault, out, wanted):
    shutil.rmtree(out / DATASET)
    with pytest.raises(
        PaperError, match=rf"1 of 5 sources can not be pooled \(.*{fault(out, wanted)}"
    ):
        build(wanted, out, quiet)
    assert not (out / DATASET).exists()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"chance": 77}, "Beta: has other episodes"),
        ({"chance": 1, "value": 401.0}, "Beta: reached other returns"),
        ({"until": 20}, "Beta: not finished"),
    ],
)
def test_a_dataset_whose_sources_have_changed_is_refused_by_name(change, said, out, wanted, capsys):
    again(out, wanted.runs["Beta"], **change)
    for command in ("dataset", "train"):
        assert audit(command, "--out", out) == cli.COULD_NOT_RUN
        told = capsys.readouterr().err
        assert "have changed since it was made" in told
        assert said in told
        assert "Alpha" not in told
        assert told.count("\n") == 1 or command == "dataset"
    assert audit("report", "--out", out) == cli.SAME
    told = capsys.readouterr().out
    assert told.startswith("INCOMPLETE: 0 of 5")
    assert said in told
    assert "## The dataset is stale" in (out / "report.md").read_text()


def test_a_source_that_was_made_again_and_came_to_the_same_is_the_same(out, wanted):
    again(out, wanted.runs["Beta"], chance=1, seconds=7.0)
    assert not build(wanted, out, quiet)[1]
    assert validate(out).verdict is Verdict.PASS


def test_a_dataset_with_another_byte_is_refused(out):
    flip(out / DATASET / EPISODES)
    with pytest.raises(PaperError, match="the dataset is damaged"):
        OFFLINE_RUNS.train(spec_of(out), out / OFFLINE, lambda rows: None, save_every=0.0)
    summary = validate(out)
    assert summary.verdict is Verdict.INCOMPLETE
    assert "the dataset is damaged" in summary.judgement.tasks[0].why


def test_a_dataset_that_was_swapped_is_refused(out, wanted):
    about = read_about(out)
    shutil.rmtree(out / DATASET / EPISODES)
    stored.save(pooled([episodes(s, 9) for s in wanted.find(())]), out / DATASET / EPISODES)
    with pytest.raises(PaperError, match=r"another dataset than dataset\.json tells of"):
        pooling.read_episodes(about, out)


def trained(spec, folder, observe, *, save_every=900.0):
    """What stands for a training of the core's."""
    lines = [
        {
            "rows": rows,
            "seed": seed,
            "updates": rows,
            "eval/return": float(rows + seed),
            "eval/returns": [1.0, 2.0],
            "eval/length": 5.0,
            "time/rows_per_second": 1.0,
        }
        for rows in (10, 20)
        for seed in spec.seeds
    ]
    (folder / training.LOG).write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / training.CHECKPOINTS / "20").mkdir(parents=True, exist_ok=True)
    return "learned"


def test_a_source_is_finished_once_its_episodes_are_kept(wanted, tmp_path, monkeypatch):
    spec = wanted.runs["Beta"]
    kept = []

    def source_of_run(folder):
        if not (folder / training.CHECKPOINTS / "20").exists():
            raise AssertionError("the checkpoint went before the episodes were taken from it")
        kept.append(folder)
        if len(kept) == 1:
            raise Killed
        return episodes(spec)

    monkeypatch.setattr(training, "train", trained)
    monkeypatch.setattr(core_pooling, "source_of_run", source_of_run)
    folder = tmp_path / "Beta"
    with pytest.raises(Killed):
        session.work(spec, tmp_path, kind=SOURCE_RUNS)
    assert state_of(spec, wanted, folder, verify=True).record is None
    (folder / EPISODES).mkdir()  # of whatever was there before
    assert session.work(spec, tmp_path, kind=SOURCE_RUNS)
    found = state_of(spec, wanted, folder, verify=True).record
    assert found.episodes == pooled([episodes(spec)]).digest
    assert (found.count, found.returns, found.learned) == (12, [20.0, 21.0, 22.0], "learned")
    assert not (folder / training.CHECKPOINTS).exists()
    assert not session.work(spec, tmp_path, kind=SOURCE_RUNS)
    assert len(kept) == 2
    job = pickle.loads(pickle.dumps(RunJob(spec, tmp_path, 1.0, SOURCE_RUNS)))
    assert isinstance(job.kind, type(SOURCE_RUNS))


@pytest.mark.parametrize("name", [pooling.ABOUT, f"{EPISODES}/episodes.json"])
def test_a_dataset_that_lacks_a_file_is_no_dataset(name, out, wanted):
    (out / DATASET / name).unlink()
    with pytest.raises(PaperError, match=r"remove .*dataset and .*offline to make both again"):
        build(wanted, out, quiet)


def test_a_killed_build_leaves_nothing_that_looks_whole(out, wanted, monkeypatch):
    about = read_about(out)
    shutil.rmtree(out / DATASET)
    real = stored.save

    def save(made, folder):
        real(made, folder)
        raise Killed

    monkeypatch.setattr(stored, "save", save)
    with pytest.raises(Killed):
        build(wanted, out, quiet)
    assert not (out / DATASET).exists()
    monkeypatch.setattr(stored, "save", real)
    found, made = build(wanted, out, quiet)
    assert made
    assert (found.digest, found.sources) == (about.digest, about.sources)
    assert not list(out.glob(".*partial*"))
    with (
        FileLock(out / ".dataset.lock"),
        pytest.raises(PaperError, match="another process makes the dataset"),
    ):
        build(wanted, out, quiet)


def test_the_run_goes_on_as_no_other(out, capsys):
    (out / OFFLINE / FINISHED).unlink()
    spec = spec_of(out)
    for other, said in (
        (changed(spec, budget=80), "budget is 60, not 80"),
        (changed(spec, dataset="f00"), f"dataset is '{spec.dataset}', not 'f00'"),
        (changed(spec, sources=spec.sources | {"Beta": "f00"}), "sources.Beta is"),
    ):
        with pytest.raises(PaperError, match=f"another specification .*{said}"):
            session.work(other, out, kind=OFFLINE_RUNS)
    (out / OFFLINE / "run.json").write_text("{")
    assert audit("train", "--out", out) == cli.COULD_NOT_RUN
    assert "run.json is damaged" in capsys.readouterr().err


def log_line(updates, seed=0, **more):
    scores = [[float(updates + task), float(updates + task + 2)] for task in range(len(TASKS))]
    line = {"rows": updates, "seed": seed, "updates": updates, "time/rows_per_second": 10.0}
    return line | {"eval/returns": scores, "eval/lengths": [[5, 5]] * len(TASKS)} | more


def test_the_records_are_those_of_the_log_without_a_line_that_was_cut(out, tmp_path):
    spec = changed(spec_of(out), seeds=(0, 1))
    log = tmp_path / "metrics.jsonl"
    lines = [json.dumps(log_line(at, seed)) for at in (20, 40) for seed in (0, 1)]
    log.write_text("\n".join(lines)[:-9])
    records = OFFLINE_RUNS.records(spec, log)
    assert [r.updates for r in records] == [20]
    assert records[0].returns == [[21.0, 22.0, 23.0, 24.0, 25.0]] * 2
    assert (records[0].episodes, records[0].seconds) == (2, 2.0)
    log.write_text("\n".join(lines) + "\n")
    assert [r.updates for r in OFFLINE_RUNS.records(spec, log)] == [20, 40]
    log.write_text("\n".join([lines[0][:-9], *lines[1:]]) + "\n")
    with pytest.raises(PaperError, match="damaged in line 1"):
        OFFLINE_RUNS.records(spec, log)
    not_a_number = log_line(20) | {"eval/returns": [[float("nan"), 1.0]] * len(TASKS)}
    log.write_text(json.dumps(not_a_number) + "\n")
    assert OFFLINE_RUNS.records(spec_of(out), log)[0].returns == [[None] * len(TASKS)]


def test_the_report_of_a_validation_that_passes(out, capsys):
    assert audit("report", "--out", out, "--strict") == cli.SAME
    assert capsys.readouterr().out == "PASS: 5 of 5 tasks are judged, 5 of them pass, 4 must.\n"
    names = ("report.md", "summary.json", "tasks.png")
    before = [(out / name).read_bytes() for name in names]
    assert audit("report", "--out", out, "--json") == cli.SAME
    assert json.loads(capsys.readouterr().out)["judgement"]["verdict"] == "PASS"
    assert before == [(out / name).read_bytes() for name in names]
    text = before[0].decode()
    assert (
        "| Alpha | PASS | 400.0 (390.0 to 410.0) | 300.0 (300.0 to 300.0) | 200.0 | 75% |" in text
    )
    assert read_about(out).digest[:12] in text


def one_short(out, spec):
    write_offline(out, spec, [199.0, 300.0, 300.0, 300.0, 300.0])
    return Verdict.PASS, "4 of them pass, 4 must"


def two_short(out, spec):
    write_offline(out, spec, [199.0, 199.0, 300.0, 300.0, 300.0])
    return Verdict.FAIL, "3 of them pass, 4 must"


def unfinished(out, spec):
    (out / OFFLINE / FINISHED).unlink()
    write_offline(out, spec, [300.0] * 5, until=40)
    return Verdict.INCOMPLETE, "at 40 of 60 updates"


def other_settings(out, spec):
    write_offline(out, changed(spec, settings=spec.settings | {"batch_size": 8}), [300.0] * 5)
    return Verdict.INCOMPLETE, "off protocol"


def another_agent(out, spec):
    write_offline(out, spec, [300.0] * 5, agent={"horizon": 4})
    return Verdict.INCOMPLETE, "off protocol"


def of_another_dataset(out, spec):
    write_offline(out, changed(spec, dataset="f00"), [300.0] * 5)
    return Verdict.INCOMPLETE, "off protocol"


def short_episodes(out, spec):
    write_offline(out, spec, [300.0] * 5, lengths=4.0)
    return Verdict.INCOMPLETE, "off protocol"


def fewer_episodes(out, spec):
    write_offline(out, changed(spec, eval_episodes=2), [300.0] * 5)
    write_run_file(out / OFFLINE, spec, OFFLINE_RUNS.resolved(spec))
    return Verdict.INCOMPLETE, "off protocol"


def not_ended(out, spec):
    (write_offline(out, spec, [300.0] * 5) / FINISHED).unlink()
    return Verdict.INCOMPLETE, "the run on the dataset is at 60 of 60 updates"


def a_record_too_few(out, spec):
    folder = write_offline(out, spec, [300.0] * 5)
    lines = (folder / CURVE).read_bytes().splitlines(keepends=True)
    (folder / CURVE).write_bytes(lines[0] + lines[2])
    return Verdict.INCOMPLETE, "off protocol"


def no_run(out, spec):
    shutil.rmtree(out / OFFLINE)
    return Verdict.INCOMPLETE, "there is no run on the dataset"


def no_dataset(out, spec):
    shutil.rmtree(out / DATASET)
    return Verdict.INCOMPLETE, "has no dataset"


def another_source(out, spec):
    beta = protocol().runs["Beta"]
    again(out, changed(beta, settings=beta.settings | {"horizon": 2}))
    return Verdict.INCOMPLETE, "off protocol: Beta: settings.horizon is 2, not None"


@pytest.mark.parametrize(
    "made",
    [
        another_source,
        one_short,
        two_short,
        unfinished,
        other_settings,
        another_agent,
        of_another_dataset,
        short_episodes,
        fewer_episodes,
        not_ended,
        a_record_too_few,
        no_run,
        no_dataset,
    ],
)
def test_the_verdict(made, out, capsys):
    verdict, said = made(out, spec_of(out))
    status = audit("report", "--out", out)
    told = capsys.readouterr().out
    assert told.startswith(f"{verdict.value}: ")
    assert said in told
    assert status == (cli.DIFFERS if verdict is Verdict.FAIL else cli.SAME)
    strict = audit("report", "--out", out, "--strict")
    assert strict == (cli.SAME if verdict is Verdict.PASS else cli.DIFFERS)


def sources_with(*means):
    return [
        SourceState(f"task{i}", SourceRecord(f"task{i}", "", "", 1, "", [m - 5, m, m + 5]))
        for i, m in enumerate(means)
    ]


def test_tasks_that_nobody_learned_are_not_judged_and_three_of_nineteen_may_be_so():
    means = [99.9] * 3 + [100.0] * 16
    reached = {f"task{i}": [50.0] for i in range(19)}
    found = judge(sources_with(*means), reached, "", criteria())
    assert (found.verdict, found.judged, found.passed, found.needed) == (Verdict.PASS, 16, 16, 13)
    found = judge(sources_with(99.9, *means[:-1]), reached, "", criteria())
    assert (found.verdict, found.judged, found.judged_needed) == (Verdict.INCOMPLETE, 15, 16)
    short = reached | {f"task{i}": [49.9] for i in range(3, 7)}
    found = judge(sources_with(*means), short, "", criteria())
    assert (found.verdict, found.passed) == (Verdict.FAIL, 12)
    not_finite = reached | {"task18": [None, 400.0]}
    found = judge(sources_with(*means), not_finite, "", criteria())
    assert (found.verdict, found.judged) == (Verdict.INCOMPLETE, 15)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("sources", "walker-stant"), "did you mean walker-stand"),
        (("dataset",), "19 of 19 sources can not be pooled (walker-stand: not started"),
        (("train",), "has no dataset; make it with `audit multitask dataset`"),
        (("report", "--smoke"), "is no folder; make the sources with"),
    ],
)
def test_a_mistake_is_one_sentence(words, said, tmp_path, capsys):
    assert audit(*words, "--out", tmp_path / "none") == cli.COULD_NOT_RUN
    told = capsys.readouterr().err
    assert said in told
    assert "Traceback" not in told


def test_an_environment_that_is_not_there_is_no_traceback(wanted, tmp_path, capsys):
    for name in ("Alpha", "offline"):
        assert audit("estimate", name, "--out", tmp_path) == cli.COULD_NOT_RUN
        told = capsys.readouterr().err
        assert "there is no environment 'Alpha'" in told
        assert "Traceback" not in told


def test_how_far_everything_is(out, capsys):
    write_offline(out, spec_of(out), [300.0] * 5, until=40)
    (out / OFFLINE / FINISHED).unlink()
    assert audit("status", "--out", out) == cli.SAME
    told = capsys.readouterr().out
    assert "5 of 5 finished" in told
    assert "offline: 40 of 60 updates, 67%" in told


def test_the_estimate_of_the_run_is_that_of_its_shapes(out, capsys):
    from audits.multitask.estimate import estimated

    about = read_about(out)
    spec = spec_of(out)
    found = estimated(spec, out).memory
    arrays = sum(array.nbytes for array in pooling.read_episodes(about, out).arrays.values())
    assert found.constant == arrays + 2 * 4 * 5 * 12  # first row and length of every episode
    assert (found.replay, found.seeds) == (0, 1)
    larger = changed(spec, settings=spec.settings | {"mlp_dim": 64})
    more = estimated(larger, out).memory
    assert more.learner > found.learner
    assert more.working > found.working
    assert np.isclose(more.device - more.constant, more.state + more.working)
    shutil.rmtree(out / OFFLINE)
    assert audit("train", "--out", out, "--dry-run", "--gpus", 2, "--hours", 3) == cli.SAME
    told = capsys.readouterr().out.split("\n")[1].split()
    gigabytes = -(-round(1.25 * found.host) // 2**30)
    assert told == [OFFLINE, "0", "2", "8", str(gigabytes), "3.0", str(out / OFFLINE)]
    assert not (out / OFFLINE).exists()
