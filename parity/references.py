"""The references as implementations: recorded, or live in their side environments."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import numpy as np

from parity.implementations import CannotMeasureError, Implementation
from parity.operations import Answer, Array, Inputs, catalogue
from parity.workers import Asked, ask, start_reference
from reference_harness.recordings import FOLDER, NotRecordedError, Recording, request_digest


@dataclasses.dataclass(frozen=True)
class Stale:
    """A live answer that is further from the recorded one than noise explains."""

    pin: str
    operation: str
    output: str
    distance: float
    allowed: float
    digest: str

    def __str__(self) -> str:
        return (
            f"{self.pin} {self.operation}: the live {self.output!r} is {self.distance:.3g} from "
            f"the recorded one, noise explains {self.allowed:.3g} (request {self.digest[:12]})"
        )


class Recorded(Implementation):
    """The answers that a pin gave earlier."""

    def __init__(self, pin: str, folder: Path = FOLDER):
        self.name = pin
        self._recording = Recording(pin, folder)

    def answer(self, operation: str, inputs: Inputs) -> Answer:
        """See `Implementation.answer`; a damaged recording raises `HarnessError`."""
        try:
            return self._recording.answer(operation, inputs)
        except NotRecordedError as error:
            # In the same words at every pin, so that a report can say it once.
            raise CannotMeasureError(
                f"this question of {operation} was never recorded (request {error.digest[:12]}); "
                f"install the reference with `parity reference install`, and add --live"
            ) from None


class Live(Implementation):
    """A pin's own code, asked now, and held against what was recorded of it.

    Args:
        pin: The pin's name.
        start: Starts its worker.
        folder: Where recordings are kept; None for no comparison.

    Attributes:
        stale: The answers that have moved away from the recording.
    """

    def __init__(self, pin: str, start: Callable[[str], Asked], folder: Path | None = FOLDER):
        self.name = pin
        self.stale: list[Stale] = []
        self._start = start
        self._worker: Asked | None = None
        self._recording = Recording(pin, folder) if folder else None
        self._absent: CannotMeasureError | None = None

    @property
    def worker(self) -> Asked:
        """The worker, started when it is first needed.

        Raises:
            CannotMeasureError: The reference is not installed.
        """
        if self._absent:
            raise self._absent
        if self._worker is None:
            try:
                self._worker = self._start(self.name)
            except CannotMeasureError as error:
                self._absent = error
                raise
        return self._worker

    def answer(self, operation: str, inputs: Inputs) -> Answer:
        """See `Implementation.answer`; a worker that breaks raises `HarnessError`."""
        answer = ask(self.worker, operation, inputs)
        if self._recording is not None:
            self._compare(self._recording, operation, inputs, answer)
        return answer

    def close(self) -> None:
        """Ends the worker, if one was started."""
        if self._worker is not None:
            self._worker.close()
            self._worker = None

    def _compare(
        self, recording: Recording, operation: str, inputs: Inputs, answer: Answer
    ) -> None:
        try:
            recorded = recording.answer(operation, inputs)
        except NotRecordedError:
            return
        digest = request_digest(operation, inputs)
        for output in catalogue()[operation].outputs:
            if output.name in answer and output.name in recorded:
                far, allowed = staleness(output, answer[output.name], recorded[output.name])
                if not far <= allowed:
                    found = Stale(self.name, operation, output.name, far, allowed, digest)
                    self.stale.append(found)


class Remembered(Implementation):
    """Asks the same question only once."""

    def __init__(self, inner: Implementation):
        self.name = inner.name
        self._inner = inner
        self._answers: dict[str, Answer] = {}

    def answer(self, operation: str, inputs: Inputs) -> Answer:
        """See `Implementation.answer`."""
        digest = request_digest(operation, inputs)
        if digest not in self._answers:
            self._answers[digest] = self._inner.answer(operation, inputs)
        # Copies, because a claim may do with an answer what it likes.
        return {name: np.array(value) for name, value in self._answers[digest].items()}


class References:
    """The reference at every pin, each made when it is first asked for.

    Args:
        source: Where answers come from.
        folder: Where recordings are kept; None for no recording to compare with.
        start: Starts the worker of a pin.
        remember: Keep answers, for claims that ask the same.
    """

    def __init__(
        self,
        source: Literal["recorded", "live"],
        folder: Path | None = FOLDER,
        *,
        start: Callable[[str], Asked] | None = None,
        remember: bool = True,
    ):
        self.source = source
        self._folder = folder
        self._start = start or start_reference
        self._remember = remember
        self._live: dict[str, Live] = {}
        self._made: dict[str, Implementation] = {}

    def __call__(self, pin: str) -> Implementation:
        """The reference at this pin."""
        if pin not in self._made:
            recorded = self.source == "recorded"
            inner = Recorded(pin, self._folder or FOLDER) if recorded else self.live(pin)
            self._made[pin] = Remembered(inner) if self._remember else inner
        return self._made[pin]

    def live(self, pin: str) -> Live:
        """The reference's own code at this pin."""
        if pin not in self._live:
            self._live[pin] = Live(pin, self._start, self._folder)
        return self._live[pin]

    @property
    def stale(self) -> list[Stale]:
        """The live answers that have moved away from the recording."""
        return [found for live in self._live.values() for found in live.stale]

    def __enter__(self) -> References:
        return self

    def __exit__(self, *exception: object) -> None:
        for live in self._live.values():
            live.close()


def staleness(output: Array, live: np.ndarray, recorded: np.ndarray) -> tuple[float, float]:
    """How far a live answer is from the recorded one, and how far noise explains.

    NaN and infinities must stand at the same places; where they do not, and where the
    shapes differ, the distance is infinite.
    """
    magnitude = np.abs(recorded[np.isfinite(recorded)].astype(np.float64))
    allowed = max(output.noise * float(magnitude.max(initial=0.0)), output.floor)
    if live.shape != recorded.shape or live.dtype != recorded.dtype:
        return math.inf, allowed
    both = np.isfinite(live) & np.isfinite(recorded)
    if not np.array_equal(live[~both], recorded[~both], equal_nan=live.dtype.kind == "f"):
        return math.inf, allowed
    if live.dtype.kind in "iu":  # float64 does not hold every int64
        unequal = live[live != recorded].astype(np.float64) - recorded[live != recorded]
        return float(np.maximum(np.abs(unequal), 1.0).max(initial=0.0)), allowed
    distance = np.abs(live[both].astype(np.float64) - recorded[both].astype(np.float64))
    return float(distance.max(initial=0.0)), allowed
