"""Workers in other environments, seen as implementations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from parity.implementations import (
    AnswerError,
    CannotMeasureError,
    Implementation,
    NotHereError,
)
from parity.operations import Answer, Inputs

if TYPE_CHECKING:
    from reference_harness.worker import Identity


class Asked(Protocol):
    """What of a `reference_harness.worker.Worker` is used here."""

    @property
    def identity(self) -> Identity:
        """With what it answers."""
        ...

    def ask(self, operation: str, inputs: Inputs) -> Answer:
        """Answers one operation."""
        ...

    def close(self) -> None:
        """Ends the worker."""
        ...


class SubjectWorker(Implementation):
    """A subject in an environment of its own.

    Whatever goes wrong while it answers is its own failure; that it does not start is not.
    """

    def __init__(self, name: str, worker: Asked):
        self.name = name
        self._worker = worker

    @property
    def identity(self) -> Identity:
        """With what it answers."""
        return self._worker.identity

    def answer(self, operation: str, inputs: Inputs) -> Answer:
        """See `Implementation.answer`; a worker that does not start raises `HarnessError`."""
        from reference_harness import worker_errors as errors

        try:
            return ask(self._worker, operation, inputs)
        except (
            errors.WorkerCrashedError,
            errors.WorkerTimeoutError,
            errors.WorkerProtocolError,
        ) as error:
            raise AnswerError(str(error)) from error


def ask(worker: Asked, operation: str, inputs: Inputs) -> Answer:
    """Asks a worker.

    Raises:
        CannotMeasureError: It does not offer the operation.
        AnswerError: The operation raised an exception.
        HarnessError: The worker broke.
    """
    from reference_harness.worker_errors import NotOfferedError, OperationFailedError

    try:
        return worker.ask(operation, inputs)
    except NotOfferedError as error:
        raise CannotMeasureError(str(error)) from error
    except OperationFailedError as error:
        raise AnswerError(str(error)) from error


def start_reference(
    pin: str,
    *,
    operations: str | None = None,
    time_limit: float = 300.0,
    environment: Mapping[str, str] | None = None,
) -> Asked:
    """The worker of an installed pin.

    Args:
        pin: Its name.
        operations: The module that answers; by default the pin's own.
        time_limit: Seconds for one operation.
        environment: Variables that the worker gets beside the inherited ones.

    Raises:
        NotHereError: The pin is not installed here.
        CannotMeasureError: Nothing here can ask it.
        HarnessError: Its installation is damaged.
    """
    from reference_harness import installation
    from reference_harness.pins import find_pin
    from reference_harness.worker import Worker

    known = find_pin(pin)
    if known.operations is None:
        raise CannotMeasureError(f"nobody has written operations that ask {known.name} yet")
    found = installation.find(known)
    if found is None:
        raise NotHereError(str(installation.not_installed(known)))
    return Worker(
        known.name,
        found.python,
        operations or known.operations,
        time_limit=time_limit,
        environment=environment,
        import_paths=[found.import_path],
        way_out=f"repair it with `parity reference install {known.name}`",
    )
