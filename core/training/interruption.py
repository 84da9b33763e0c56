"""Ctrl-C and SIGTERM: an orderly stop, never amid a checkpoint, and at once while compiling."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from typing import NoReturn, TypeVar

from core.training import outset

Result = TypeVar("Result")

_BACKGROUND = "compiling"
_LOOK = 0.1  # seconds between two looks for a signal


class Interruption:
    """Whether a run has been asked to stop.

    Attributes:
        number: The signal that asked first; 0 while none has.
    """

    def __init__(self) -> None:
        self.number = 0
        self._held = False

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        """Within it, the first signal is remembered and the second raises KeyboardInterrupt.

        A signal that the process ignores, as after nohup, stays ignored. Afterwards signals are
        handled as before, but that a command no longer says that the run has not begun.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
        before = {number: old for number, old in before.items() if old is not signal.SIG_IGN}
        for number in before:
            signal.signal(number, self._asked)
        try:
            yield
        finally:
            for number, handler in before.items():
                over = handler is outset.BEFORE
                signal.signal(number, outset.AFTER if over else handler)

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Within it, further signals are only remembered: what is being written gets whole."""
        self._held = True
        try:
            yield
        finally:
            self._held = False

    def _asked(self, number: int, frame: object) -> None:
        del frame
        again, self.number = self.number, self.number or number
        if again and not self._held:
            raise KeyboardInterrupt


def interruptible(
    work: Callable[[], Result],
    interruption: Interruption,
    beat: Callable[[], None],
    seconds: float = 30.0,
) -> Result:
    """Runs a function whose C++ code would keep Ctrl-C waiting.

    The function runs in another thread. If a signal comes first, it goes on there unheeded:
    leave the process with `leave`. The signal is looked for rather than raised: where Python
    happens to be when it comes, in a callback of the garbage collector for one, an exception
    may be dropped.

    Args:
        work: The function.
        interruption: Which is watched.
        beat: Called now and then while it runs.
        seconds: How often.

    Returns:
        What it returns, or raises what it raises.

    Raises:
        KeyboardInterrupt: The process was asked to stop.
    """
    outcome: list[Result] = []
    failure: list[BaseException] = []
    done = threading.Event()

    def target() -> None:
        try:
            outcome.append(work())
        except BaseException as error:
            failure.append(error)
        finally:
            done.set()

    threading.Thread(target=target, name=_BACKGROUND, daemon=True).start()
    waited = 0.0
    while not done.wait(min(_LOOK, seconds)):
        if interruption.number:
            raise KeyboardInterrupt
        waited += min(_LOOK, seconds)
        if waited >= seconds:
            waited = 0.0
            beat()
    if failure:
        raise failure[0]
    return outcome[0]


def leave(status: int) -> NoReturn:
    """Exits, also while a function of `interruptible` still runs."""
    if any(thread.name == _BACKGROUND for thread in threading.enumerate()):
        # Python's own end would tear down what that thread is using.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    sys.exit(status)
