"""Ctrl-C and SIGTERM before a run watches for them itself, and after it has ended.

There they end a process that is nothing but a training command: at once, and not by an exception.
A callback of jax's garbage collector drops an exception, a C++ module that is being imported dies
of it, and a compilation in C++ keeps it waiting. Nothing is being written that would be left in
pieces.

Imports hardly anything: the command starts with it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading

_STDERR = 2
_ending = threading.RLock()  # for good: the thread that has it ends the process


class AtOnce:
    """A signal's handler that says a sentence and ends the process.

    Args:
        sentence: Without its full stop, as all that a command says.
    """

    def __init__(self, sentence: str):
        self._sentence = sentence
        self._called = False

    def __call__(self, number: int, frame: object) -> None:
        """Ends the process with 128 + the signal's number."""
        del frame
        _ending.acquire()
        if self._called:  # by this thread: a signal that came amid this
            return
        self._called = True
        # Not sys.stderr, which may be redirected while a checkpoint is read.
        with contextlib.suppress(OSError):
            os.write(_STDERR, f"{self._sentence}\n".encode())
        os._exit(128 + number)


BEFORE = AtOnce("interrupted before the run began")
AFTER = AtOnce("interrupted after the run had ended")


def end_when_asked() -> None:
    """From now on Ctrl-C and SIGTERM end the process, until something else handles them.

    For a process whose main thread this is; a signal that it ignores, as after nohup, stays
    ignored.
    """
    # Python calls a handler when its main thread is back from C code. The number of a signal
    # goes through the pipe at once, to a thread that may run meanwhile.
    numbers, written = os.pipe()
    os.set_blocking(written, False)
    signal.set_wakeup_fd(written, warn_on_full_buffer=False)
    threading.Thread(target=_heed, args=(numbers,), name="signals", daemon=True).start()
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, BEFORE)


def _heed(numbers: int) -> None:
    while number := os.read(numbers, 1):
        # Not AFTER: the run itself may have heeded this signal, shortly before its end.
        if signal.getsignal(number[0]) is BEFORE:
            BEFORE(number[0], None)
