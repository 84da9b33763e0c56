"""What traces of every agent share of the reference's side: how it is noted and read again."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np

import reference_harness
from parity.implementations import CannotMeasureError
from parity.trace.quantity import Arrays
from parity.trace.sides import Start, StepAnswer
from reference_harness.recorder import Recorder
from reference_harness.recordings import (
    DamagedError,
    NotRecordedError,
    Recording,
    request_digest,
)

# Beside the recorded answers of the catalogue, which are kept claim by claim.
FOLDER = Path(reference_harness.__file__).parent / "traces_data"

Request = tuple[str, dict[str, Any]]


class Requests(Protocol):
    """Under which questions answers are kept: an operation, and all that decides its answer."""

    def initial(self) -> Request:
        """Of the state of a fresh agent."""
        ...

    def step(self, start: Start, step: int) -> Request:
        """Of one step, the batch included, so that another batch is another question."""
        ...


class Notes:
    """Keeps what the reference answers, where there is a recorder.

    Args:
        requests: Under which questions.
        recorder: Where to; None keeps nothing.
    """

    def __init__(self, requests: Requests, recorder: Recorder | None):
        self._requests = requests
        self._recorder = recorder

    def initial(self, **groups: Mapping[str, np.ndarray]) -> None:
        """Keeps a fresh state."""
        if self._recorder is not None:
            operation, request = self._requests.initial()
            self._recorder.add(operation, request, joined(**groups))

    def step(self, start: Start, step: int, answer: StepAnswer) -> None:
        """Keeps one step."""
        if self._recorder is not None:
            operation, request = self._requests.step(start, step)
            self._recorder.add(operation, request, joined(**vars(answer)))


class RecordedAnswers:
    """What the reference answered earlier.

    Args:
        pin: The reference.
        requests: Under which questions.
        state: From a recorded answer to the state of a fresh agent.
        recorded: What is recorded, for whoever asks for something else.
        folder: Where the recording is kept.
    """

    def __init__(
        self,
        pin: str,
        requests: Requests,
        state: Callable[[Arrays], Any],
        recorded: str,
        folder: Path = FOLDER,
    ):
        self._requests = requests
        self._state = state
        self._recorded = recorded
        with _recorded_by_trace(pin):
            self._recording = Recording(pin, folder)

    def check(self, starts: Iterable[Start], steps: int) -> None:
        """See `Answers`."""
        requests = [self._requests.initial()]
        requests += [self._requests.step(start, i) for start in starts for i in range(steps)]
        for operation, request in requests:
            with _recorded_by_trace(self._recording.pin):
                known = self._recording.answers(operation)
            if request_digest(operation, request) not in known:
                raise self._unrecorded()

    def initial(self) -> Any:
        """See `Answers`; raises `CannotMeasureError` for what was not recorded."""
        return self._state(self._answer(self._requests.initial()))

    def steps(self, start: Start, state: Any, names: Any, count: int) -> Iterator[StepAnswer]:
        """See `Answers`; raises `CannotMeasureError` for what was not recorded."""
        del state, names
        for step in range(count):
            answer = self._answer(self._requests.step(start, step))
            yield StepAnswer(**split(answer, ("reference", "exact", "noise")))

    def _answer(self, request: Request) -> Arrays:
        try:
            with _recorded_by_trace(self._recording.pin):
                return self._recording.answer(*request)
        except NotRecordedError:
            raise self._unrecorded() from None

    def _unrecorded(self) -> CannotMeasureError:
        pin = self._recording.pin
        return CannotMeasureError(
            f"this trace of {pin} was not recorded: {self._recorded}; add --live to ask the "
            f"reference itself (`parity reference install {pin}` installs it)"
        )


@contextlib.contextmanager
def _recorded_by_trace(pin: str) -> Iterator[None]:
    """A damaged recording is mended by the command that writes those of traces."""
    try:
        yield
    except DamagedError as error:
        agent = pin.partition("-")[0]
        command = f"parity trace {agent} --pin {pin} --record"
        raise DamagedError(error.fault, command) from None


def joined(**groups: Mapping[str, np.ndarray]) -> Arrays:
    """Groups of arrays as one, named group/array."""
    return {f"{group}/{name}": v for group, arrays in groups.items() for name, v in arrays.items()}


def split(answer: Arrays, groups: tuple[str, ...]) -> dict[str, Arrays]:
    """The inverse of `joined`, for the groups that are asked for."""
    return {
        group: {
            name.partition("/")[2]: array
            for name, array in answer.items()
            if name.startswith(f"{group}/")
        }
        for group in groups
    }
