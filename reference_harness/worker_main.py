"""What runs in the other environment: a guardian, and below it the worker that answers.

    PYTHON -I -B worker_main.py REQUESTS ANSWERS LIFELINE OPERATIONS [IMPORT_PATH ...]

The first three are inherited pipe descriptors; OPERATIONS is a dotted module name or the
path of a .py file. Of that environment only numpy is needed, of ours only the files of this
package: none of our other packages comes onto its path. Python 3.10 and newer.

This process forks before it imports anything large. The parent process of the fork becomes
the guardian: it does nothing but wait, for the worker's end, which it passes on as its own,
and for the end of the lifeline, whose other end nobody but the asking process holds. Either
way it kills the worker's whole process group, so nothing stays behind, not even when the
asking process is killed while the worker is stuck in C code. The guardian stands above the
worker, not below it, so that the worker has no child that the code under it did not start,
and so that the worker is always reaped.
"""

from __future__ import annotations

import contextlib
import faulthandler
import fcntl
import os
import resource
import select
import signal
import sys
import types
from collections.abc import Mapping
from typing import Any, NoReturn

# Above the numbers that code under the worker may take for granted.
_LOWEST_DESCRIPTOR = 64
_PACKAGE = os.path.dirname(os.path.abspath(__file__))


def _main(arguments: list[str]) -> None:
    requests, answers, lifeline = (_set_apart(int(number)) for number in arguments[:3])
    # What the operations print, from Python or from C, goes to the log with the errors.
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the log says enough of a crash
    worker = os.fork()
    if worker:
        os.close(requests)
        os.close(answers)
        _guard(worker, lifeline)
    os.setpgid(0, 0)
    os.close(lifeline)
    sys.argv[1:] = []  # the operations' own command lines, where they parse one, are empty
    _serve(requests, answers, arguments[3], arguments[4:])


def _set_apart(descriptor: int) -> int:
    """The same pipe under a number of its own that no child process inherits."""
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _LOWEST_DESCRIPTOR)
    os.close(descriptor)
    return moved


def _guard(worker: int, lifeline: int) -> NoReturn:
    """Waits for the end of the worker or of the lifeline, and leaves nothing behind."""
    with contextlib.suppress(OSError):  # the worker does the same; whichever comes first
        os.setpgid(worker, worker)
    woken, wake = os.pipe()
    os.set_blocking(woken, False)
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    told_to_end = []
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, lambda number, _: told_to_end.append(number))
    signal.signal(signal.SIGCHLD, lambda *_: None)
    poll = select.poll()
    poll.register(lifeline, select.POLLIN)
    poll.register(woken, select.POLLIN)
    while True:
        ended, status = os.waitpid(worker, os.WNOHANG)
        if ended:
            break
        ready = dict(poll.poll())
        if lifeline in ready or told_to_end:
            with contextlib.suppress(OSError):
                os.killpg(worker, signal.SIGKILL)
            os.waitpid(worker, 0)
            status = told_to_end[0] if told_to_end else 0
            break
        with contextlib.suppress(BlockingIOError):
            os.read(woken, 4096)
    with contextlib.suppress(OSError):  # what the worker started and left
        os.killpg(worker, signal.SIGKILL)
    if os.WIFSIGNALED(status):
        fatal = os.WTERMSIG(status)
        if fatal != signal.SIGKILL:
            signal.signal(fatal, signal.SIG_DFL)
        os.kill(os.getpid(), fatal)
    os._exit(os.WEXITSTATUS(status))


def _serve(requests: int, answers: int, operations: str, import_paths: list[str]) -> None:
    """Announces what there is, then answers until the requests end."""
    import traceback

    faulthandler.enable()
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True, errors="backslashreplace")  # type: ignore
    protocol = _import_protocol()
    sys.path[:0] = import_paths

    def send(message: dict) -> None:
        for piece in protocol.encode(message):
            view = memoryview(piece)
            while len(view):
                view = view[os.write(answers, view) :]

    def fill(buffer: memoryview) -> int:
        filled = 0
        while filled < len(buffer):
            got = os.readv(requests, [buffer[filled:]])
            if not got:
                break
            filled += got
        return filled

    try:
        table = _load_operations(operations)
    except BaseException as error:
        traceback.print_exc()
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        send({"ready": False, **_describe(error), "missing_module": missing})
        raise SystemExit(1) from None
    send({"ready": True, "operations": sorted(table), **_identity()})
    while (request := protocol.decode(fill)) is not None:
        try:
            outputs = _answer(table, **request)
            send({"answered": True, "outputs": outputs})
        except Exception as error:
            lines = traceback.format_exception(type(error), error, _below_this_file(error))
            send({"answered": False, **_describe(error), "traceback": "".join(lines)})


