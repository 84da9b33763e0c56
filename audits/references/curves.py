"""The published files as curves: one per task and seed, points in environment steps."""

from __future__ import annotations

import csv
import dataclasses
import gzip
import io
import json
import math
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from audits.references.errors import ReferenceDataError
from audits.references.sources import Source


@dataclasses.dataclass(frozen=True)
class Curve:
    """One seed of one task.

    Attributes:
        task: As the reference calls it.
        seed: As the reference numbers it.
        path: Of the file.
        points: Return by environment steps, ascending.
    """

    task: str
    seed: int
    path: str
    points: dict[int, float]


def read_curves(agent: str, source: Source, files: Mapping[str, bytes]) -> list[Curve]:
    """The curves of the tasks that playground has, by task and seed.

    Args:
        agent: "dreamerv3" or "tdmpc2".
        source: Which tasks are which.
        files: Contents by path.

    Raises:
        ReferenceDataError: A file is damaged, a task can not be classified, or one that should
            be there is missing.
    """
    read = {"dreamerv3": _scores, "tdmpc2": _results}[agent]
    found: dict[tuple[str, int, str], dict[int, float]] = {}
    for path, content in sorted(files.items()):
        try:
            rows = read(path, content, source)
        except (ValueError, LookupError, TypeError, OSError, EOFError) as error:
            raise ReferenceDataError(f"{path} is damaged: {error}") from error
        for task, seed, step, score in rows:
            points = found.setdefault((task, seed, path), {})
            if step in points or not math.isfinite(score):
                what = "two points" if step in points else "no finite point"
                raise ReferenceDataError(f"{path}: {task}, seed {seed}, has {what} at step {step}")
            points[step] = score
    missing = set(source.mapped) - {task for task, *_ in found}
    if missing:
        raise ReferenceDataError(
            f"{source.pin} has no results of {', '.join(sorted(missing))}, which "
            "sources.yaml maps to an environment"
        )
    return [Curve(*key, dict(sorted(points.items()))) for key, points in sorted(found.items())]


def _scores(path: str, content: bytes, source: Source) -> list[tuple[str, int, int, float]]:
    """DreamerV3: one gzipped list of runs, each with its points."""
    runs: list[dict[str, Any]] = json.loads(gzip.decompress(content))
    rows = []
    for run in runs:
        if source.environment(run["task"]) is None:
            continue
        for step, score in zip(run["xs"], run["ys"], strict=True):
            rows.append((run["task"], int(run["seed"]), _whole(step), float(score)))
    return rows


def _results(path: str, content: bytes, source: Source) -> list[tuple[str, int, int, float]]:
    """TD-MPC2: one table per task, with columns step, reward and seed."""
    task = PurePosixPath(path).stem
    if source.environment(task) is None:
        return []
    table = csv.DictReader(io.StringIO(content.decode()))
    return [
        (task, int(row["seed"]), _whole(float(row["step"])), float(row["reward"])) for row in table
    ]


def _whole(step: float) -> int:
    if step != int(step):
        raise ValueError(f"{step} is no number of steps")
    return int(step)
