"""`audit references`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import cyclopts
from cyclopts import Parameter

app = cyclopts.App(
    name="references", help="The published curves that validations are judged against."
)


@app.command
def extract(
    *,
    dreamerv3: Path | None = None,
    tdmpc2: Path | None = None,
    out: Path | None = None,
    check: Annotated[bool, Parameter(negative=())] = False,
) -> int:
    """Read the official score files at their pins, and keep their statistics.

    Of a git checkout the files are read from the pinned commit, whatever is checked out. A
    folder of the same files does as well, if they have the digests that are known.

    Example: audit references extract --dreamerv3 ~/dreamerv3 --tdmpc2 ~/tdmpc2

    Parameters
    ----------
    dreamerv3
        A checkout of danijar/dreamerv3.
    tdmpc2
        A checkout of nicklashansen/tdmpc2.
    out
        Where to write; by default the package's own folder, which the audits read.
    check
        Write nothing: exit with 1 if what is kept is not what the files give.
    """
    from audits.references import store
    from audits.references.errors import ReferenceDataError
    from audits.references.extraction import extract as extracted
    from audits.references.files import is_checkout, read_files
    from audits.references.sources import sources
    from audits.references.task_set import check_task_set

    given = {"dreamerv3": dreamerv3, "tdmpc2": tdmpc2}
    if not any(given.values()):
        raise ReferenceDataError("name a checkout with --dreamerv3, --tdmpc2 or both")
    differ = False
    for agent, folder in given.items():
        if folder is None:
            continue
        kept = store.read(agent) if store.path_of(agent).exists() else None
        files = read_files(sources()[agent], folder, kept.files if kept else {})
        if sources()[agent].mt30 and is_checkout(folder):
            check_task_set(sources()[agent], folder)
        found = extracted(agent, sources()[agent], files)
        for line in _told(found):
            print(line)
        if check:
            same = found == kept
            differ |= not same
            print(f"{agent}: {'as kept' if same else 'NOT what is kept'}")
        else:
            print(store.write(found, out or store.FOLDER))
    return int(differ)


@app.command
def show() -> int:
    """Print what is kept: where it is from, the windows and the aggregates."""
    from audits.references import store
    from audits.references.sources import AGENTS

    for agent in AGENTS:
        for line in _told(store.read(agent)):
            print(line)
    return 0


def _told(reference) -> list[str]:
    lines = [
        f"{reference.agent}: {len(reference.tasks)} tasks from {len(reference.files)} "
        f"file{'s' if len(reference.files) > 1 else ''} of {reference.repository} at "
        f"{reference.commit} ({reference.license}, {reference.copyright})"
    ]
    for found in reference.aggregates:
        known = f", known to be {found.known}" if found.known else ""
        lines.append(f"  {found.what}: mean {found.mean:.4f}, median {found.median:.4f}{known}")
    lines += [f"  {remark}" for remark in reference.remarks]
    return lines
