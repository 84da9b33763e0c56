"""A few processes that take tasks, one after the other, and tell what they find.

Not of the standard library's pools: theirs wait for ever for a process that was killed, or can
not be ended in the middle of a task.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import pickle
import signal
import traceback
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

from reference_harness.errors import HarnessError

Tell = Callable[[Any], None]
Work = Callable[[Any, Tell], Any]
Opening = Callable[[], AbstractContextManager[Work]]

_TOLD, _FREE, _FAILED = range(3)


class ProcessLostError(HarnessError):
    """A process ended in the middle of its task."""


def spread(opening: Opening, tasks: Sequence[Any], processes: int) -> Generator[tuple[Any, Any]]:
    """Has every task done by some process, and gives what is told, as (task, what).

    All processes end with the iteration, however that ends.

    Args:
        opening: Called in each process, for what does a task; must be picklable, like tasks and
            what is told.
        tasks: Begun in this order.
        processes: How many at most.

    Raises:
        ProcessLostError: One was killed, e.g. for want of memory.
        Exception: What a task raised.
    """
    context = multiprocessing.get_context("spawn")  # jax's threads do not survive a fork
    waiting, doing = deque(tasks), {}
    resource_tracker.ensure_running()  # what starts it later lets interrupts through
    with contextlib.ExitStack() as stack:
        for _ in range(min(processes, len(tasks))):
            ours, theirs = context.Pipe()
            process = context.Process(target=_serve, args=(theirs, opening), daemon=True)
            with _interrupts_held():  # who inherits that never sees one
                process.start()
            stack.callback(_end, process)
            theirs.close()
            doing[ours] = waiting.popleft()
            with _lost(doing[ours], processes):
                ours.send(doing[ours])
        while doing:
            for connection in wait(list(doing)):
                assert isinstance(connection, Connection)
                with _lost(doing[connection], processes):
                    kind, value = connection.recv()
                if kind == _TOLD:
                    yield doing[connection], value
                elif kind == _FAILED:
                    error, cause = value
                    raise error from cause
                elif waiting:
                    doing[connection] = waiting.popleft()
                    with _lost(doing[connection], processes):
                        connection.send(doing[connection])
                else:
                    del doing[connection]


@contextlib.contextmanager
def _lost(task: Any, processes: int) -> Iterator[None]:
    """Says what it means that nobody is at the other end."""
    try:
        yield
    except (EOFError, ConnectionError):
        raise ProcessLostError(
            f"the process that was at {task} has ended; was there enough memory for "
            f"{processes} of them?"
        ) from None


@contextlib.contextmanager
def _interrupts_held() -> Iterator[None]:
    """Keeps Ctrl-C waiting; it is for this process, which ends the others."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end(process: BaseProcess) -> None:
    with _interrupts_held():  # a second one must not leave it running
        process.terminate()
        process.join()


def _serve(connection: Connection, opening: Opening) -> None:
    """What a process does until it is ended."""
    try:
        with opening() as work:
            while True:
                work(connection.recv(), lambda what: connection.send((_TOLD, what)))
                connection.send((_FREE, None))
    except EOFError:
        pass  # nobody is left to work for
    except Exception as error:
        cause = error.__cause__
        (cause or error).add_note("".join(traceback.format_exception(cause or error)))
        connection.send((_FAILED, (_sendable(error), cause and _sendable(cause))))


def _sendable(error: BaseException) -> BaseException:
    """The error, or one of the same words where it does not survive being sent."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        told = RuntimeError(f"{type(error).__name__}: {error}")
        told.__notes__ = list(getattr(error, "__notes__", ()))
        return told
    return error
