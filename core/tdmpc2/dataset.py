"""Episodes of several tasks on disk: a folder with arrays (`.npz`) and what they are (JSON).

An episode of T steps has T + 1 rows, one after the other, and so have the episodes. Observations
and actions are padded with zeros to the longest of any task; no action follows the last row.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import os
import shutil
import tempfile
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from core.config import ConfigError
from core.ranges import INT32_MAX
from core.tdmpc2.tasks import Tasks
from core.training.errors import RunError

FORMAT, VERSION = "episodes of several tasks", 1
_ABOUT, _ARRAYS = "episodes.json", "episodes.npz"
_DTYPES = {"observation": "float32", "action": "float32", "reward": "float32", "task": "int32"}
_OF_A_TASK = ("name", "observation_size", "action_size", "episode_length")
_FAILURES = (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error)


class DatasetError(RunError):
    """Episodes that can not be written or read, or that are not what they should be."""


@dataclasses.dataclass(frozen=True)
class Origin:
    """The environment that a task's episodes come from.

    Attributes:
        env: Its name.
        action_repeat: Steps of it per action.
        time_limit: Its steps after which an episode is cut off; None for its own.
    """

    env: str
    action_repeat: int = 1
    time_limit: int | None = None

    def __post_init__(self) -> None:
        counts = (self.action_repeat, self.time_limit if self.time_limit is not None else 1)
        if not isinstance(self.env, str) or any(type(n) is not int or n < 1 for n in counts):
            raise DatasetError(f"{self} is no environment: a name and numbers from 1 are expected")


@dataclasses.dataclass(frozen=True)
class Dataset:
    """Whole episodes of several tasks.

    Attributes:
        tasks: In the order of their indices.
        origins: Their environments, as many.
        observation: Every row of every episode.
        action: Taken on it; zeros on an episode's last.
        reward: Received for that; 0 on an episode's last.
        task: Of every episode.

    Raises:
        DatasetError: They are none; says which rule is broken, and where.
    """

    tasks: Tasks
    origins: tuple[Origin, ...]
    observation: Float[np.ndarray, "rows observation_size"]
    action: Float[np.ndarray, "rows actions"]
    reward: Float[np.ndarray, " rows"]
    task: Int[np.ndarray, " episodes"]

    def __post_init__(self) -> None:
        if len(self.origins) != len(self.tasks):
            raise DatasetError(f"{len(self.tasks)} tasks have {len(self.origins)} environments")
        _check_shapes(self)
        _check_numbers(self)

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """The arrays by name."""
        return {name: getattr(self, name) for name in _DTYPES}

    @property
    def length(self) -> Int[np.ndarray, " episodes"]:
        """Steps of every episode."""
        return np.asarray(self.tasks.episode_lengths, np.int32)[self.task]

    @property
    def first(self) -> Int[np.ndarray, " episodes"]:
        """The first row of every episode."""
        rows = self.length.astype(np.int64) + 1
        return (np.cumsum(rows) - rows).astype(np.int32)

    @functools.cached_property
    def about(self) -> dict[str, Any]:
        """What the arrays are, as the JSON file says it."""
        counts = np.bincount(self.task, minlength=len(self.tasks)).tolist()
        sizes = zip(
            self.tasks.names,
            self.tasks.observation_sizes,
            self.tasks.action_sizes,
            self.tasks.episode_lengths,
            strict=True,
        )
        return {
            "format": FORMAT,
            "version": VERSION,
            "tasks": [
                dict(zip(_OF_A_TASK, of_task, strict=True))
                | {"episodes": count}
                | dataclasses.asdict(origin)
                for of_task, count, origin in zip(sizes, counts, self.origins, strict=True)
            ],
            "arrays": {
                name: {"shape": list(array.shape), "dtype": str(array.dtype), "sha256": _of(array)}
                for name, array in self.arrays.items()
            },
        }

    @property
    def digest(self) -> str:
        """SHA-256 of everything: two datasets with the same are the same."""
        return _digest(self.about)


def told(folder: Path) -> tuple[dict[str, Any], str]:
    """What a dataset is and its digest, as its description tells it; `load` finds out if it is so.

    Raises:
        DatasetError: The description is missing, damaged or of another version.
    """
    about = _described(folder / _ABOUT)
    return about, _digest(about)


def save(dataset: Dataset, folder: Path) -> None:
    """Writes a dataset into a new folder, which appears whole or not at all.

    Raises:
        DatasetError: There is something already, or it can not be written.
    """
    if folder.exists():
        raise DatasetError(f"{folder} exists already; choose another folder, or delete that one")
    temporary = None
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}."))
        with (temporary / _ARRAYS).open("wb") as file:
            np.savez(file, allow_pickle=False, **dataset.arrays)
            file.flush()
            os.fsync(file.fileno())
        with (temporary / _ABOUT).open("w") as file:
            file.write(json.dumps(dataset.about, indent=2) + "\n")
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(0o755)
        temporary.rename(folder)
    except OSError as error:
        raise DatasetError(
            f"{folder} can not be written: {error.strerror or error}; make room, or choose another "
            f"folder"
        ) from error
    finally:
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)


def load(folder: Path) -> Dataset:
    """Reads a dataset, and checks all of it.

    Raises:
        DatasetError: A file is missing, damaged or of another version, the arrays are not those
            that the description tells of, or they break a rule of `Dataset`.
    """
    about = _described(folder / _ABOUT)
    path = folder / _ARRAYS
    try:
        # Opened here: numpy leaves a file open that is no archive.
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except _FAILURES as error:
        raise DatasetError(f"{path} can not be read: {error}; {_ANEW}") from error
    try:
        expected, listed = about["arrays"], about["tasks"]
        if set(arrays) != set(_DTYPES) or set(expected) != set(_DTYPES):
            raise DatasetError(
                f"it has the arrays {', '.join(sorted(arrays)) or 'none'}, not "
                f"{', '.join(sorted(_DTYPES))}; {_ANEW}"
            )
        for name, array in arrays.items():
            told, found = expected[name]["sha256"], _of(array)
            if told != found:
                raise DatasetError(
                    f"{name} is not what was written: its SHA-256 is {found[:12]}…, and {_ABOUT} "
                    f"says {told[:12]}…; {_ANEW}"
                )
        columns = [tuple(task[key] for task in listed) for key in _OF_A_TASK]
        origins = tuple(
            Origin(task["env"], task["action_repeat"], task["time_limit"]) for task in listed
        )
        dataset = Dataset(Tasks(*columns), origins, **arrays)
    except (KeyError, TypeError, AttributeError, ConfigError) as error:
        raise DatasetError(
            f"{folder / _ABOUT} does not describe episodes ({type(error).__name__}: {error}); "
            f"{_ANEW}"
        ) from error
    except DatasetError as error:
        raise DatasetError(f"{folder}: {error}") from error
    if dataset.about != about:
        raise DatasetError(f"{folder / _ABOUT} tells of other episodes than {_ARRAYS}; {_ANEW}")
    return dataset


_ANEW = "make the dataset anew"


def _digest(about: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()


def _described(path: Path) -> dict[str, Any]:
    try:
        about = json.loads(path.read_text())
    except OSError as error:
        raise DatasetError(
            f"{path} can not be read: {error.strerror or error}; choose the folder of a dataset"
        ) from error
    except (ValueError, RecursionError) as error:
        raise DatasetError(f"{path} is no JSON: {error}; {_ANEW}") from error
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise DatasetError(f"{path} does not say that it describes {FORMAT}; {_ANEW}")
    if about.get("version") != VERSION:
        raise DatasetError(
            f"{path} has version {about.get('version')!r}, and this program reads {VERSION}; use "
            f"the version that wrote it, or {_ANEW}"
        )
    return about


def _of(array: np.ndarray) -> str:
    """SHA-256 of shape, dtype and bytes."""
    digest = hashlib.sha256(f"{array.shape} {array.dtype}".encode())
    digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def _check_shapes(dataset: Dataset) -> None:
    tasks = dataset.tasks
    for name, array in dataset.arrays.items():
        if array.dtype != _DTYPES[name]:
            raise DatasetError(f"{name} must be of type {_DTYPES[name]}, not {array.dtype}")
    task = dataset.task
    if task.ndim != 1 or np.any((task < 0) | (task >= len(tasks))):
        raise DatasetError(f"task must be one index below {len(tasks)} for every episode")
    absent = [name for i, name in enumerate(tasks.names) if i not in task]
    if absent:
        raise DatasetError(f"there is no episode of {', '.join(absent)}")
    rows = int((dataset.length.astype(np.int64) + 1).sum())
    if rows > INT32_MAX:
        raise DatasetError(f"{rows:,} rows are more than 32 bits count; choose fewer episodes")
    shapes = {
        "observation": (rows, tasks.observation_size),
        "action": (rows, tasks.action_size),
        "reward": (rows,),
    }
    for name, shape in shapes.items():
        found = getattr(dataset, name).shape
        if found != shape:
            raise DatasetError(
                f"{name} of {len(task):,} episodes must have the shape {shape}, not {found}"
            )


def _check_numbers(dataset: Dataset) -> None:
    for name in ("observation", "action", "reward"):
        rows = getattr(dataset, name).reshape(len(dataset.reward), -1)
        finite = np.isfinite(rows).all(-1)
        if not finite.all():
            raise DatasetError(f"{name} is not finite {_place(dataset, int(finite.argmin()))}")
    outside = np.abs(dataset.action).max(-1) > 1
    if outside.any():
        raise DatasetError(f"action is outside −1 to 1 {_place(dataset, int(outside.argmax()))}")
    of_row = np.repeat(dataset.task, dataset.length + 1)
    sizes = {
        "observation": dataset.tasks.observation_sizes,
        "action": dataset.tasks.action_sizes,
    }
    for name, every in sizes.items():
        array = getattr(dataset, name)
        beyond = np.arange(array.shape[1]) >= np.asarray(every)[:, None]
        for index, unused in enumerate(beyond):
            # Task by task, so that no mask of all rows is made.
            if unused.any() and array[of_row == index][:, unused].any():
                raise DatasetError(
                    f"{name} of {dataset.tasks.names[index]} has numbers beyond its "
                    f"{every[index]}: those must be 0"
                )
    last = dataset.first + dataset.length
    if dataset.action[last].any() or dataset.reward[last].any():
        raise DatasetError("no action and no reward follow an episode's last row: they must be 0")


def _place(dataset: Dataset, row: int) -> str:
    episode = int(np.searchsorted(dataset.first, row, side="right")) - 1
    task = dataset.tasks.names[dataset.task[episode]]
    return f"in step {row - int(dataset.first[episode])} of episode {episode:,}, of {task}"
