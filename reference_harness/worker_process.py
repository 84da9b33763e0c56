"""One process in another environment, and the three pipes that lead to it.

This is the transport under `reference_harness.worker`: it starts `worker_main.py`, moves
bytes with a deadline, and ends the process with all that it started. It gives no meaning
to what it carries.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal
import subprocess
import tempfile
import time
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path

from reference_harness.protocol import Fill

# What a worker inherits. Anything else (XLA_FLAGS, JAX_*, OMP_NUM_THREADS, PYTHONPATH ...)
# could change the numbers without a trace, so it has to be given by whoever asks.
INHERITED = ("PATH", "HOME", "USER", "TMPDIR", "LANG", "LC_ALL", "TZ", "CUDA_VISIBLE_DEVICES")

_SLICE = 0.25  # seconds between two looks at whether the process still lives
_PIPE_SIZE = 1 << 20
_TAIL_BYTES = 1 << 14
_LONGEST_LINE = 400

_living: weakref.WeakSet[WorkerProcess] = weakref.WeakSet()


class WorkerProcess:
    """A started process; `end` it, or drop it, and nothing of it stays behind.

    Args:
        python: The interpreter.
        arguments: The operations module and the import paths.
        environment: Variables beside those of `INHERITED`.

    Raises:
        OSError: The interpreter can not be started.
    """

    def __init__(self, python: Path, arguments: Sequence[str], environment: Mapping[str, str]):
        main = Path(__file__).with_name("worker_main.py")
        inherited = {name: os.environ[name] for name in INHERITED if name in os.environ}
        # Without a name in the file system, the log is gone however this process ends.
        log = tempfile.TemporaryFile()  # noqa: SIM115
        pipes = [os.pipe() for _ in range(3)]
        (requests, self._requests), (self._answers, answers), (lifeline, self._lifeline) = pipes
        try:
            for descriptor in (requests, answers):
                with contextlib.suppress(OSError, AttributeError):  # Linux alone has this
                    fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, _PIPE_SIZE)
            os.set_blocking(self._requests, False)
            os.set_blocking(self._answers, False)
            theirs = (requests, answers, lifeline)
            self._process = subprocess.Popen(
                [python, "-I", "-B", "-X", "utf8", main, *map(str, theirs), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**inherited, "PYTHONDONTWRITEBYTECODE": "1", **environment},
                pass_fds=theirs,
                start_new_session=True,  # Ctrl-C in the terminal is for the asking process
            )
        except BaseException:
            for descriptor in (self._requests, self._answers, self._lifeline):
                os.close(descriptor)
            log.close()
            raise
        finally:
            for descriptor in (requests, answers, lifeline):
                os.close(descriptor)
        self._log = log
        self.worker_pid: int | None = None  # below the guardian, once it has told
        self._finalizer = weakref.finalize(
            self, _leave, self._process, (self._requests, self._answers, self._lifeline), log
        )
        _living.add(self)

    @property
    def usable(self) -> bool:
        """Whether it has not been ended, here or by a fork."""
        return self._finalizer.alive

    def write(self, pieces: Sequence[bytes | memoryview], deadline: float) -> None:
        """Writes everything.

        Args:
            pieces: What to write, in order.
            deadline: On the clock of `time.monotonic`.

        Raises:
            TimeoutError: The deadline passed.
            BrokenPipeError: The worker has closed its end, most likely by dying.
        """
        for piece in pieces:
            view = memoryview(piece)
            while len(view):
                try:
                    view = view[os.write(self._requests, view) :]
                except BlockingIOError:
                    if not self._wait(self._requests, select.POLLOUT, deadline):
                        raise BrokenPipeError from None

    def reader(self, deadline: float) -> Fill:
        """A function that fills a buffer, or as much of it as comes before the stream ends.

        It raises `TimeoutError` when the deadline passes.
        """

        def fill(buffer: memoryview) -> int:
            filled = 0
            while filled < len(buffer):
                try:
                    got = os.readv(self._answers, [buffer[filled:]])
                except BlockingIOError:
                    if self._wait(self._answers, select.POLLIN, deadline):
                        continue
                    got = 0
                if not got:
                    break
                filled += got
            return filled

        return fill

    def _wait(self, descriptor: int, event: int, deadline: float) -> bool:
        """Waits until a pipe is ready; False where the process is dead and the pipe is not."""
        poll = select.poll()
        poll.register(descriptor, event)
        while True:
            remaining = deadline - time.monotonic()
            dead = self._process.poll() is not None
            wait = 0.0 if dead else min(max(remaining, 0.0), _SLICE)
            if poll.poll(wait * 1000):
                return True
            # A process that the worker forked may hold the pipe open after its death.
            if dead:
                return False
            if remaining <= 0:
                raise TimeoutError

    def wait_for_end(self, seconds: float) -> int | None:
        """The exit status, negative for a signal; None if it still runs after that time."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self._process.wait(seconds)
        return None

    def make_log_its_stack(self) -> None:
        """Ends the worker so that the log's last lines say where it was."""
        if self.worker_pid is not None and self._process.poll() is None:
            with contextlib.suppress(OSError):
                os.kill(self.worker_pid, signal.SIGABRT)
            self.wait_for_end(2.0)

    def log_tail(self) -> str:
        """The end of what the worker wrote to its standard output and error."""
        descriptor = self._log.fileno()
        size = os.fstat(descriptor).st_size
        data = os.pread(descriptor, _TAIL_BYTES, max(0, size - _TAIL_BYTES))
        lines = data.decode("utf-8", "replace").splitlines()
        return "\n".join(line[:_LONGEST_LINE] for line in lines)

    def end(self, grace: float = 0.0) -> None:
        """Ends the process and everything it started; to be called as often as one likes.

        Args:
            grace: Seconds that the worker has to leave by itself, its requests having ended.
        """
        if not self._finalizer.alive:
            return
        _, _, (process, descriptors, log), _ = self._finalizer.detach()  # type: ignore[misc]
        _leave(process, descriptors, log, grace)
        if process.returncode == -signal.SIGKILL and self.worker_pid is not None:
            # If it was the guardian who was killed, nobody has ended its worker.
            with contextlib.suppress(OSError):
                os.killpg(self.worker_pid, signal.SIGKILL)

    def forget(self) -> None:
        """Lets go of a process that belongs to the process from which this one forked."""
        if self._finalizer.detach():
            _close(self._requests, self._answers, self._lifeline)
            self._log.close()
            self._process.returncode = 0  # not a child of this process: nothing to wait for


def _leave(
    process: subprocess.Popen, descriptors: tuple[int, int, int], log, grace: float = 0.0
) -> None:
    """Ends a process politely, then by its lifeline, and at last by force."""
    requests, answers, lifeline = descriptors
    _close(requests)
    try:
        _wait_quietly(process, grace)
    finally:
        _close(lifeline)
        if not _wait_quietly(process, 5.0):
            process.kill()
            process.wait()
        _close(answers)
        log.close()


def _wait_quietly(process: subprocess.Popen, seconds: float) -> bool:
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(seconds)
    return process.returncode is not None


def _close(*descriptors: int) -> None:
    for descriptor in descriptors:
        with contextlib.suppress(OSError):
            os.close(descriptor)


def _forget_all() -> None:
    """In a forked child: another process that held the lifeline would keep workers alive."""
    for process in list(_living):
        process.forget()


os.register_at_fork(after_in_child=_forget_all)
