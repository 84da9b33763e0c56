"""Recordings: what is asked is known by digest, and nothing damaged is ever used."""

import hashlib
import json
import shutil

import numpy as np
import pytest

from reference_harness import recorder as recorder_module
from reference_harness.pins import find_pin
from reference_harness.recorder import Recorder, pack
from reference_harness.recordings import (
    FOLDER,
    MANIFEST,
    NotRecordedError,
    Recording,
    RecordingError,
    read_manifest,
    request_digest,
)

PIN = "dreamerv3-29eb964"
SYMLOG = "dreamerv3.symlog"
SCHEDULE = "dreamerv3.update_schedule"
X = {"x": np.float32([1.0, -2.0]), "mode": "eager"}
STEPS = {"numerator": 1, "denominator": 2, "steps": np.arange(200_000)}
SESSION = {"command": "parity record", "created": "2026-01-01T00:00:00+00:00"}


def write(folder, answers, claim="D1/a", pin=PIN, prune=False):
    recorder = Recorder(pin, SESSION, folder)
    for operation, inputs, answer in answers:
        recorder.add(operation, inputs, answer)
    recorder.keep(claim)
    return recorder.write(prune=prune)


def y(*values):
    return {"y": np.array(values, np.float32)}


@pytest.fixture
def folder(tmp_path):
    write(tmp_path, [(SYMLOG, X, y(0.5, -0.7))])
    return tmp_path


def answers_file(folder):
    return next((folder / PIN / "answers").iterdir())


def test_digest_is_pinned_and_independent_of_order_layout_and_byte_order():
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    digest = request_digest("op", {"a": array, "n": 3})
    assert digest == request_digest("op", {"n": 3, "a": np.asfortranarray(array).astype(">f4")})
    # A constant, so that a recording made today is still found by a later version.
    assert digest.startswith("2400c675e7d8faab")


@pytest.mark.parametrize(
    "other",
    [
        {"a": np.float32([1, 2, 3]), "n": 4},
        {"a": np.float32([[1, 2, 3]]), "n": 3},
        {"a": np.float64([1, 2, 3]), "n": 3},
        {"a": np.float32([1, 2, np.nextafter(np.float32(3), np.float32(4))]), "n": 3},
        {"b": np.float32([1, 2, 3]), "n": 3},
        {"a": np.float32([1, 2, 3]), "n": 3.0},
    ],
)
def test_digest_tells_requests_apart(other):
    inputs = {"a": np.float32([1, 2, 3]), "n": 3}
    assert request_digest("op", inputs) != request_digest("op", other)
    assert request_digest("op", inputs) != request_digest("op2", inputs)


def test_answers_come_back_bit_for_bit(tmp_path):
    odd = {
        "nan": np.float32([np.nan, -0.0, np.inf, 1e-45]),
        "scalar": np.float64(0.1) + np.zeros(()),
        "counts": np.random.default_rng(0).integers(-(2**62), 2**62, (3, 500)),
        "unsigned": np.arange(300, dtype=np.uint8)[::-1] % 251,
        "flags": np.array([True, False]),
        "empty": np.zeros((0, 4), np.float32),
    }
    write(tmp_path, [(SYMLOG, X, odd)])
    found = Recording(PIN, tmp_path).answer(SYMLOG, X)
    assert found.keys() == odd.keys()
    for name, value in odd.items():
        assert found[name].dtype == value.dtype
        assert found[name].shape == value.shape
        assert found[name].tobytes() == value.tobytes()


def test_long_counts_take_little_room(tmp_path):
    updates = np.cumsum(np.arange(200_000) % 32 == 0)
    written = write(tmp_path, [(SCHEDULE, STEPS, {"updates": updates})])
    assert written.size < 20_000
    found = Recording(PIN, tmp_path).answer(SCHEDULE, STEPS)["updates"]
    np.testing.assert_array_equal(found, updates)


def test_a_question_that_was_not_recorded_is_named_by_its_digest(folder):
    asked = {**X, "mode": "compiled"}
    with pytest.raises(NotRecordedError, match=SYMLOG) as caught:
        Recording(PIN, folder).answer(SYMLOG, asked)
    assert caught.value.digest == request_digest(SYMLOG, asked)
    with pytest.raises(NotRecordedError):
        Recording("tdmpc2-5f6fade", folder).answer(SYMLOG, X)


def truncate(folder):
    path = answers_file(folder)
    path.write_bytes(path.read_bytes()[:-20])


