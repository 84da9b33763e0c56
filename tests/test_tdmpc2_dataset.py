"""Episodes of several tasks on disk: what comes back, and what is refused."""

import dataclasses
import json

import numpy as np
import pytest

from audits.references.sources import sources
from core.tdmpc2.dataset import Dataset, DatasetError, Origin, load, save, told
from core.tdmpc2.episodes import Episodes
from core.tdmpc2.mt30 import MT30
from core.tdmpc2.pooling import Source, pooled, source_of_replay, sources_of_dataset
from core.tdmpc2.tasks import Tasks

LONG, SHORT = Origin("long", 2), Origin("short", time_limit=3)


def source(origin, episodes, observation, actions, length, seed=0):
    rng = np.random.default_rng(seed)
    return Source(
        origin,
        rng.normal(size=(episodes, length + 1, observation)).astype(np.float32),
        rng.uniform(-1, 1, (episodes, length, actions)).astype(np.float32),
        rng.normal(size=(episodes, length)).astype(np.float32),
    )


SOURCES = (source(LONG, 2, 4, 2, 5), source(SHORT, 3, 2, 1, 3), source(LONG, 1, 4, 2, 5, 1))
DATASET = pooled(SOURCES)


def changed(**arrays):
    return dataclasses.replace(DATASET, **arrays)


def with_number(name, where, value):
    array = getattr(DATASET, name).copy()
    array[where] = value
    return {name: array}


def test_pooled_episodes_are_those_of_the_runs_padded_with_zeros():
    assert DATASET.tasks == Tasks(("long", "short"), (4, 2), (2, 1), (5, 3))
    assert DATASET.task.tolist() == [0, 0, 0, 1, 1, 1]
    assert DATASET.first.tolist() == [0, 6, 12, 18, 22, 26]
    for episode, (of_source, number) in enumerate([(0, 0), (0, 1), (2, 0), (1, 0), (1, 1), (1, 2)]):
        theirs = SOURCES[of_source]
        o, a, t = theirs.sizes
        rows = slice(DATASET.first[episode], DATASET.first[episode] + t + 1)
        np.testing.assert_array_equal(DATASET.observation[rows, :o], theirs.observation[number])
        np.testing.assert_array_equal(DATASET.action[rows][:-1, :a], theirs.action[number])
        np.testing.assert_array_equal(DATASET.reward[rows][:-1], theirs.reward[number])
        assert not DATASET.observation[rows, o:].any()
        assert not DATASET.action[rows, a:].any()
        assert not DATASET.action[rows][-1].any()


def test_a_dataset_can_be_taken_apart_and_pooled_again():
    parts = sources_of_dataset(DATASET)
    assert [(part.origin, part.sizes) for part in parts] == [(LONG, (4, 2, 5)), (SHORT, (2, 1, 3))]
    np.testing.assert_array_equal(parts[0].action[2], SOURCES[2].action[0])
    assert pooled(parts).digest == DATASET.digest


def test_what_is_written_comes_back_and_alone(tmp_path):
    save(DATASET, tmp_path / "pool")
    found = load(tmp_path / "pool")
    assert (found.tasks, found.origins) == (DATASET.tasks, DATASET.origins)
    for name, array in DATASET.arrays.items():
        np.testing.assert_array_equal(found.arrays[name], array)
    assert found.digest == DATASET.digest
    assert told(tmp_path / "pool") == (DATASET.about, DATASET.digest)
    assert [path.name for path in tmp_path.iterdir()] == ["pool"]
    with pytest.raises(DatasetError, match="exists already"):
        save(DATASET, tmp_path / "pool")


def test_nothing_half_written_stays(tmp_path, monkeypatch):
    def fails(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", fails)
    with pytest.raises(DatasetError, match="No space left"):
        save(DATASET, tmp_path / "pool")
    assert not list(tmp_path.iterdir())


def test_the_digest_is_of_everything():
    others = [
        changed(**with_number("reward", 0, 7)),
        changed(origins=(Origin("long", 4), SHORT)),
        changed(tasks=dataclasses.replace(DATASET.tasks, names=("other", "short"))),
    ]
    assert len({DATASET.digest, *(other.digest for other in others)}) == 4


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        (with_number("observation", (19, 1), np.nan), "step 1 of episode 3, of short"),
        (with_number("action", (5, 0), np.inf), "action is not finite"),
        (with_number("reward", 3, -np.inf), "reward is not finite"),
        (with_number("action", (1, 0), 1.5), "outside −1 to 1 in step 1 of episode 0, of long"),
        (with_number("observation", (19, 2), 1), "observation of short has numbers beyond its 2"),
        (with_number("action", (19, 1), 1), "action of short has numbers beyond its 1"),
        (with_number("action", (5, 0), 0.5), "last row"),
        (with_number("reward", 21, 1), "last row"),
        (with_number("task", 3, 2), "index below 2"),
        (with_number("task", slice(3, 6), 0), "no episode of short"),
        ({"reward": DATASET.reward[:-1]}, r"reward of 6 .* \(30,\), not \(29,\)"),
        ({"observation": DATASET.observation[:, :3]}, r"shape \(30, 4\), not \(30, 3\)"),
        ({"action": DATASET.action.astype(np.float64)}, "float32, not float64"),
        ({"origins": (LONG,)}, "2 tasks have 1 environments"),
    ],
)
def test_arrays_that_break_a_rule_are_refused(arrays, message):
    with pytest.raises(DatasetError, match=message):
        changed(**arrays)


