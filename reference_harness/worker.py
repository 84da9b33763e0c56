"""Asks a Python module in another environment for the answers to its operations.

The other environment may be the one of a pinned reference, or a virtual environment of
somebody else with an adapter module; a `Worker` does not know which.
"""

from __future__ import annotations

import dataclasses
import difflib
import os
import signal
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from reference_harness import protocol
from reference_harness.worker_errors import (
    InputsNotSendableError,
    NotOfferedError,
    OperationFailedError,
    WorkerCrashedError,
    WorkerProtocolError,
    WorkerStartError,
    WorkerTimeoutError,
)

if TYPE_CHECKING:
    from reference_harness.worker_process import WorkerProcess

_CLOSING_GRACE = 1.5
_ENDING_PATIENCE = 2.0


@dataclasses.dataclass(frozen=True)
class Identity:
    """With what a worker answers.

    Attributes:
        python: The version of its interpreter.
        platform: Operating system and machine.
        cpu: The processor's model.
        packages: The version of every distribution in its environment.
        operations: The names that it offers.
    """

    python: str
    platform: str
    cpu: str
    packages: Mapping[str, str]
    operations: tuple[str, ...]


class Worker:
    """Answers operations from a process in another environment.

    The process starts with the first question and serves all that follow. It inherits only
    those environment variables that can not change a number (`worker_process.INHERITED`),
    and answers one question at a time.

    A crash or a time-out ends the process, and the next question starts another one: an
    operation is a pure computation, so nothing but the start's time is lost, and one bad
    question does not leave the rest of a batch unmeasured. A *start* that failed is not tried
    again, as nothing has changed since; every further question gets the same error at once.

    Attributes:
        name: What messages call it.
    """

    def __init__(
        self,
        name: str,
        python: str | Path,
        operations: str | Path,
        *,
        import_paths: Sequence[str | Path] = (),
        environment: Mapping[str, str] | None = None,
        time_limit: float = 300.0,
        start_limit: float = 300.0,
        way_out: str = "",
    ):
        """Describes the worker; nothing is started yet.

        Args:
            name: What messages call it.
            python: The environment's interpreter.
            operations: A dotted module name, or the path of a .py file. The module has a
                dictionary `OPERATIONS` from names to functions, which are called with keyword
                arguments (arrays and plain values) and answer with a mapping of arrays.
            import_paths: Folders that come first on the worker's import path. The folder of a
                .py file is not among them by itself.
            environment: Variables that the worker gets beside the inherited ones.
            time_limit: Seconds for one operation, the transfers included.
            start_limit: Seconds for the start, the import of the operations included.
            way_out: What to do if the worker does not start, e.g. a command that repairs its
                environment; ends the messages about it.
        """
        self.name = name
        self._python = Path(python)
        from_file = isinstance(operations, Path) or operations.endswith(".py")
        self._operations = os.path.abspath(operations) if from_file else str(operations)
        self._import_paths = tuple(os.path.abspath(path) for path in import_paths)
        self._environment = dict(environment or {})
        self._time_limit = time_limit
        self._start_limit = start_limit
        self._way_out = f"; {way_out}" if way_out else ""
        self._process: WorkerProcess | None = None
        self._identity: Identity | None = None
        self._start_error: WorkerStartError | None = None
        self._closed = False
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @property
    def identity(self) -> Identity:
        """What the worker said of itself when it started; starts it if need be.

        Raises:
            WorkerStartError: It does not start.
        """
        with self._lock:
            if self._identity is None:
                self._started()
            assert self._identity is not None
            return self._identity

    def offers(self, operation: str) -> bool:
        """Whether the worker has an operation of this name; starts it if need be.

        Raises:
            WorkerStartError: It does not start.
        """
        return operation in self.identity.operations

    def ask(self, operation: str, inputs: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """Answers one operation.

        Args:
            operation: A name that the worker offers.
            inputs: Arrays of bool, int, uint or float dtypes, and plain values.

        Returns:
            The operation's outputs by name.

        Raises:
            WorkerStartError: The worker does not start.
            NotOfferedError: It has no such operation.
            InputsNotSendableError: An input is neither plain nor such an array.
            OperationFailedError: The operation raised an exception.
            WorkerCrashedError: The process ended before it answered.
            WorkerTimeoutError: It did not answer within the limit.
            WorkerProtocolError: It answered with something that is no message.
        """
        if not self.offers(operation):
            near = difflib.get_close_matches(operation, self.identity.operations, n=1)
            raise NotOfferedError(
                f"{self.name} does not offer {operation}"
                + (f"; did you mean {near[0]}?" if near else "")
            )
        try:
            request = protocol.encode({"operation": operation, "inputs": inputs})
        except protocol.ProtocolError as error:
            raise InputsNotSendableError(
                f"{self.name} can not be asked for {operation}: {error}"
            ) from None
        with self._lock:
            process = self._started()
            answer = self._exchange(process, request, self._time_limit, operation)
        if not answer["answered"]:
            raise OperationFailedError(
                f"{self.name} failed on {operation}: {_raised(answer)}",
                answer["traceback"],
            )
        return answer["outputs"]

    def close(self) -> None:
        """Ends the process: asks it to leave, then kills it and all that it started."""
        with self._lock:
            self._closed = True
            if self._process is not None:
                self._process.end(_CLOSING_GRACE)

    def _started(self) -> WorkerProcess:
        """The running process, started if need be; the caller holds the lock."""
        if self._closed:
            raise RuntimeError(f"{self.name} was asked after it had been closed")
        if self._start_error is not None:
            raise self._start_error.with_traceback(None)
        if self._process is None or not self._process.usable:
            try:
                self._process, self._identity = self._start()
            except WorkerStartError as error:
                self._start_error = error
                raise
        return self._process

    def _start(self) -> tuple[WorkerProcess, Identity]:
        if os.name != "posix":
            raise WorkerStartError(
                f"{self.name} can not run here: workers need the pipes and process groups of "
                f"Linux or macOS (on Windows, of its Linux subsystem)"
            )
        from reference_harness.worker_process import WorkerProcess

        try:
            process = WorkerProcess(
                self._python, (self._operations, *self._import_paths), self._environment
            )
        except OSError as error:
            raise WorkerStartError(
                f"{self.name} did not start: its interpreter {self._python} can not be run "
                f"({error.strerror}){self._way_out}"
            ) from None
        greeting = self._exchange(process, (), self._start_limit, None)
        if greeting["ready"]:
            process.worker_pid = greeting["pid"]
            fields = {field.name: greeting[field.name] for field in dataclasses.fields(Identity)}
            return process, Identity(**{**fields, "operations": tuple(fields["operations"])})
        lost = greeting["missing_module"]
        error = WorkerStartError(
            f"{self.name} did not start: {self._python} can not import {self._operations}: "
            f"{_raised(greeting)}"
            + (f"; its environment lacks what provides {lost}" if lost else "")
            + self._way_out,
            process.log_tail(),
        )
        process.end(_CLOSING_GRACE)
        raise error

    def _exchange(
        self, process: WorkerProcess, request: Sequence, seconds: float, operation: str | None
    ) -> dict[str, Any]:
        """Sends a request, if there is one, and returns the next message.

        Whatever keeps the message from coming ends the process, Ctrl-C included: its stream
        would be out of step with the next question.
        """
        deadline = time.monotonic() + seconds
        try:
            try:
                process.write(request, deadline)
                message = protocol.decode(process.reader(deadline))
                if message is not None:
                    return message
                kind, what = WorkerCrashedError, _ending(process)
            except TimeoutError:
                process.make_log_its_stack()
                kind, what = WorkerTimeoutError, f"took longer than {seconds:g} s and was killed"
            except (BrokenPipeError, protocol.TruncatedError):
                kind, what = WorkerCrashedError, _ending(process)
            except protocol.ProtocolError as error:
                kind = WorkerProtocolError
                what = f"sent something that is no message ({error}) and was killed"
            log = process.log_tail()
        except BaseException:
            process.end()
            raise
        process.end()
        if operation is None:
            kind, what = WorkerStartError, f"did not start: its process {what}{self._way_out}"
            raise kind(f"{self.name} {what}", log)
        raise kind(f"{self.name}, asked for {operation}, {what}", log)


def _raised(failure: Mapping[str, Any]) -> str:
    """An exception in one line; a longer text is in the traceback."""
    first = next(filter(str.strip, failure["text"].splitlines()), "")
    return f"{failure['type']}: {first}" if first else failure["type"]


def _ending(process: WorkerProcess) -> str:
    """How a process ended whose stream has ended."""
    status = process.wait_for_end(_ENDING_PATIENCE)
    if status is None:
        return "closed its pipe without an answer and was killed"
    if status >= 0:
        return f"ended with exit status {status} before it answered"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = f"signal {-status}"
    hint = " (is the memory exhausted?)" if name == "SIGKILL" else ""
    return f"was ended by {name} before it answered{hint}"
