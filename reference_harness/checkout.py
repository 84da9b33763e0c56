"""Obtains the tree of a pin: exactly the committed files, in a folder of the harness's own.

Whatever it is obtained from, the reference is never run from there and nothing is written there.
The commit is exported instead, into a read-only folder, so that not even bytecode changes it.
"""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from reference_harness import git, home
from reference_harness.errors import HarnessError
from reference_harness.home import Report
from reference_harness.pins import Pin

# What servers say that do not hand out a commit by its hash, or only a whole history.
_NOT_BY_HASH = re.compile(
    "not our ref|unadvertised object|does not support shallow|couldn't find remote ref"
    "|does not allow request|server does not support",
    re.IGNORECASE,
)
_SHOWN = 5  # files named in a message


@dataclass(frozen=True)
class Checkout:
    """An exported tree.

    Attributes:
        tree: The folder with the files.
        commit: The commit they are from.
        tree_hash: Git's hash of the tree.
        source: The folder or address they were obtained from.
        files: Mode and hash of every file, as `git ls-tree -r` lists them.
    """

    tree: Path
    commit: str
    tree_hash: str
    source: str
    files: git.Manifest


def obtain(pin: Pin, source: str, report: Report) -> Checkout:
    """Exports the pinned commit into the data folder, in the place of what was there.

    Args:
        pin: The commit.
        source: A checkout, a bare git folder or an address.
        report: Told what takes long.

    Raises:
        HarnessError: The source is no repository, is a checkout of another commit or one with
            changes, lacks the commit, or can not be reached.
    """
    folder = Path(source).expanduser()
    if folder.exists():
        folder = folder.resolve()
        source = str(folder)
        _check_folder(pin, folder)
        return _export(pin, folder, source, report)
    if not _is_address(source):
        raise HarnessError(
            f"{pin.name} is to be taken from {source!r}, which is neither a folder that exists nor "
            "an address."
        )
    shown = re.sub(r"://[^/@]*@", "://", source)  # a password is not to be told or kept
    fetched = _fetch(pin, source, shown, report)
    try:
        return _export(pin, fetched, shown, report)
    finally:
        home.remove_folder(fetched)


def nothing(pin: Pin) -> Checkout:
    """An empty tree, for packages alone."""
    final = _folder(pin)
    fields = {"commit": "", "tree_hash": git.tree_hash({}), "source": pin.url, "files": {}}
    with home.staging(final) as folder:
        (folder / "tree").mkdir()
        _make_read_only(folder / "tree")
        home.write_json(folder / "checkout.json", fields)
        home.publish(folder, final)
    return Checkout(tree=final / "tree", **fields)


def read(pin: Pin) -> Checkout | None:
    """The exported tree of a pin, if there is one; its files are not looked at."""
    folder = _folder(pin)
    record = home.read_json(folder / "checkout.json")
    try:
        checkout = Checkout(tree=folder / "tree", **(record or {}))
    except TypeError:
        return None
    return checkout if checkout.commit == pin.commit and checkout.tree.is_dir() else None


def damage(checkout: Checkout) -> str:
    """Which files are not as committed: "" if every byte and every mode is."""
    found = git.list_folder(checkout.tree)
    if git.tree_hash(found) == checkout.tree_hash:
        return ""
    groups = {
        "changed": [p for p, entry in found.items() if checkout.files.get(p, entry) != entry],
        "missing": sorted(checkout.files.keys() - found.keys()),
        "added": sorted(found.keys() - checkout.files.keys()),
    }
    told = [f"{kind}: {_some(paths)}" for kind, paths in groups.items() if paths]
    return "; ".join(told) or "the record of the tree was changed"


def is_missing_folder(source: str) -> bool:
    """Whether a source was a folder that is there no longer."""
    return not _is_address(source) and not Path(source).exists()


def _is_address(source: str) -> bool:
    return re.search(r"://|^[\w.-]+@[\w.-]+:", source) is not None


def _folder(pin: Pin) -> Path:
    return home.reference_folder(pin.name) / "checkout"