def _import_protocol():
    """The messages' module, as part of a stand-in for our package that holds nothing else.

    The stand-in is why `reference_harness.dreamerv3.operations` can be imported here without
    the folder above this package, and all that lies beside it, being on the path.
    """
    package = types.ModuleType("reference_harness")
    package.__path__ = [_PACKAGE]
    sys.modules[package.__name__] = package
    try:
        import reference_harness.protocol as protocol
    except ModuleNotFoundError as error:
        raise SystemExit(
            f"{sys.executable} can not import {error.name}; a worker's environment needs numpy"
        ) from None
    return protocol


def _load_operations(source: str) -> dict[str, Any]:
    """The table `OPERATIONS` of a module given by dotted name or by path."""
    import importlib
    import importlib.util

    if source.endswith(".py"):
        specification = importlib.util.spec_from_file_location("worker_operations", source)
        module = importlib.util.module_from_spec(specification)  # type: ignore[arg-type]
        sys.modules["worker_operations"] = module  # dataclasses look their module up there
        specification.loader.exec_module(module)  # type: ignore[union-attr]
    else:
        module = importlib.import_module(source)
    table = getattr(module, "OPERATIONS", None)
    if not isinstance(table, Mapping) or not all(
        isinstance(name, str) and callable(function) for name, function in table.items()
    ):
        raise TypeError(f"{source} has no dictionary OPERATIONS from names to functions")
    return dict(table)


class InputChangedError(Exception):
    """An operation has written into an array that it was given."""


def _answer(table: Mapping[str, Any], operation: str, inputs: dict) -> dict[str, Any]:
    import numpy as np

    arrays = {name: value for name, value in inputs.items() if isinstance(value, np.ndarray)}
    before = {name: value.tobytes() for name, value in arrays.items()}
    outputs = table[operation](**inputs)
    for name, value in arrays.items():
        # Only here can it be seen: whoever asks has arrays of their own.
        if value.tobytes() != before[name]:
            raise InputChangedError(
                f"it changed its input {name!r}; operations leave their inputs as they are"
            )
    if not isinstance(outputs, Mapping):
        raise TypeError(
            f"an operation answers with a dictionary of arrays, not with {type(outputs).__name__}"
        )
    return {name: np.asarray(value) for name, value in outputs.items()}


def _below_this_file(error: BaseException) -> types.TracebackType | None:
    """The part of a traceback that lies within the operations."""
    step = error.__traceback__
    while step and os.path.dirname(step.tb_frame.f_code.co_filename) == _PACKAGE:
        step = step.tb_next
    return step


def _describe(error: BaseException) -> dict[str, Any]:
    return {"type": type(error).__name__, "text": str(error)}


def _identity() -> dict[str, Any]:
    import platform

    return {
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "cpu": _processor(),
        "packages": _packages(),
        "pid": os.getpid(),
    }


def _packages() -> dict[str, str]:
    """The version of every distribution on the path; of two, that which is imported."""
    import importlib.metadata

    found: dict[str, str] = {}
    for distribution in importlib.metadata.distributions():
        with contextlib.suppress(Exception):  # a broken one shall not keep the rest from use
            found.setdefault(str(distribution.metadata["Name"]), str(distribution.version))
    return dict(sorted(found.items()))


def _processor() -> str:
    """The processor's model, where the system tells it."""
    import platform

    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:
            models = (line.partition(":")[2].strip() for line in lines if "model name" in line)
            return next(models, "") or platform.machine()
    except OSError:
        return platform.processor() or platform.machine()


if __name__ == "__main__":
    _main(sys.argv[1:])
