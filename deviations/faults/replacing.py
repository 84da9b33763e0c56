"""Replaces functions of the core while a fault of it answers."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

# A module or class, the name of an attribute, and what it becomes.
Change = tuple[Any, str, Any]


@contextlib.contextmanager
def replaced(*changes: Change) -> Iterator[None]:
    """Sets attributes, and puts the old ones back."""
    with contextlib.ExitStack() as undo:
        for holder, name, value in changes:
            undo.callback(setattr, holder, name, getattr(holder, name))
            setattr(holder, name, value)
        yield


def around(holder: Any, name: str, wrong: Callable) -> list[Change]:
    """The replacement of a function by one that is given the sound one as its first argument."""
    sound = getattr(holder, name)

    def call(*args: Any, **kwargs: Any) -> Any:
        return wrong(sound, *args, **kwargs)

    return [(holder, name, call)]
