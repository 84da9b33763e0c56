"""Where the reference's side of a trace comes from: its worker, or a recording of it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from parity.trace.answers import FOLDER, Notes, RecordedAnswers, Request, split
from parity.trace.quantity import Arrays
from parity.trace.sides import Start, StepAnswer
from parity.trace.tdmpc2.names import NameMap
from parity.trace.tdmpc2.problem import (
    Problem,
    make_batch,
    make_plan_inputs,
    make_plan_noise,
    make_update_noise,
)
from parity.trace.tdmpc2.reference import ReferenceState, TracedReference, intermediates
from parity.trace.tdmpc2.subject import PLAN
from parity.workers import Asked
from reference_harness.recorder import Recorder


def batch_of(problem: Problem, step: int) -> Arrays:
    """What a step learns from, and what it plans from."""
    inputs = {k: v for k, v in make_plan_inputs(problem, step).items() if v is not None}
    return {**make_batch(problem, step), **_of_plan(inputs)}


def noise_of(problem: Problem, step: int) -> Arrays:
    """All draws of a step."""
    return {**make_update_noise(problem, step), **_of_plan(make_plan_noise(problem, step))}


def _of_plan(arrays: Mapping[str, Any]) -> dict[str, Any]:
    return {f"{PLAN}/{name}": value for name, value in arrays.items()}


class UpdateRequests:
    """Under which questions the answers to a problem are kept."""

    def __init__(self, problem: Problem):
        self._problem = problem

    def initial(self) -> Request:
        """See `Requests`."""
        return "tdmpc2.trace_initial", self._settings()

    def step(self, start: Start, step: int) -> Request:
        """See `Requests`."""
        request = {
            **self._settings(),
            "start": start,
            "step": step,
            "seed": self._problem.seed,
            **batch_of(self._problem, step),
        }
        return "tdmpc2.trace_step", request

    def _settings(self) -> dict[str, Any]:
        settings = self._problem.reference_settings("float32")
        return {"settings": json.dumps(settings, sort_keys=True)}


class LiveAnswers:
    """The reference's own code, asked now.

    Args:
        worker: From `reference.start`.
        problem: What is traced.
        recorder: Notes every answer, if given.
    """

    def __init__(self, worker: Asked, problem: Problem, recorder: Recorder | None = None):
        self._problem = problem
        self._notes = Notes(UpdateRequests(problem), recorder)
        self._theirs = TracedReference(worker, problem, "float32")
        self._exact = TracedReference(worker, problem, "float64")

    def check(self, starts: Iterable[Start], steps: int) -> None:
        """See `Answers`: whoever is asked now can answer anything."""

    def initial(self) -> ReferenceState:
        """See `Answers`."""
        state = self._theirs.initial()
        self._notes.initial(state=state.state)
        return state

    def steps(
        self, start: Start, state: ReferenceState, names: NameMap, count: int
    ) -> Iterator[StepAnswer]:
        """See `Answers`."""
        exact = state
        for step in range(count):
            read, state = self._step(self._theirs, state, step, names)
            exactly_read, exact = self._step(self._exact, exact, step, names)
            answer = StepAnswer(read, exactly_read, noise_of(self._problem, step))
            self._notes.step(start, step, answer)
            yield answer

    def _step(
        self, side: TracedReference, before: ReferenceState, step: int, names: NameMap
    ) -> tuple[Arrays, ReferenceState]:
        problem = self._problem
        inputs = make_plan_inputs(problem, step)
        plan = side.plan(before, inputs, make_plan_noise(problem, step))
        read, after = side.update(
            before, make_batch(problem, step), make_update_noise(problem, step)
        )
        return intermediates(plan, read, after, names), after


def recorded_answers(pin: str, problem: Problem, folder: Path = FOLDER) -> RecordedAnswers:
    """What the reference answered earlier.

    Args:
        pin: The reference.
        problem: What is traced.
        folder: Where the recording is kept.
    """
    return RecordedAnswers(
        pin,
        UpdateRequests(problem),
        lambda answer: ReferenceState(split(answer, ("state",))["state"]),
        "only 5f6fade and e9f5932 were (--episodic at e9f5932), at size tiny, with the other "
        "options as they are by default",
        folder,
    )
