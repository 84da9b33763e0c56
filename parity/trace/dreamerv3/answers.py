"""Where the reference's side of a trace comes from: its worker, or a recording of it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from core.dreamerv3 import twohot
from core.dreamerv3.types import Discrete
from parity.implementations import CannotMeasureError
from parity.trace.answers import FOLDER, joined, split
from parity.trace.dreamerv3 import reference as references
from parity.trace.dreamerv3.names import NameMap
from parity.trace.dreamerv3.problem import Problem, make_noise, make_rows
from parity.trace.dreamerv3.reference import ReferenceState, TracedReference
from parity.trace.quantity import Arrays
from parity.trace.sides import PaddingError, Start, StepAnswer
from parity.workers import Asked
from reference_harness.recorder import Recorder
from reference_harness.recordings import NotRecordedError, Recording, request_digest

_INITIAL, _STEP = "dreamerv3.trace_initial", "dreamerv3.trace_step"


class LiveAnswers:
    """The reference's own code, asked now.

    Args:
        worker: From `references.start`.
        problem: What is traced.
        neutralise: Settle row D22 on the reference's side: its two-hot support and the form of
            the expectation are then the core's. Two compilers contract the reference's own form
            differently, so giving that form to the core would not make the two sides alike.
        recorder: Notes every answer, if given.
    """

    def __init__(
        self, worker: Asked, problem: Problem, neutralise: bool, recorder: Recorder | None = None
    ):
        bins = twohot.make_bins(problem.config.bins) if neutralise else None
        self._problem = problem
        self._neutralise = neutralise
        self._recorder = recorder
        self._theirs = TracedReference(worker, problem, problem.dtype, bins)
        self._exact = TracedReference(worker, problem, "float64", bins)

    def check(self, starts: Iterable[Start], steps: int) -> None:
        """See `Answers`: whoever is asked now can answer anything."""

    def initial(self) -> ReferenceState:
        """See `Answers`."""
        state = self._theirs.initial()
        if self._recorder is not None:
            answer = joined(state=state.state, carry=state.carry)
            self._recorder.add(_INITIAL, _initial_request(self._problem), answer)
        return state

    def steps(
        self, start: Start, state: ReferenceState, names: NameMap, count: int
    ) -> Iterator[StepAnswer]:
        """See `Answers`.

        Raises:
            PaddingError: The reference's padding columns are not inert.
        """
        exact = state
        discrete = isinstance(self._problem.actions, Discrete)
        for step in range(count):
            rows, noise = make_rows(self._problem, step), make_noise(self._problem, step)
            read, state = self._theirs.step(state, rows, noise)
            loose = references.padding(read, state, names)
            if loose:
                raise PaddingError(
                    f"the columns that pad the two-hot logits hold up to {loose:g} after step "
                    f"{step + 1}; they were expected to stay 0 and to have no gradient"
                )
            used = references.used_noise(read)
            exactly_read, exact = self._exact.step(exact, rows, used)
            answer = StepAnswer(
                references.intermediates(read, state, names, discrete=discrete),
                references.intermediates(exactly_read, exact, names, discrete=discrete),
                used,
            )
            if self._recorder is not None:
                request = _step_request(self._problem, self._neutralise, start, step)
                self._recorder.add(_STEP, request, joined(**vars(answer)))
            yield answer


class RecordedAnswers:
    """What the reference answered earlier.

    Args:
        pin: The reference.
        problem: What is traced.
        neutralise: Whether row D22 is settled.
        folder: Where the recording is kept.
    """

    def __init__(self, pin: str, problem: Problem, neutralise: bool, folder: Path = FOLDER):
        self._problem = problem
        self._neutralise = neutralise
        self._recording = Recording(pin, folder)

    def check(self, starts: Iterable[Start], steps: int) -> None:
        """See `Answers`."""
        requests = [(_INITIAL, _initial_request(self._problem))]
        requests += [
            (_STEP, _step_request(self._problem, self._neutralise, start, step))
            for start in starts
            for step in range(steps)
        ]
        for operation, request in requests:
            if request_digest(operation, request) not in self._recording.answers(operation):
                raise self._unrecorded()

    def initial(self) -> ReferenceState:
        """See `Answers`; raises `CannotMeasureError` for what was not recorded."""
        answer = self._answer(_INITIAL, _initial_request(self._problem))
        return ReferenceState(**split(answer, ("state", "carry")))

    def steps(
        self, start: Start, state: ReferenceState, names: NameMap, count: int
    ) -> Iterator[StepAnswer]:
        """See `Answers`; raises `CannotMeasureError` for what was not recorded."""
        del state, names
        for step in range(count):
            request = _step_request(self._problem, self._neutralise, start, step)
            answer = self._answer(_STEP, request)
            yield StepAnswer(**split(answer, ("reference", "exact", "noise")))

    def _answer(self, operation: str, request: Mapping[str, Any]) -> Arrays:
        try:
            return self._recording.answer(operation, request)
        except NotRecordedError:
            raise self._unrecorded() from None

    def _unrecorded(self) -> CannotMeasureError:
        return CannotMeasureError(
            f"this trace of {self._recording.pin} was not recorded (one step of the size tiny "
            f"with the seed 0 is); install the reference with "
            f"`parity reference install {self._recording.pin}`, and add --live"
        )


def _initial_request(problem: Problem) -> dict[str, Any]:
    settings = problem.reference_settings(problem.dtype)
    return {"settings": json.dumps(settings, sort_keys=True)}


def _step_request(problem: Problem, neutralise: bool, start: Start, step: int) -> dict[str, Any]:
    """Says which step, and holds the batch, so that another batch is another question."""
    return {
        **_initial_request(problem),
        "start": start,
        "step": step,
        "seed": problem.seed,
        "neutralise": neutralise,
        **{f"rows/{name}": column for name, column in make_rows(problem, step).items()},
    }
