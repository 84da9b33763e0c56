"""A reference small enough for a test: a git repository of a few files, and wheels made here."""

from __future__ import annotations

import base64
import hashlib
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from reference_harness.pins import Pin

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="there is no git on PATH")

FILES = {
    "toy/__init__.py": b"VALUE = 1\n",
    "toy/model.py": b"from toy import VALUE\n",
    # Sorted by git as a.b, a/, a0: a folder counts as if its name ended in a slash.
    "a/inner.txt": b"inner\n",
    "a.b": b"dot\n",
    "a0": b"",
    # Each of these would change or drop a file that git archive or checkout writes.
    ".gitattributes": b"crlf.txt eol=crlf\nlf.txt eol=lf\nunseen.txt export-ignore\n",
    "crlf.txt": b"one\ntwo\n",
    "lf.txt": b"one\ntwo\n",
    "unseen.txt": b"not in an archive\n",
    ".gitignore": b"*.log\n",
}


def isolate(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A data folder of the test's own, no network, and no settings of whoever runs it."""
    monkeypatch.setenv("WORLD_MODEL_PARITY_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("UV_OFFLINE", "1")
    monkeypatch.setenv("UV_NO_INDEX", "1")
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("UV_FIND_LINKS", str(tmp_path))
    for name in ("UV_CONFIG_FILE", "UV_TORCH_BACKEND", "UV_REQUIRE_HASHES"):
        monkeypatch.delenv(name, raising=False)


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=toy", "-c", "user.email=toy@example.org")
    done = subprocess.run(
        ["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def make_repository(folder: Path) -> str:
    """Makes a repository with two commits; returns the first, which is checked out."""
    folder.mkdir(parents=True)
    git(folder, "init", "--quiet", "--initial-branch=main")
    for name, content in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(content)
    (folder / "run.sh").write_bytes(b"#!/bin/sh\n")
    (folder / "run.sh").chmod(0o755)
    (folder / "link").symlink_to("a/inner.txt")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message=pinned")
    commit = git(folder, "rev-parse", "HEAD")
    git(folder, "commit", "--quiet", "--allow-empty", "--message=later")
    git(folder, "checkout", "--quiet", "--detach", commit)
    return commit


def make_pin(commit: str, lock: Path, **fields) -> Pin:
    lock.touch()
    defaults = {
        "name": f"toy-{commit[:7]}",
        "repository": "toy",
        "url": "file:///published/nowhere",
        "era": "paper",
        "note": "",
        "date": "2024-01-01",
        "imports": ("toy.model",),
        "python": ">=3.11,<4",
    }
    return Pin(commit=commit, lock=str(lock), **(defaults | fields))


def make_wheel(folder: Path, name: str, version: str, *requires: str) -> None:
    """Writes a wheel with one module, named like the distribution."""
    info = f"{name}-{version}.dist-info"
    needs = "".join(f"Requires-Dist: {need}\n" for need in requires)
    files = {
        f"{name}.py": f"VERSION = '{version}'\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = ""
    for path, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content.encode()).digest()).decode()
        record += f"{path},sha256={digest.rstrip('=')},{len(content)}\n"
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
        for path, content in files.items():
            wheel.writestr(path, content)
        wheel.writestr(f"{info}/RECORD", f"{record}{info}/RECORD,,\n")
