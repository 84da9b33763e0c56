"""Git, asked without touching anything, and git's hashes, computed without git.

Git is only asked for objects. What they hold is hashed again here, from the pin's commit hash
down to the last file, so nothing between the pin and the bytes on disk has to be trusted:
attributes, line-ending settings, replace refs or a damaged pack can not change a tree unseen.
"""

from __future__ import annotations

import hashlib
import os
import stat
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from reference_harness.errors import HarnessError

# Path inside the tree -> "mode hash" of the file, as `git ls-tree -r` lists it.
Manifest = dict[str, str]

# What points git at a repository other than the one it is asked about, or changes the objects
# that it shows. A command that runs inside a git hook has several of them set.
_NOT_INHERITED = (
    *("GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_CEILING_DIRECTORIES", "GIT_COMMON_DIR"),
    *("GIT_CONFIG", "GIT_DIR", "GIT_DISCOVERY_ACROSS_FILESYSTEM", "GIT_GRAFT_FILE"),
    *("GIT_IMPLICIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_INTERNAL_SUPER_PREFIX"),
    *("GIT_LITERAL_PATHSPECS", "GIT_NAMESPACE", "GIT_OBJECT_DIRECTORY", "GIT_PREFIX"),
    *("GIT_QUARANTINE_PATH", "GIT_REPLACE_REF_BASE", "GIT_SHALLOW_FILE", "GIT_WORK_TREE"),
)
_FORCED = {
    "GIT_OPTIONAL_LOCKS": "0",  # `status` may not refresh the index of somebody's checkout
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",  # messages are matched
}


class GitError(HarnessError):
    """Git failed.

    Attributes:
        output: What git said.
    """

    def __init__(self, message: str, output: str = ""):
        super().__init__(message)
        self.output = output


def _command(arguments: tuple[str, ...]) -> list[str]:
    # A monitor is a program of the checkout's own configuration: not ours to start.
    return ["git", "-c", "core.fsmonitor=false", *arguments]


def _environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in _NOT_INHERITED}
    return kept | _FORCED


