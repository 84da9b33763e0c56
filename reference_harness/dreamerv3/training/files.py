"""How a run's files are written. Both sides import this module."""

from __future__ import annotations

import json
import math
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any


def write_json(path: Path, value: Any) -> None:
    """Writes one value, through a temporary beside the file."""
    _write(path, json.dumps(_plain(value), indent=1, allow_nan=False) + "\n")


def write_lines(path: Path, values: Iterable[Any]) -> None:
    """Writes one JSON object a line, through a temporary beside the file."""
    _write(path, "".join(_line(value) for value in values))


def append_line(path: Path, value: Any, *, sync: bool = True) -> None:
    """Adds one JSON object as a line; with `sync` it is on the disk when this returns."""
    with path.open("a", encoding="utf-8") as file:
        file.write(_line(value))
        file.flush()
        if sync:
            os.fsync(file.fileno())


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The objects of a file of JSON lines; without a last line that is being written."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return []
    return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]


def _line(value: Any) -> str:
    return json.dumps(_plain(value), allow_nan=False) + "\n"


def _plain(value: Any) -> Any:
    """What JSON can hold: a number that is not finite is null."""
    if isinstance(value, dict):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value


def _write(path: Path, text: str) -> None:
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
