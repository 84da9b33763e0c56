"""Which core a run was made with: a digest of its source."""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path

import core


@functools.cache
def source_digest() -> str:
    """SHA-256 of every Python file of the core, names and contents, in order."""
    root = Path(core.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(f"{path.relative_to(root).as_posix()}\0".encode())
        digest.update(path.read_bytes() + b"\0")
    return digest.hexdigest()
