"""What can go wrong between this process and a worker."""

from __future__ import annotations

import textwrap

from reference_harness.errors import HarnessError

_TAIL_LINES = 20


class WorkerError(HarnessError):
    """Base of the errors that a worker causes.

    Attributes:
        sentence: What went wrong, without the log.
        log: The last lines of what the worker wrote, or of its traceback; may be empty.
    """

    def __init__(self, sentence: str, log: str = ""):
        self.sentence = sentence
        self.log = "\n".join(log.splitlines()[-_TAIL_LINES:])
        shown = textwrap.indent(self.log, "  | ", lambda line: True)
        super().__init__(f"{sentence}\n{shown}" if log else sentence)


class WorkerStartError(WorkerError):
    """The process could not be started, or could not import its operations."""


class WorkerCrashedError(WorkerError):
    """The process ended in the middle of an operation."""


class WorkerTimeoutError(WorkerError):
    """An operation took longer than its limit; the process was killed."""


class WorkerProtocolError(WorkerError):
    """What came back was not a message; the process was killed."""


class OperationFailedError(WorkerError):
    """The operation raised an exception, or answered with what is no array; the worker lives."""


class NotOfferedError(HarnessError):
    """The worker's module has no operation of this name."""


class InputsNotSendableError(HarnessError):
    """The inputs hold something that is neither a plain value nor a numeric array."""
