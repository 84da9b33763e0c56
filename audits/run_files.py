"""The files that a recorded run consists of, the same on both sides, and how they are read.

run_args.json    what the run was told, with what it ran, how many parameters it trained
config.*         the resolved configuration: config.yaml of the reference, config.json of ours
records.jsonl    one record every so many rows
episodes.jsonl   one line for every training episode
timing.json      written last: rows, updates, what the flush step ended, seconds
finished.json    written when somebody has looked at all of it
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

FILES = (
    "run_args.json",
    "records.jsonl",
    "episodes.jsonl",
    "timing.json",
    "finished.json",
)
CONFIGS = {"reference": "config.yaml", "ours": "config.json"}

T = TypeVar("T")


class RunFileError(Exception):
    """A file of a run is missing or damaged; says which, and what to do."""


class Scale(msgspec.Struct, frozen=True):
    """State of the return normaliser: its two percentiles, and the scale that follows."""

    lo: float
    hi: float
    scale: float


class Record(msgspec.Struct, frozen=True):
    """What was noted at one point of a run.

    Attributes:
        side: "ref" or "ours".
        seed: Of the run.
        rows: Environment rows so far.
        updates: Updates so far.
        eval_mean: Mean return of the evaluation's episodes.
        eval_len_mean: Mean length of them.
        eval_returns: Return of each.
        eval_lengths: Length of each.
        s2_logged: S2 as the run itself computed it; None where it does not, or while an
            environment has finished no episode.
        train_raw: Means of the training metrics over the window, by the side's own names;
            None where the mean is not finite.
        train_nan: How often a metric was NaN in the window, where that is left out of means.
        retnorm: State of the return normaliser.
        wall_s: Seconds since the run began.
    """

    side: str
    seed: int
    rows: int
    updates: int
    eval_mean: float
    eval_len_mean: float
    eval_returns: list[float]
    eval_lengths: list[int]
    s2_logged: float | None
    train_raw: dict[str, float | None]
    retnorm: Scale
    wall_s: float
    train_nan: dict[str, int] = {}


class Episode(msgspec.Struct, frozen=True):
    """A finished training episode.

    Attributes:
        seed: Of the run.
        worker: Index of its environment.
        row_last: Which row of that environment, from 0, was its last.
        length: Steps.
        score: Sum of the rewards.
        terminal: Whether it ended by itself and not by a time limit.
    """

    seed: int
    worker: int
    row_last: int
    length: int
    score: float
    terminal: bool


class Run(msgspec.Struct, frozen=True):
    """All that is known of one seed of one side.

    Attributes:
        side: "reference" or "ours".
        seed: Of the run.
        folder: Where its files are.
        args: run_args.json.
        config: The resolved configuration, with dotted keys.
        records: In the order of the file.
        episodes: Likewise.
        timing: timing.json.
        finished: finished.json; None if the run is not finished.
    """

    side: str
    seed: int
    folder: Path
    args: dict[str, Any]
    config: dict[str, Any]
    records: list[Record]
    episodes: list[Episode]
    timing: dict[str, Any]
    finished: dict[str, Any] | None


def read_run(folder: Path, side: str, seed: int) -> Run:
    """Reads a run.

    Args:
        folder: Its folder.
        side: "reference" or "ours".
        seed: That it is expected to be of.

    Raises:
        RunFileError: A file is missing or damaged. A run that is not finished is read; its
            checks will say so.
    """
    if not folder.is_dir():
        raise RunFileError(
            f"{folder} is missing: there is no run of {side}, seed {seed}; leave out "
            "--report-only to make it"
        )
    finished = folder / "finished.json"
    return Run(
        side,
        seed,
        folder,
        args=_object(folder / "run_args.json"),
        config=flat(_config(folder / CONFIGS[side])),
        records=_lines(folder / "records.jsonl", Record),
        episodes=_lines(folder / "episodes.jsonl", Episode),
        timing=_object(folder / "timing.json"),
        finished=_object(finished) if finished.exists() else None,
    )


def flat(tree: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """A nested table as one with dotted keys; lists stay values."""
    table: dict[str, Any] = {}
    for key, value in tree.items():
        if isinstance(value, dict):
            table.update(flat(value, f"{prefix}{key}."))
        else:
            table[f"{prefix}{key}"] = value
    return table


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise RunFileError(
            f"{path} can not be read ({error.strerror}); remove its folder, and the same command "
            "makes that run again"
        ) from error


def _object(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(_read(path))
        if isinstance(value, dict):
            return value
        reason = "it holds no object"
    except ValueError as error:
        reason = str(error)
    raise _damaged(path, reason)


def _config(path: Path) -> dict[str, Any]:
    if path.suffix == ".json":
        return _object(path)
    try:
        # Not PyYAML: to it, 4e-05 is a word.
        value = YAML(typ="safe", pure=True).load(_read(path).decode())
        if isinstance(value, dict):
            return value
        reason = "it holds no table"
    except (YAMLError, UnicodeDecodeError) as error:
        reason = str(error).splitlines()[0]
    raise _damaged(path, reason)


def _lines(path: Path, kind: type[T]) -> list[T]:
    decoder = msgspec.json.Decoder(kind)
    values = []
    for number, line in enumerate(_read(path).splitlines(), 1):
        try:
            values.append(decoder.decode(line))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise _damaged(path, f"line {number}: {error}") from error
    return values


def _damaged(path: Path, reason: str) -> RunFileError:
    return RunFileError(
        f"{path} is damaged ({reason}); remove its folder, and the same command makes that run "
        "again"
    )