def git(*arguments: str, at: Path | None = None) -> str:
    """Runs git and returns what it prints.

    Args:
        arguments: The command.
        at: The folder to run it in.

    Raises:
        GitError: Git is missing, or failed.
    """
    try:
        done = subprocess.run(
            _command(arguments),
            cwd=at,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
    except FileNotFoundError:
        raise GitError("a reference is obtained with git, and there is no `git` on PATH.") from None
    output = done.stderr.decode(errors="replace").strip()
    if done.returncode:
        raise _failed(arguments, at, output)
    return os.fsdecode(done.stdout)


def _failed(arguments: tuple[str, ...], at: Path | None, output: str) -> GitError:
    if "dubious ownership" in output:
        return GitError(
            f"{at} belongs to another user, so git refuses to read it; if you trust it, say so "
            f"with `git config --global --add safe.directory {at}`.",
            output,
        )
    if "cannot use bare repository" in output:
        return GitError(
            f"your git settings (safe.bareRepository) forbid reading {at}; pass a checkout with a "
            "work tree, or allow it for this command with `GIT_CONFIG_COUNT=1 "
            "GIT_CONFIG_KEY_0=safe.bareRepository GIT_CONFIG_VALUE_0=all`.",
            output,
        )
    last = output.splitlines()[-1] if output else "it said nothing"
    return GitError(f"`git {' '.join(arguments)}` failed: {last}", output)


def object_hash(kind: str, content: bytes) -> str:
    """Git's name for an object."""
    return hashlib.sha1(b"%s %d\0" % (kind.encode(), len(content)) + content).hexdigest()


def tree_hash(manifest: Mapping[str, str]) -> str:
    """Git's hash of the tree that a manifest lists."""
    entries: dict[str, tuple[str, str]] = {}
    folders: dict[str, dict[str, str]] = {}
    for path, entry in manifest.items():
        head, slash, rest = path.partition("/")
        if slash:
            folders.setdefault(head, {})[rest] = entry
        else:
            mode, digest = entry.split()
            entries[head] = (mode, digest)
    for name, inner in folders.items():
        entries[name] = ("40000", tree_hash(inner))
    content = b""
    # Git sorts a folder as if its name ended in a slash.
    for name in sorted(entries, key=lambda name: os.fsencode(name + "/" * (name in folders))):
        mode, digest = entries[name]
        content += mode.encode() + b" " + os.fsencode(name) + b"\0" + bytes.fromhex(digest)
    return object_hash("tree", content)


def list_folder(folder: Path) -> Manifest:
    """The manifest of the files in a folder, as git would list them.

    Something that git can not hold (a socket, a device) is listed with the mode 000000.
    """
    manifest: Manifest = {}
    for entry in _walk(folder):
        path = Path(entry.path)
        mode = entry.stat(follow_symlinks=False).st_mode
        content = b""
        if stat.S_ISLNK(mode):
            kind, content = "120000", os.fsencode(os.readlink(path))
        elif stat.S_ISREG(mode):
            kind, content = ("100755" if mode & 0o100 else "100644"), path.read_bytes()
        else:
            kind = "000000"
        name = path.relative_to(folder).as_posix()
        manifest[name] = f"{kind} {object_hash('blob', content)}"
    return manifest


def _walk(folder: Path) -> Iterator[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            if entry.is_dir(follow_symlinks=False):
                yield from _walk(Path(entry.path))
            else:
                yield entry


def export(repository: Path, commit: str, destination: Path) -> Manifest:
    """Writes the files of a commit into an empty folder, byte for byte as committed.

    Args:
        repository: A checkout or a bare git folder that has the commit. It is only read.
        commit: The full hash.
        destination: An empty folder.

    Returns:
        What was written, every hash of it checked.

    Raises:
        GitError: The commit or one of its objects is missing or damaged, or it holds something
            that is not exported (a submodule).
    """
    manifest = _list_commit(repository, commit)
    objects = subprocess.Popen(
        _command(("cat-file", "--batch")),
        cwd=repository,
        env=_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    with objects:
        for path, entry in manifest.items():
            mode, digest = entry.split()
            content = _read_object(objects, digest)
            if content is None or object_hash("blob", content) != digest:
                what = "lacks" if content is None else "has a damaged copy of"
                raise GitError(f"{repository} {what} {path} of {commit[:7]}; clone it again.")
            _write(destination / path, mode, content)
    return manifest


def _list_commit(repository: Path, commit: str) -> Manifest:
    content = git("cat-file", "commit", commit, at=repository)
    if object_hash("commit", os.fsencode(content)) != commit:
        raise GitError(f"{repository} has a damaged copy of commit {commit}; clone it again.")
    tree = content.split("\n", 1)[0].removeprefix("tree ")
    manifest: Manifest = {}
    for line in git("ls-tree", "-r", "-z", "--full-tree", tree, at=repository).split("\0")[:-1]:
        fields, path = line.split("\t", 1)
        mode, _, digest = fields.split()
        if mode == "160000":
            raise GitError(f"commit {commit} has a submodule, {path}, which is not exported.")
        manifest[path] = f"{mode} {digest}"
    if tree_hash(manifest) != tree:
        raise GitError(f"{repository} has a damaged tree at {commit}; clone it again.")
    return manifest


def _read_object(objects: subprocess.Popen[bytes], digest: str) -> bytes | None:
    assert objects.stdin is not None
    assert objects.stdout is not None
    try:
        objects.stdin.write(digest.encode() + b"\n")
        objects.stdin.flush()
    except BrokenPipeError:
        return None
    header = objects.stdout.readline().split()
    if len(header) != 3:
        return None
    content = objects.stdout.read(int(header[2]))
    objects.stdout.read(1)
    return content


def _write(path: Path, mode: str, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if mode == "120000":
        path.symlink_to(os.fsdecode(content))
        return
    path.write_bytes(content)
    path.chmod(0o755 if mode == "100755" else 0o644)
