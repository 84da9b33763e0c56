"""Keeps what a subject prints out of the output that others read."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
from collections.abc import Iterator

from parity.implementations import Implementation
from parity.operations import Answer, Inputs

_STDOUT, _STDERR = 1, 2


class Hushed(Implementation):
    """An implementation of this process that prints, while it answers, to standard error."""

    def __init__(self, inner: Implementation):
        self.name = inner.name
        self.is_core = inner.is_core
        self._inner = inner

    def answer(self, operation: str, inputs: Inputs) -> Answer:
        """See `Implementation.answer`."""
        with to_stderr():
            return self._inner.answer(operation, inputs)


@contextlib.contextmanager
def to_stderr() -> Iterator[None]:
    """Sends what is printed meanwhile, from Python or from C, to the standard error stream."""
    _flush()
    kept = os.dup(_STDOUT)
    os.dup2(_STDERR, _STDOUT)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        _flush()  # what is still in a buffer was printed meanwhile, too
        os.dup2(kept, _STDOUT)
        os.close(kept)


def _flush() -> None:
    for stream in (sys.stdout, sys.__stdout__):
        if stream is not None and not stream.closed:
            stream.flush()
    with contextlib.suppress(OSError, AttributeError):  # where C's library is not to be found
        ctypes.CDLL(None).fflush(None)
