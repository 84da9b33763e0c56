"""Where the reference's side of a trace comes from: its worker, or a recording of it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from core.dreamerv3 import twohot
from core.dreamerv3.types import Discrete
from parity.trace.answers import FOLDER, Notes, RecordedAnswers, Request, split
from parity.trace.dreamerv3 import reference as references
from parity.trace.dreamerv3.names import NameMap
from parity.trace.dreamerv3.problem import Problem, make_noise, make_rows
from parity.trace.dreamerv3.reference import ReferenceState, TracedReference
from parity.trace.sides import PaddingError, Start, StepAnswer
from parity.workers import Asked
from reference_harness.recorder import Recorder


class DreamerRequests:
    """Under which questions the answers to a problem are kept.

    Args:
        problem: What is traced.
        neutralise: Whether row D22 is settled.
    """

    def __init__(self, problem: Problem, neutralise: bool):
        self._problem = problem
        self._neutralise = neutralise

    def initial(self) -> Request:
        """See `Requests`."""
        return "dreamerv3.trace_initial", self._settings()

    def step(self, start: Start, step: int) -> Request:
        """See `Requests`."""
        request = {
            **self._settings(),
            "start": start,
            "step": step,
            "seed": self._problem.seed,
            "neutralise": self._neutralise,
            **{f"rows/{k}": column for k, column in make_rows(self._problem, step).items()},
        }
        return "dreamerv3.trace_step", request

    def _settings(self) -> dict[str, Any]:
        settings = self._problem.reference_settings(self._problem.dtype)
        return {"settings": json.dumps(settings, sort_keys=True)}


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
        self._notes = Notes(DreamerRequests(problem, neutralise), recorder)
        self._theirs = TracedReference(worker, problem, problem.dtype, bins)
        self._exact = TracedReference(worker, problem, "float64", bins)

    def check(self, starts: Iterable[Start], steps: int) -> None:
        """See `Answers`: whoever is asked now can answer anything."""

    def initial(self) -> ReferenceState:
        """See `Answers`."""
        state = self._theirs.initial()
        self._notes.initial(state=state.state, carry=state.carry)
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
            self._notes.step(start, step, answer)
            yield answer


def recorded_answers(
    pin: str, problem: Problem, neutralise: bool, folder: Path = FOLDER
) -> RecordedAnswers:
    """What the reference answered earlier.

    Args:
        pin: The reference.
        problem: What is traced.
        neutralise: Whether row D22 is settled.
        folder: Where the recording is kept.
    """
    return RecordedAnswers(
        pin,
        DreamerRequests(problem, neutralise),
        lambda answer: ReferenceState(**split(answer, ("state", "carry"))),
        "only 29eb964 was, at size tiny, with the other options as they are by default",
        folder,
    )
