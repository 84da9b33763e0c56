"""What is kept of the published curves: statistics of windows, and the seeds' band.

The repository keeps no curve of a seed. A task has one mean per seed and acceptance window, and
for pictures the lowest, the mean and the highest seed at every point, with where they are from.
"""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from audits.references.errors import ReferenceDataError
from reports.records import write_atomically

VERSION = 1
FOLDER = Path(__file__).parent / "extracted"


class WindowScores(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One acceptance window of one task.

    Attributes:
        window: Its name.
        after: Environment steps that it begins above.
        until: And the last that belong to it.
        seeds: As the reference numbers them.
        points: Of each seed, how many lie in the window.
        means: Of each seed, the mean return over them.
    """

    window: str
    after: int
    until: int
    seeds: list[int]
    points: list[int]
    means: list[float]

    @property
    def mean(self) -> float:
        """Mean over the seeds."""
        return float(np.mean(self.means))

    @property
    def lowest(self) -> float:
        """The lowest seed."""
        return min(self.means)


class Band(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the seeds of a task span, point by point.

    Attributes:
        env_steps: Of each point.
        seeds: That have the point.
        lowest: Return of the lowest of them.
        mean: Their mean.
        highest: The highest.
    """

    env_steps: list[int]
    seeds: list[int]
    lowest: list[float]
    mean: list[float]
    highest: list[float]


class TaskReference(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The published results of one task.

    Attributes:
        task: As the reference calls it.
        environment: As playground does.
        budget: Environment steps of a run: the last point of the curves, or the protocol's.
        windows: One per acceptance window.
        band: For pictures.
    """

    task: str
    environment: str
    budget: int
    windows: list[WindowScores]
    band: Band

    def window(self, name: str) -> WindowScores:
        """The window of that name."""
        return next(window for window in self.windows if window.window == name)


class Aggregate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Mean and median over tasks of the means over seeds.

    Attributes:
        what: An acceptance window, or a point of the curves.
        mean: Over the tasks.
        median: Likewise.
        known: The figure that the extraction was checked against, as it was known; or None.
    """

    what: str
    mean: float
    median: float
    known: str | None = None


class Reference(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One reference's published results.

    Attributes:
        version: Of this format.
        agent: "dreamerv3" or "tdmpc2".
        repository: Its address.
        commit: The files were read at.
        license: Of the repository.
        copyright: Its line.
        files: SHA-256 of every file that a curve is from, by path.
        step_unit: What a step is.
        score: What a return is.
        protocol: How the results were made.
        remarks: What the files lack, and what was done about it.
        unavailable: Tasks that playground does not have.
        mt30: The 19 tasks of the 30-task set that it has, in the set's order.
        aggregates: Over the tasks, with what they were checked against.
        tasks: The results.
    """

    version: int
    agent: str
    repository: str
    commit: str
    license: str
    copyright: str
    files: dict[str, str]
    step_unit: str
    score: str
    protocol: list[str]
    remarks: list[str]
    unavailable: list[str]
    mt30: list[str]
    aggregates: list[Aggregate]
    tasks: list[TaskReference]

    def task(self, name: str) -> TaskReference:
        """The results of one task."""
        return next(task for task in self.tasks if task.task == name)


def path_of(agent: str, folder: Path = FOLDER) -> Path:
    """Where the results of an agent are kept."""
    return folder / f"{agent}.json"


def write(reference: Reference, folder: Path = FOLDER) -> Path:
    """Keeps a reference; the same one gives the same bytes.

    Raises:
        OSError: The folder can not be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = path_of(reference.agent, folder)
    write_atomically(path, _text(msgspec.to_builtins(reference)).encode())
    return path


@functools.cache
def read(agent: str, folder: Path = FOLDER) -> Reference:
    """The results of an agent that are kept.

    Raises:
        ReferenceDataError: There are none, or the file is damaged.
    """
    path = path_of(agent, folder)
    again = f"make it again with `audit references extract --{agent} CHECKOUT`"
    try:
        found = msgspec.json.decode(path.read_bytes(), type=Reference)
    except FileNotFoundError:
        raise ReferenceDataError(f"{path} is missing; {again}") from None
    except msgspec.DecodeError as error:
        raise ReferenceDataError(f"{path} is damaged ({error}); {again}") from error
    if found.version != VERSION:
        raise ReferenceDataError(f"{path} is of format {found.version}, not {VERSION}; {again}")
    return found


def _text(value: Any, indent: str = "") -> str:
    """JSON for people: lists of numbers on one line, everything else one item a line."""
    inner = indent + " "
    if isinstance(value, dict) and value:
        items = [f"{inner}{json.dumps(key)}: {_text(item, inner)}" for key, item in value.items()]
        text = "{\n" + ",\n".join(items) + f"\n{indent}}}"
    elif isinstance(value, list) and any(isinstance(item, dict | list) for item in value):
        text = "[\n" + ",\n".join(inner + _text(item, inner) for item in value) + f"\n{indent}]"
    else:
        text = json.dumps(value, ensure_ascii=False)
    return text if indent else text + "\n"
