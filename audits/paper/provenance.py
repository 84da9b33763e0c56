"""What a process that works on a run consists of: code, packages, device."""

from __future__ import annotations

import datetime
import os
import platform
from collections.abc import Sequence
from pathlib import Path

from audits.cartpole.source import source_digest
from audits.paper.files import Session
from reference_harness import git
from reference_harness.errors import HarnessError

_ROOT = Path(__file__).parents[2]


def this_session(begin: int) -> Session:
    """The session that this process begins.

    Args:
        begin: Progress that it goes on from.
    """
    import jax
    import jaxlib
    import numpy as np

    commit, changed = _commit()
    device = jax.devices()[0]
    return Session(
        begin,
        datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        commit,
        changed,
        source_digest(),
        {module.__name__: module.__version__ for module in (jax, jaxlib, np)},
        f"{device.platform} {device.device_kind}",
        platform.node(),
        os.environ.get("SLURM_JOB_ID", ""),
    )


def remarks(sessions: Sequence[Session]) -> list[str]:
    """What a reader of a run's provenance should look at: several codes, a tree with changes.

    Args:
        sessions: Of which a part of the run is left.
    """
    told = []
    for what, values in (
        ("codes", {session.code for session in sessions}),
        ("devices", {session.device for session in sessions}),
        ("versions of jax", {session.packages.get("jax", "") for session in sessions}),
    ):
        if len(values) > 1:
            told.append(f"{len(values)} {what}: {', '.join(sorted(values))}")
    if any(session.changed for session in sessions):
        told.append("a tree with changes that no commit holds")
    if not sessions:
        told.append("nobody noted what it was made with")
    return told


def _commit() -> tuple[str | None, bool | None]:
    """Commit of the repository that this file lies in, and whether its tree has changes."""
    if not (_ROOT / ".git").exists():
        return None, None  # an installed package, or somebody else's repository around it
    try:
        commit = git.git("rev-parse", "HEAD", at=_ROOT).strip()
        changes = git.git("status", "--porcelain", at=_ROOT).strip()
    except HarnessError:
        return None, None
    return commit, bool(changes)
