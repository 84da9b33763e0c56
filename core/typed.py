"""Words of a command line as Python's values, where cyclopts alone would be too lenient."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter, Token

from core.config import shortened


def whole(wanted: type, tokens: Sequence[Token]) -> int:
    """An integer as it was typed, which cyclopts would round.

    Raises:
        ValueError: It is none.
    """
    del wanted
    text = tokens[0].value
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"it must be a whole number, not {shortened(text)}") from None


def folder(wanted: type, tokens: Sequence[Token]) -> Path:
    """A folder's path. Python takes an empty one for the folder that the process is in.

    Raises:
        ValueError: It is empty.
    """
    del wanted
    if not tokens[0].value:
        raise ValueError("it must name a folder, and is empty; this folder is '.'")
    return Path(tokens[0].value)


Whole = Annotated[int, Parameter(converter=whole)]
Folder = Annotated[Path, Parameter(converter=folder)]