def edit(folder):
    path = answers_file(folder)
    other = {request_digest(SYMLOG, X): y(0.5, -0.8)}
    path.write_bytes(pack(other))  # a sound archive with another answer


def remove(folder):
    answers_file(folder).unlink()


def swap_for_unlisted(folder):
    manifest = json.loads((folder / MANIFEST).read_text())
    manifest["files"] = {n: d for n, d in manifest["files"].items() if "answers" not in n}
    (folder / MANIFEST).write_text(json.dumps(manifest))


def break_manifest(folder):
    (folder / MANIFEST).write_text('{"format": 1, "files": ')


def account(number, **requests):
    """A file of provenance, of one session."""
    session = {**SESSION, "created": f"2026-01-0{number}T00:00:00+00:00"}
    return {**session, "requests": {op.replace("_", "."): table for op, table in requests.items()}}


def test_recordings_that_were_merged_as_files_lose_nothing_to_the_next_one(tmp_path):
    """Two accounts have one session in common, and one each of their own."""
    questions = {n: {**X, "mode": n} for n in "abcd"}
    for n in "abc":
        write(tmp_path, [(SYMLOG, questions[n], y(ord(n)))], claim=f"D1/{n}")
    digests = {n: request_digest(SYMLOG, question) for n, question in questions.items()}
    sessions = {
        n: account(i, dreamerv3_symlog={digests[n]: [f"D1/{n}"]}) for i, n in enumerate("abc", 1)
    }
    manifest = read_manifest(tmp_path)
    (old,) = (tmp_path / PIN).glob("provenance*")
    old.unlink()
    kept = {n: d for n, d in manifest.items() if "provenance" not in n}
    for own in "bc":
        text = json.dumps({"pin": PIN, "sessions": [sessions["a"], sessions[own]]})
        name = f"{PIN}/provenance-{own}.json"
        (tmp_path / name).write_text(text)
        kept[name] = hashlib.sha256(text.encode()).hexdigest()
    (tmp_path / MANIFEST).write_text(json.dumps({"format": 1, "files": kept}))

    assert Recording(PIN, tmp_path).sessions == list(sessions.values())
    written = write(tmp_path, [(SYMLOG, questions["d"], y(4))], claim="D1/d")
    assert (written.answers, written.added, written.dropped) == (4, 1, 0)
    Recording(PIN, tmp_path).verify()
    for n in "abc":
        assert Recording(PIN, tmp_path).answer(SYMLOG, questions[n])["y"] == ord(n)


def edit_provenance(folder):
    path = next((folder / PIN).glob("provenance*"))
    path.write_text(path.read_text().replace("2026", "2025"))


def remove_provenance(folder):
    next((folder / PIN).glob("provenance*")).unlink()


def drop_provenance(folder):
    manifest = json.loads((folder / MANIFEST).read_text())
    manifest["files"] = {n: d for n, d in manifest["files"].items() if "answers" in n}
    (folder / MANIFEST).write_text(json.dumps(manifest))


@pytest.mark.parametrize("damage", [edit_provenance, remove_provenance, drop_provenance])
def test_answers_from_nobody_knows_where_are_refused(folder, damage):
    damage(folder)
    with pytest.raises(RecordingError, match=r"provenance.* `parity record`"):
        Recording(PIN, folder).answer(SYMLOG, X)
    write(folder, [(SYMLOG, X, y(0.5, -0.7))], prune=True)
    assert Recording(PIN, folder).answer(SYMLOG, X)


@pytest.mark.parametrize("damage", [truncate, edit, remove, swap_for_unlisted, break_manifest])
def test_damage_is_refused_by_name_with_the_way_out(folder, damage):
    damage(folder)
    with pytest.raises(RecordingError, match="parity record") as caught:
        Recording(PIN, folder).answer(SYMLOG, X)
    named = MANIFEST if damage is break_manifest else SYMLOG
    assert named in str(caught.value)
    # Merging into it is refused as well; a full recording mends it.
    with pytest.raises(RecordingError):
        write(folder, [(SYMLOG, {**X, "mode": "compiled"}, y(1, 2))], claim="D2/b")
    write(folder, [(SYMLOG, X, y(0.5, -0.7))], prune=True)
    Recording(PIN, folder).verify()


