"""The reference's own list of multi-task tasks, against what is said of them here."""

from __future__ import annotations

import ast
import os
from pathlib import Path

from audits.references.errors import ReferenceDataError
from audits.references.sources import Source
from reference_harness import git

_FILE = "tdmpc2/common/__init__.py"
_NAME, _SET = "TASK_SET", "mt30"


def check_task_set(source: Source, folder: Path) -> None:
    """Refuses a list of ours that is not the checkout's.

    Args:
        source: Of TD-MPC2.
        folder: A git checkout.

    Raises:
        ReferenceDataError: The list of 30 tasks at the pin is not the one that `sources.yaml`
            splits into tasks that playground has and tasks that it has not.
    """
    commit = source.find_pin().commit
    text = os.fsencode(git.git("cat-file", "blob", f"{commit}:{_FILE}", at=folder)).decode()
    tasks = listed_tasks(text)
    ours = [task for task in tasks if task in source.mapped]
    unknown = [t for t in tasks if t not in source.mapped and t not in source.unavailable]
    if ours != source.mt30 or unknown:
        raise ReferenceDataError(
            f"{_SET} in {_FILE} at {commit[:12]} is not what sources.yaml says: of its tasks, "
            f"playground has {', '.join(ours)}; not classified: {', '.join(unknown) or 'none'}"
        )


def listed_tasks(text: str) -> list[str]:
    """The tasks of the set in a Python file, which is read and never run.

    Raises:
        ReferenceDataError: The file has no such list.
    """
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == _NAME:
            try:
                return list(ast.literal_eval(node.value)[_SET])
            except (ValueError, LookupError, TypeError):
                break
    raise ReferenceDataError(f"{_FILE} has no list {_NAME}[{_SET!r}] that could be read")
