"""One trace: the same parameters, batch and draws on both sides, step by step."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from core.dreamerv3.types import Discrete
from parity.trace.answers import Answers
from parity.trace.compare import Comparator
from parity.trace.difference import Difference, first_divergence
from parity.trace.problem import Arrays, Problem, make_noise, make_rows
from parity.trace.quantities import quantities, renamed
from parity.trace.reference import ReferenceState
from parity.trace.starts import Start, start_from
from parity.trace.subject import TracedCore, TracedSubject

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
        dropped: How many of the reference's stand in padding columns.
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
        subject: Takes the steps that are held against the reference's; by default the core.
            A partial one is compared in what it answers with.
        neutralised: The registered deviations that `answers` settles.
        progress: Told what is being done.
    """

    def __init__(
        self,
        problem: Problem,
        answers: Answers,
        *,
        subject: TracedSubject | None = None,
        neutralised: tuple[str, ...] = ("D22",),
        progress: Progress = lambda text: None,
    ):
        self._problem = problem
        self._answers = answers
        self._progress = progress
        self._neutralised = neutralised
        self._subject = subject or TracedCore(problem)
        self._fresh: ReferenceState | None = None

    def trace(self, start: Start, steps: int) -> Trace:
        """Takes some steps and compares them.

        Args:
            start: The state to start from.
            steps: How many steps, at least 1.

        Raises:
            NameMapError: The parameters of the two sides are not each other's.
            PaddingError: The reference's padding columns are not inert.
            CannotMeasureError, AnswerError, HarnessError: The reference gives no answer.
        """
        if self._fresh is None:
            self._progress("the reference's initial parameters")
            self._fresh = self._answers.initial()
        state = start_from(start, self._fresh, self._problem.seed)
        names = self._subject.names(state)
        leaves = self._subject.leaves(names)
        compared = quantities(leaves[name] for name in sorted(names.names))
        first_update = int(state.state["agent/opt/step/value"])
        comparator = Comparator(self._problem.config, self._problem.dtype, first_update)
        before = self._subject.carried_over(state, names)
        found: list[Difference] = []
        missing: dict[str, None] = {}
        nudged = draws = 0
        self._progress(f"{start}: step 1 of {steps}, reference")
        for step, theirs in enumerate(self._answers.steps(start, state, names, steps)):
            changed, all_draws = self._raised(step, theirs.noise)
            nudged, draws = nudged + changed, draws + all_draws
            self._progress(f"{start}: step {step + 1} of {steps}, {self._subject.name}")
            rows = make_rows(self._problem, step)
            ours, before = self._subject.step(before, rows, theirs.noise)
            reference, exact = (renamed(x, leaves) for x in (theirs.reference, theirs.exact))
            differences = comparator.step(compared, ours, reference, exact)
            if self._subject.partial:
                absent = [d.quantity.name for d in differences if d.quantity.name not in ours]
                missing |= dict.fromkeys(absent)
                differences = [d for d in differences if d.quantity.name in ours]
            found += differences
            if step + 1 < steps:
                self._progress(f"{start}: step {step + 2} of {steps}, reference")
        return Trace(
            self._problem,
            start,
            self._neutralised,
            tuple(found),
            sum(value.size for value in state.parameters.values()) - names.dropped,
            names.dropped,
            len(names.names),
            nudged,
            draws,
            self._subject.name,
            tuple(missing),
        )

    def _raised(self, step: int, used: Arrays) -> tuple[int, int]:
        """How many categorical draws got other noise than was made for them, of how many."""
        made = make_noise(self._problem, step)
        discrete = isinstance(self._problem.actions, Discrete)
        categorical = ("posterior", "prior", *(("action",) if discrete else ()))
        changed = [(made[name] != used[name]).any(-1) for name in categorical]
        return sum(int(x.sum()) for x in changed), sum(int(np.size(x)) for x in changed)