def _check_folder(pin: Pin, folder: Path) -> None:
    """Refuses what is not a repository, and a checkout that is not the pinned commit."""
    try:
        kind = git.git("rev-parse", "--is-inside-git-dir", "--is-bare-repository", at=folder)
    except git.GitError as error:
        if "not a git repository" not in error.output:
            raise
        raise HarnessError(
            f"{folder} is not a git checkout, so there is no telling whether it is {pin.name}; "
            f"clone {pin.url} and check out {pin.short}."
        ) from None
    except NotADirectoryError:
        raise HarnessError(f"{folder} is a file, not a git checkout of {pin.name}.") from None
    if "true" not in kind.split():
        _check_work_tree(pin, folder)
    try:
        git.git("cat-file", "-e", f"{pin.commit}^{{commit}}", at=folder)
    except git.GitError:
        raise HarnessError(
            f"{folder} does not have commit {pin.commit} of {pin.name}; fetch it with "
            f"`git -C {shlex.quote(str(folder))} fetch {pin.url} {pin.commit}`."
        ) from None


def _check_work_tree(pin: Pin, folder: Path) -> None:
    here = f"git -C {shlex.quote(str(folder))}"
    top = Path(git.git("rev-parse", "--show-toplevel", at=folder).rstrip("\n"))
    if top.resolve() != folder:
        raise HarnessError(
            f"{folder} is not a checkout of its own, it lies inside that of {top}; {pin.name} is "
            "taken from the top folder of a checkout."
        )
    head = git.git("rev-parse", "--verify", "--quiet", "HEAD^{commit}", at=folder).strip()
    if head != pin.commit:
        raise HarnessError(
            f"{folder} is at commit {head[:12]}, and {pin.name} is {pin.commit}; check that out "
            f"with `{here} fetch {pin.url} {pin.commit} && {here} checkout {pin.short}`."
        )
    command = ("status", "--porcelain", "-z", "--no-renames", "--untracked-files=all")
    changes = [line[3:] for line in git.git(*command, at=folder).split("\0")[:-1]]
    if changes:
        raise HarnessError(
            f"{folder} is at the right commit, but has {len(changes)} changed or untracked files "
            f"({_some(changes)}), and {pin.name} is run unmodified; set them aside with "
            f"`{here} stash --include-untracked`."
        )


def _fetch(pin: Pin, address: str, shown: str, report: Report) -> Path:
    """Fetches the one commit, or everything from a server that does not hand out one commit."""
    final = home.reference_folder(pin.name) / "fetched.git"
    if final.is_dir():  # whole, and left there by a killed process
        return final
    report(f"{pin.name}: fetching {pin.short} from {shown}")
    with home.staging(final) as folder:
        try:
            git.git("init", "--quiet", "--bare", str(folder))
            try:
                depth = ("--depth=1", address, pin.commit)
                git.git("fetch", "--quiet", "--no-tags", *depth, at=folder)
            except git.GitError as error:
                if not _NOT_BY_HASH.search(error.output):
                    raise
                report(f"{pin.name}: {shown} hands out no single commit; fetching everything")
                every = ("+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")
                git.git("fetch", "--quiet", "--no-tags", address, *every, at=folder)
            git.git("cat-file", "-e", f"{pin.commit}^{{commit}}", at=folder)
        except git.GitError as error:
            if home.says_disk_is_full(error.output):
                raise home.disk_is_full(f"fetching {pin.name}") from None
            reason = error.output.splitlines()[-1] if error.output else str(error)
            raise HarnessError(
                f"{pin.name} could not be fetched from {shown} ({reason}); if you have a clone, "
                "pass it with `--from PATH`."
            ) from None
        home.publish(folder, final)
    return final


def _export(pin: Pin, repository: Path, source: str, report: Report) -> Checkout:
    report(f"{pin.name}: exporting {pin.short}")
    final = _folder(pin)
    with home.staging(final) as folder:
        tree = folder / "tree"
        tree.mkdir()
        files = git.export(repository, pin.commit, tree)
        digest = git.tree_hash(files)
        written = git.tree_hash(git.list_folder(tree))
        if written != digest:
            raise HarnessError(
                f"{pin.name} can not be written faithfully to {tree.parent}: git's tree is "
                f"{digest}, what was written is {written}. The file system may fold case or lack "
                f"executable files; set {home.HOME_VARIABLE} to a folder on another."
            )
        _make_read_only(tree)
        fields = {"commit": pin.commit, "tree_hash": digest, "source": source, "files": files}
        home.write_json(folder / "checkout.json", fields)
        home.publish(folder, final)
    return Checkout(tree=final / "tree", **fields)


def _make_read_only(tree: Path) -> None:
    for inner, _, names in os.walk(tree):
        for name in names:
            path = Path(inner, name)
            if not path.is_symlink():
                path.chmod(path.stat().st_mode & 0o555)
        os.chmod(inner, 0o555)


def _some(paths: list[str]) -> str:
    more = len(paths) - _SHOWN
    return ", ".join(paths[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
