"""The published files at their pin: from a git checkout, or from a folder of the same files."""

from __future__ import annotations

import fnmatch
import hashlib
import os
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from audits.references.errors import ReferenceDataError
from audits.references.sources import Source
from reference_harness import git


def read_files(source: Source, folder: Path, digests: Mapping[str, str]) -> dict[str, bytes]:
    """The files of a source, whatever the checkout has in its work tree.

    Of a git checkout, they are read from the pinned commit. Of any other folder, they are the
    files of the same names, and must have the digests of an earlier extraction.

    Args:
        source: Which files.
        folder: The checkout, or the folder.
        digests: SHA-256 of every file of an earlier extraction, by its path.

    Returns:
        The contents by path in the repository.

    Raises:
        ReferenceDataError: The folder is neither, or lacks the commit or the files.
    """
    if not folder.is_dir():
        raise ReferenceDataError(
            f"{folder} is no folder; clone {source.find_pin().url} and name the checkout"
        )
    found = (
        _of_checkout(source, folder) if is_checkout(folder) else _of_folder(source, folder, digests)
    )
    if not found:
        raise ReferenceDataError(
            f"{folder} holds none of {', '.join(source.files)}; expected a checkout of "
            f"{source.find_pin().url} that has commit {source.find_pin().short}"
        )
    return found


def digest(content: bytes) -> str:
    """SHA-256 of a file."""
    return hashlib.sha256(content).hexdigest()


def is_checkout(folder: Path) -> bool:
    """Whether a folder is the top of a git repository; inside somebody else's, it is not."""
    return (folder / ".git").exists() or (folder / "HEAD").exists()


def _of_checkout(source: Source, folder: Path) -> dict[str, bytes]:
    pin = source.find_pin()
    try:
        listed = git.git("ls-tree", "-r", "-z", "--name-only", pin.commit, at=folder)
    except git.GitError as error:
        if "dubious ownership" in error.output:
            raise
        raise ReferenceDataError(
            f"{folder} does not have commit {pin.commit}; fetch it with "
            f"`git -C {folder} fetch {pin.url} {pin.commit}`"
        ) from error
    paths = [
        path
        for path in listed.split("\0")
        if any(fnmatch.fnmatchcase(path, pattern) for pattern in source.files)
    ]
    return {
        path: os.fsencode(git.git("cat-file", "blob", f"{pin.commit}:{path}", at=folder))
        for path in paths
    }


def _of_folder(source: Source, folder: Path, digests: Mapping[str, str]) -> dict[str, bytes]:
    found = {}
    for pattern in source.files:
        for place in (*folder.glob(pattern), *folder.glob(PurePosixPath(pattern).name)):
            path = (PurePosixPath(pattern).parent / place.name).as_posix()
            content = place.read_bytes()
            # Files of tasks that are left out have no digest; what they are is still looked at.
            if digest(content) != digests.get(path, digest(content)):
                raise ReferenceDataError(
                    f"{place} is not the published {path} (SHA-256 {digest(content)[:12]}…, not "
                    f"{digests[path][:12]}…); name a git checkout of the repository instead"
                )
            found[path] = content
    return found if digests.keys() <= found.keys() else {}
