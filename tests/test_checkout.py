import os
import stat
import zlib

import pytest
from toy_reference import FILES, git, isolate, make_pin, make_repository, needs_git

from reference_harness import checkout
from reference_harness.errors import HarnessError

pytestmark = needs_git


@pytest.fixture
def source(tmp_path, monkeypatch):
    isolate(monkeypatch, tmp_path)
    make_repository(tmp_path / "source")
    return tmp_path / "source"


@pytest.fixture
def pin(source, tmp_path):
    return make_pin(git(source, "rev-parse", "HEAD"), tmp_path / "lock.txt")


def obtain(pin, source):
    said = []
    return checkout.obtain(pin, str(source), said.append), said


def snapshot(folder):
    paths = [folder, *folder.rglob("*")]
    return {
        path: (path.lstat().st_mtime_ns, path.lstat().st_mode, path.is_file() and path.read_bytes())
        for path in paths
    }


def test_the_exported_files_have_the_committed_bytes_whatever_git_is_set_to(source, pin):
    git(source, "config", "core.autocrlf", "true")
    other = git(source, "hash-object", "-w", ".gitignore")
    git(source, "replace", git(source, "rev-parse", "HEAD:a.b"), other)
    obtained, _ = obtain(pin, source / ".git")
    found = {
        path.relative_to(obtained.tree).as_posix(): path.read_bytes()
        for path in obtained.tree.rglob("*")
        if path.is_file() and not path.is_symlink()
    }
    assert found == {**FILES, "run.sh": b"#!/bin/sh\n"}
    assert os.readlink(obtained.tree / "link") == "a/inner.txt"
    assert obtained.tree_hash == git(source, "rev-parse", "HEAD^{tree}")


def test_the_exported_files_are_read_only_and_keep_their_executable_bit(source, pin):
    tree = obtain(pin, source)[0].tree
    modes = {path.name: stat.S_IMODE(path.lstat().st_mode) for path in (tree, *tree.rglob("*"))}
    assert modes["run.sh"] == modes["tree"] == modes["toy"] == 0o555
    assert modes["model.py"] == 0o444


def test_a_checkout_is_only_read(source, pin, monkeypatch, tmp_path):
    # Git would like to write the new time of this unchanged file into the index.
    os.utime(source / "a.b", ns=(10**18, 10**18))
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"):
        monkeypatch.setenv(name, str(tmp_path / "misleading"))
    before = snapshot(source)
    obtain(pin, source)
    assert snapshot(source) == before


def test_a_checkout_of_another_commit_is_refused(source, pin):
    git(source, "checkout", "--quiet", "main")
    with pytest.raises(HarnessError) as caught:
        obtain(pin, source)
    message = str(caught.value)
    assert git(source, "rev-parse", "HEAD")[:12] in message
    assert pin.commit in message
    assert f"git -C {source} checkout {pin.short}" in message


def modify(source):
    (source / "toy/model.py").write_text("changed\n")


def stage(source):
    modify(source)
    git(source, "add", "toy/model.py")
    (source / "toy/model.py").write_bytes(FILES["toy/model.py"])


def delete(source):
    (source / "toy/model.py").unlink()


def add(source):
    (source / "toy/model.py.orig").touch()


@pytest.mark.parametrize("change", [modify, stage, delete, add])
def test_a_checkout_with_changes_is_refused_and_its_own_remedy_helps(source, pin, change):
    change(source)
    with pytest.raises(HarnessError, match=r"toy/model\.py.*stash --include-untracked"):
        obtain(pin, source)
    git(source, "stash", "--include-untracked")
    obtain(pin, source)


def test_ignored_files_do_not_matter(source, pin):
    (source / "run.log").touch()
    assert not (obtain(pin, source)[0].tree / "run.log").exists()


def test_sources_that_are_none_are_refused_with_the_reason(source, pin, tmp_path):
    (tmp_path / "plain").mkdir()
    git(tmp_path, "init", "--quiet", "--bare", "empty.git")
    for path, reason in {
        tmp_path / "plain": "not a git checkout",
        tmp_path / "lock.txt": "is a file",
        tmp_path / "nowhere": "neither a folder that exists nor an address",
        source / "toy": "lies inside that of",
        tmp_path / "empty.git": f"does not have commit {pin.commit}",
        "file:///nowhere/toy.git": "could not be fetched",
    }.items():
        with pytest.raises(HarnessError, match=reason):
            obtain(pin, path)
    assert checkout.read(pin) is None


def test_a_damaged_object_of_the_source_is_not_exported(source, pin):
    digest = git(source, "rev-parse", "HEAD:lf.txt")
    stored = source / ".git/objects" / digest[:2] / digest[2:]
    stored.chmod(0o644)
    stored.write_bytes(zlib.compress(b"blob 4\0lie\n"))
    with pytest.raises(HarnessError, match=r"damaged copy of (crlf|lf)\.txt"):
        obtain(pin, source / ".git")


def test_one_commit_is_fetched_from_an_address(source, pin):
    obtained, said = obtain(pin, f"file://{source}")
    assert checkout.damage(obtained) == ""
    assert not any("everything" in line for line in said)
    assert checkout.read(pin) == obtained


def test_everything_is_fetched_from_a_server_that_hands_out_no_single_commit(
    source, pin, monkeypatch
):
    git(source, "checkout", "--quiet", "main")
    for name, value in {"COUNT": "1", "KEY_0": "protocol.version", "VALUE_0": "0"}.items():
        monkeypatch.setenv(f"GIT_CONFIG_{name}", value)
    obtained, said = obtain(pin, f"file://{source}")
    assert checkout.damage(obtained) == ""
    assert any("everything" in line for line in said)


def test_a_password_in_an_address_is_neither_told_nor_kept(source, pin):
    said = []
    with pytest.raises(HarnessError) as caught:
        checkout.obtain(pin, "file://toy:secret@/nowhere", said.append)
    assert "secret" not in f"{said} {caught.value}"


def test_every_kind_of_damage_is_found_and_named(source, pin):
    obtained, _ = obtain(pin, source)
    assert checkout.damage(obtained) == ""
    tree = obtained.tree
    for path in (tree, *tree.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path.name == "run.sh" else 0o644)
    (tree / "toy/model.py").write_bytes(b"from toy import VALUe\n")
    assert checkout.damage(obtained) == "changed: toy/model.py"
    (tree / "toy/model.py").write_bytes(FILES["toy/model.py"])
    (tree / "run.sh").chmod(0o644)
    (tree / "a0").unlink()
    (tree / "toy/extra.py").touch()
    (tree / "link").unlink()
    (tree / "link").symlink_to("a.b")
    told = checkout.damage(obtained)
    assert told == "changed: link, run.sh; missing: a0; added: toy/extra.py"
