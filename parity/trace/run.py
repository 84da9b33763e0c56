"""One trace: the same parameters, batch and draws on both sides, step by step."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from parity.trace.difference import Difference, first_divergence
from parity.trace.sides import Answers, Problem, Start, Subject

Progress = Callable[[str], None]


@dataclasses.dataclass(frozen=True)
class Trace:
    """A finished trace.

    Attributes:
        problem: What was asked.
        start: From which state.
        neutralised: The registered deviations that both sides answered alike.
        differences: Every quantity of every step, in order.
        parameters: How many parameters were carried over.
        dropped: How many of the reference's have no counterpart.
        leaves: How many arrays of parameters there are.
        nudged: How many categorical draws were too close for rounding not to decide them.
        draws: How many there were.
        subject: What the subject is called.
        not_offered: The quantities that the subject does not answer with.
    """

    problem: Problem
    start: Start
    neutralised: tuple[str, ...]
    differences: tuple[Difference, ...]
    parameters: int
    dropped: int
    leaves: int
    nudged: int
    draws: int
    subject: str = "core"
    not_offered: tuple[str, ...] = ()

    @property
    def first(self) -> Difference | None:
        """The first divergence."""
        return first_divergence(self.differences)


class Tracer:
    """Traces one problem at one pin, from any number of starts.

    Args:
        problem: What to ask.
        answers: The reference's side.
        subject: Takes the steps that are held against the reference's. A partial one is
            compared in what it answers with.
        neutralised: The registered deviations that `answers` settles.
        progress: Told what is being done.
    """

    def __init__(
        self,
        problem: Problem,
        answers: Answers,
        subject: Subject,
        *,
        neutralised: tuple[str, ...] = (),
        progress: Progress = lambda text: None,
    ):
        self._problem = problem
        self._answers = answers
        self._subject = subject
        self._progress = progress
        self._neutralised = neutralised
        self._fresh: Any = None

    def trace(self, start: Start, steps: int) -> Trace:
        """Takes some steps and compares them.

        Args:
            start: The state to start from.
            steps: How many steps, at least 1.

        Raises:
            NameMapError: The parameters of the two sides are not each other's.
            PaddingError: Numbers that are not carried over are not inert.
            CannotMeasureError, AnswerError, HarnessError: The reference gives no answer.
        """
        if self._fresh is None:
            self._progress("the reference's initial parameters")
            self._fresh = self._answers.initial()
        problem, subject = self._problem, self._subject
        state = problem.start_from(start, self._fresh)
        names = subject.names(state)
        leaves = subject.leaves(names)
        compared = problem.quantities((leaves[name] for name in sorted(names.names)), start)
        comparator = problem.comparator(state)
        before = subject.carried_over(state, names)
        found: list[Difference] = []
        missing: dict[str, None] = {}
        nudged = draws = 0
        self._progress(f"{start}: step 1 of {steps}, reference")
        for step, theirs in enumerate(self._answers.steps(start, state, names, steps)):
            changed, all_draws = problem.nudged(step, theirs.noise)
            nudged, draws = nudged + changed, draws + all_draws
            self._progress(f"{start}: step {step + 1} of {steps}, {subject.name}")
            ours, before = subject.step(before, problem.batch_of(step), theirs.noise)
            reference, exact = (
                problem.renamed(x, leaves) for x in (theirs.reference, theirs.exact)
            )
            differences = comparator.step(compared, ours, reference, exact)
            if subject.partial:
                absent = [d.quantity.name for d in differences if d.quantity.name not in ours]
                missing |= dict.fromkeys(absent)
                differences = [d for d in differences if d.quantity.name in ours]
            found += differences
            if step + 1 < steps:
                self._progress(f"{start}: step {step + 2} of {steps}, reference")
        return Trace(
            problem,
            start,
            self._neutralised,
            tuple(found),
            sum(value.size for value in state.parameters.values()) - names.dropped,
            names.dropped,
            len(names.names),
            nudged,
            draws,
            subject.name,
            tuple(missing),
        )