def test_the_same_answers_give_the_same_files(folder, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    write(other, [(SYMLOG, X, y(0.5, -0.7))])
    files = [{p.relative_to(f): p.read_bytes() for p in f.rglob("*.*")} for f in (folder, other)]
    assert files[0] == files[1]


def test_merging_keeps_other_claims_and_drops_what_is_no_longer_asked(folder):
    second = {**X, "mode": "compiled"}
    third = {**X, "x": np.float32([9.0, 9.0])}
    write(folder, [(SYMLOG, second, y(3, 4)), (SYMLOG, X, y(0.5, -0.7))], claim="D2/b")
    write(folder, [(SYMLOG, third, y(5, 6))], claim="D2/b")
    found = Recording(PIN, folder)
    np.testing.assert_array_equal(found.answer(SYMLOG, third)["y"], [5, 6])
    np.testing.assert_array_equal(found.answer(SYMLOG, X)["y"], np.float32([0.5, -0.7]))
    with pytest.raises(NotRecordedError):
        found.answer(SYMLOG, second)
    asked_by = {
        digest: askers
        for session in found.sessions
        for digest, askers in session["requests"][SYMLOG].items()
    }
    assert asked_by == {
        request_digest(SYMLOG, X): ["D1/a"],
        request_digest(SYMLOG, third): ["D2/b"],
    }


def test_pruning_replaces_one_pin_and_leaves_the_others(folder):
    write(folder, [(SYMLOG, X, y(1, 1))], pin="dreamerv3-2411f7d")
    done = write(folder, [(SCHEDULE, STEPS, {"updates": STEPS["steps"]})], prune=True)
    assert (done.answers, done.added, done.dropped) == (1, 1, 1)
    assert Recording(PIN, folder).operations == (SCHEDULE,)
    assert Recording("dreamerv3-2411f7d", folder).operations == (SYMLOG,)


@pytest.mark.parametrize("stage", [1, 2, 3])
def test_an_interrupted_recording_leaves_the_old_one_whole(folder, monkeypatch, stage):
    before = {path: path.read_bytes() for path in folder.rglob("*.*")}
    calls = []
    original = recorder_module._write

    def interrupted(path, data):
        calls.append(path)
        if len(calls) == stage:
            raise KeyboardInterrupt
        original(path, data)

    monkeypatch.setattr(recorder_module, "_write", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write(folder, [(SYMLOG, {**X, "mode": "compiled"}, y(1, 2))])
    assert len(calls) == stage
    assert {path: path.read_bytes() for path in folder.rglob("*.*")} == before
    Recording(PIN, folder).verify()


def test_an_interrupt_after_the_manifest_took_effect_leaves_the_new_one_whole(folder, monkeypatch):
    original = recorder_module._write

    def late(path, data):
        original(path, data)
        if path.name == MANIFEST:
            raise KeyboardInterrupt

    monkeypatch.setattr(recorder_module, "_write", late)
    with pytest.raises(KeyboardInterrupt):
        write(folder, [(SYMLOG, {**X, "mode": "compiled"}, y(1, 2))], claim="D2/b")
    found = Recording(PIN, folder)
    np.testing.assert_array_equal(found.answer(SYMLOG, X)["y"], np.float32([0.5, -0.7]))
    np.testing.assert_array_equal(found.answer(SYMLOG, {**X, "mode": "compiled"})["y"], [1, 2])


def test_an_unwritable_folder_is_explained(tmp_path):
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(RecordingError, match="--recordings"):
        write(tmp_path / "taken", [(SYMLOG, X, y(1, 2))])


def test_the_embedded_recordings_are_whole_and_small(tmp_path):
    manifest = read_manifest(FOLDER)
    if not manifest:
        pytest.skip("nothing is recorded yet")
    pins = sorted({name.split("/")[0] for name in manifest})
    for pin in pins:
        recording = Recording(pin, FOLDER)
        recording.verify()
        for session in recording.sessions:
            assert session["commit"] == find_pin(pin).commit
            assert session["packages"]
    assert sum(path.stat().st_size for path in FOLDER.rglob("*") if path.is_file()) < 10e6
    # A single flipped bit anywhere must be seen.
    copy = tmp_path / "copy"
    shutil.copytree(FOLDER, copy)
    name = sorted(manifest)[0]
    data = bytearray((copy / name).read_bytes())
    data[len(data) // 2] ^= 1
    (copy / name).write_bytes(data)
    assert hashlib.sha256(data).hexdigest() != manifest[name]
    with pytest.raises(RecordingError, match=name.split("/")[0]):
        Recording(name.split("/")[0], copy).verify()
