"""Checkpoints: whole or not at all, and every failure in one sentence."""

import gc
import json
import resource
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from core.training.checkpoint import CheckpointError, Checkpoints

IDENTITY = {"env": "CartPole-v1", "agent.units": 64, "seeds": [0, 1]}


class State(NamedTuple):
    keys: jax.Array
    tick: jax.Array
    ring: jax.Array
    flags: jax.Array
    half: jax.Array
    empty: tuple
    no_numbers: jax.Array


def state(tick=0):
    return State(
        keys=jax.random.split(jax.random.key(tick), 2),
        tick=jnp.int32(tick),
        ring=jax.random.normal(jax.random.key(tick + 1), (2, 3, 50_000)),
        flags=jnp.arange(7) % 3 == 0,
        half=jnp.arange(5, dtype=jnp.bfloat16),
        empty=(),
        no_numbers=jnp.zeros((2, 0, 3)),  # as a simulation without actuators has
    )


def same(left, right):
    plain = [
        jax.tree.map(
            lambda leaf: np.asarray(
                jax.random.key_data(leaf)
                if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
                else leaf
            ),
            tree,
        )
        for tree in (left, right)
    ]
    jax.tree.map(np.testing.assert_array_equal, *plain)


def damage(folder, cut=False):
    file = max((p for p in folder.rglob("*") if p.is_file()), key=lambda p: p.stat().st_size)
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 0x40
    file.write_bytes(data[: len(data) // 2] if cut else data)


def description(checkpoint):
    """The file of a checkpoint that says what it is."""
    (file,) = (f for f in (checkpoint / "about").iterdir() if b"checksums" in f.read_bytes())
    return file


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "checkpoints"


def test_what_is_restored_is_bitwise_what_was_saved(folder):
    assert Checkpoints(folder, IDENTITY).latest is None
    for tick in (160, 320, 480):
        Checkpoints(folder, IDENTITY).save(tick, state(tick))
    assert sorted(path.name for path in folder.iterdir()) == ["320", "480"]
    for like in (state(), jax.eval_shape(state)):
        rows, restored = Checkpoints(folder, IDENTITY).restore(like)
        assert rows == 480
        assert jax.tree.structure(restored) == jax.tree.structure(state())
        same(restored, state(480))


# orbax abandons its other readers when one fails.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("cut", [False, True], ids=["one flipped bit", "half a file"])
def test_damage_is_found_and_the_previous_checkpoint_still_works(folder, cut):
    checkpoints = Checkpoints(folder, IDENTITY)
    checkpoints.save(160, state(1))
    checkpoints.save(320, state(2))
    damage(folder / "320", cut)
    with pytest.raises(CheckpointError, match=r"320 is damaged.*delete that folder.*160 rows"):
        Checkpoints(folder, IDENTITY).restore(state())
    (folder / "320").rename(folder.with_name("away"))
    rows, restored = Checkpoints(folder, IDENTITY).restore(state())
    assert rows == 160
    same(restored, state(1))
    gc.collect()  # here, where a warning of them is expected


def test_another_configuration_is_refused_with_the_keys_that_differ(folder):
    Checkpoints(folder, IDENTITY).save(160, state())
    other = IDENTITY | {"agent.units": 256}
    with pytest.raises(CheckpointError, match=r"agent\.units was 64 and is now 256; resume") as got:
        Checkpoints(folder, other).restore(state())
    assert "env" not in str(got.value).split("configuration:")[1]


def test_a_key_that_came_later_was_at_its_default(folder):
    Checkpoints(folder, IDENTITY).save(160, state())
    later = IDENTITY | {"agent.later": False}
    assert Checkpoints(folder, later, {"agent.later": False}).restore(state())[0] == 160
    with pytest.raises(CheckpointError, match=r"agent\.later was True and is now False; resume"):
        Checkpoints(folder, later, {"agent.later": True}).restore(state())


class Later(NamedTuple):
    tick: jax.Array
    before: None = None
    later: None = None


class Earlier(NamedTuple):
    tick: jax.Array
    before: None = None


@pytest.mark.parametrize(("saved", "wanted"), [(Earlier, Later), (Later, Earlier)])
def test_a_field_that_holds_nothing_may_have_come_later(folder, saved, wanted):
    Checkpoints(folder, IDENTITY).save(160, {"part": saved(jnp.arange(3))})
    _, restored = Checkpoints(folder, IDENTITY).restore({"part": wanted(jnp.zeros(3, jnp.int32))})
    assert restored["part"]._replace(tick=None) == wanted(None)
    np.testing.assert_array_equal(restored["part"].tick, np.arange(3))


@pytest.mark.parametrize("part", [None, "identity", "checksums", "shapes"])
def test_a_damaged_description_is_said(folder, part):
    Checkpoints(folder, IDENTITY).save(160, state())
    file = description(folder / "160")
    about = json.loads(file.read_text())
    file.write_text(json.dumps({**about, part: []} if part else []))
    with pytest.raises(CheckpointError, match=r"160 is damaged \(its description is"):
        Checkpoints(folder, IDENTITY).restore(state())


def test_a_checkpoint_of_an_older_version_is_no_damage(folder):
    Checkpoints(folder, IDENTITY).save(160, state())
    file = description(folder / "160")
    about = json.loads(file.read_text())
    del about["shapes"]
    file.write_text(json.dumps(about))
    with pytest.raises(CheckpointError, match=r"another version of this program.*no shapes; use"):
        Checkpoints(folder, IDENTITY).restore(state())


def test_arrays_come_back_in_the_shapes_in_which_they_were_saved(folder):
    Checkpoints(folder, IDENTITY).save(160, state())
    larger = state()._replace(ring=jnp.zeros((2, 3, 60_000)))
    for like in (larger, jax.eval_shape(lambda: larger)):
        same(Checkpoints(folder, IDENTITY).restore(like)[1], state())


def test_an_interrupted_write_leaves_nothing_of_itself(folder, monkeypatch):
    checkpoints = Checkpoints(folder, IDENTITY)
    checkpoints.save(160, state(1))

    def interrupted(rows, **arguments):
        (folder / f"{rows}.orbax-checkpoint-tmp").mkdir()
        raise KeyboardInterrupt

    monkeypatch.setattr(checkpoints._manager, "save", interrupted)
    with pytest.raises(KeyboardInterrupt):
        checkpoints.save(320, state(2))
    assert [path.name for path in folder.iterdir()] == ["160"]


def test_a_state_of_other_parts_is_no_damage(folder):
    Checkpoints(folder, IDENTITY).save(160, state())
    with pytest.raises(CheckpointError, match=r"another version.*extra exists on one side"):
        Checkpoints(folder, IDENTITY).restore({"state": state(), "extra": jnp.zeros(1)})


# Threads of orbax that the failed write stops may be collected after their event loop.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_write_that_fails_leaves_the_previous_checkpoint(folder, capfd):
    checkpoints = Checkpoints(folder, IDENTITY)
    checkpoints.save(160, state(1))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))  # as a full disk: a write fails
    try:
        with pytest.raises(CheckpointError, match=r"320 rows could not.*make room.*160 rows is in"):
            checkpoints.save(320, state(2))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    gc.collect()
    assert [path.name for path in folder.iterdir()] == ["160"]
    assert "Traceback" not in "".join(capfd.readouterr())
    rows, restored = Checkpoints(folder, IDENTITY).restore(state())
    assert rows == 160
    same(restored, state(1))


def test_a_disk_that_is_too_small_is_noticed_before_writing(folder, monkeypatch):
    checkpoints = Checkpoints(folder, IDENTITY)
    usage = type("Usage", (), {"free": 1000})
    monkeypatch.setattr("core.training.checkpoint.shutil.disk_usage", lambda path: usage)
    with pytest.raises(CheckpointError, match=r"1,000 are free\).*there is no earlier one"):
        checkpoints.save(160, state())


def test_a_folder_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(CheckpointError, match="can not hold checkpoints"):
        Checkpoints(tmp_path / "file", IDENTITY)


def test_what_a_killed_process_left_is_removed(folder):
    Checkpoints(folder, IDENTITY).save(160, state())
    left = folder / "320.orbax-checkpoint-tmp" / "state"
    left.mkdir(parents=True)
    assert Checkpoints(folder, IDENTITY).restore(state())[0] == 160
    assert not left.exists()