def described(folder, change):
    path = folder / "episodes.json"
    about = json.loads(path.read_text())
    change(about)
    path.write_text(json.dumps(about))


def rewritten(folder, **arrays):
    np.savez(folder / "episodes.npz", **{**DATASET.arrays, **arrays})


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda f: rewritten(f, **with_number("reward", 0, 7)), "reward .* SHA-256"),
        (lambda f: rewritten(f, more=np.zeros(1)), "has the arrays action, more"),
        (lambda f: described(f, lambda a: a.update(version=2)), "version 2, .* reads 1"),
        (lambda f: described(f, lambda a: a.update(format="else")), "does not say"),
        (lambda f: described(f, lambda a: a.pop("tasks")), "does not describe episodes"),
        (lambda f: described(f, lambda a: a["tasks"].pop()), "pool: .* 2 tasks|index below 1"),
        (lambda f: described(f, lambda a: a["tasks"][0].update(episodes=9)), "other episodes"),
        (lambda f: described(f, lambda a: a["tasks"][0].update(action_repeat=0)), "from 1"),
        (lambda f: (f / "episodes.json").write_text("{"), "no JSON"),
        (lambda f: (f / "episodes.json").unlink(), "episodes.json can not be read"),
        (lambda f: (f / "episodes.npz").unlink(), "episodes.npz can not be read"),
        (lambda f: (f / "episodes.npz").write_bytes(b"PK\x03\x04half"), "can not be read"),
    ],
)
def test_damage_on_the_disk_is_named(tmp_path, damage, message):
    folder = tmp_path / "pool"
    save(DATASET, folder)
    damage(folder)
    with pytest.raises(DatasetError, match=message):
        load(folder)


def test_a_flipped_byte_is_found(tmp_path):
    save(DATASET, tmp_path / "pool")
    path = tmp_path / "pool/episodes.npz"
    content = bytearray(path.read_bytes())
    content[200] ^= 1
    path.write_bytes(content)
    with pytest.raises(DatasetError, match=r"can not be read|SHA-256"):
        load(tmp_path / "pool")


def replay(seeds=2, places=4, n_envs=3, length=2):
    order = np.arange(seeds * places * n_envs, dtype=np.float32)
    grid = order.reshape(seeds, places, n_envs, 1)
    return Episodes(
        np.broadcast_to(grid[..., None], (*grid.shape[:3], length + 1, 1)),
        np.zeros((*grid.shape[:3], length, 1), np.float32),
        np.broadcast_to(grid, (*grid.shape[:3], length)),
    )


def test_all_whole_episodes_of_a_run_are_taken_the_oldest_first():
    found = source_of_replay(LONG, replay(), 5)  # two rounds, and a step
    assert found.sizes == (1, 1, 2)
    expected = [0, 1, 2, 12, 13, 14, 3, 4, 5, 15, 16, 17]
    np.testing.assert_array_equal(found.reward[:, 0], expected)
    np.testing.assert_array_equal(found.observation[:, 2, 0], expected)
    assert len(source_of_replay(LONG, replay(), 7).reward) == 18


@pytest.mark.parametrize(("steps", "message"), [(1, "no whole episode"), (8, "overwritten")])
def test_a_replay_without_the_whole_history_is_refused(steps, message):
    with pytest.raises(DatasetError, match=message):
        source_of_replay(LONG, replay(), steps)


def test_runs_of_one_environment_must_be_alike():
    with pytest.raises(DatasetError, match="are not alike"):
        pooled([SOURCES[0], source(Origin("long", 1), 1, 4, 2, 5)])
    with pytest.raises(DatasetError, match="are not alike"):
        pooled([SOURCES[0], source(LONG, 1, 4, 2, 6)])
    with pytest.raises(DatasetError, match="different names"):
        pooled([])


def test_the_set_of_30_has_the_references_order_and_lacks_nothing():
    every = [source(Origin(env, 2), 1, 3, 1, 2) for env in reversed(list(MT30.values()))]
    dataset = pooled(every, mt30=True)
    assert isinstance(dataset, Dataset)
    assert dataset.tasks.names == tuple(MT30)
    assert [origin.env for origin in dataset.origins] == list(MT30.values())
    with pytest.raises(DatasetError, match="lacks HopperHop"):
        pooled(every[1:], mt30=True)
    with pytest.raises(DatasetError, match="does not have long"):
        pooled([*every, SOURCES[0]], mt30=True)


def test_the_set_of_30_is_the_one_that_the_reference_is_held_to():
    theirs = sources()["tdmpc2"]
    assert {name: theirs.mapped[name] for name in theirs.mt30} == dict(MT30)
    assert theirs.mt30 == list(MT30)
