"""`parity trace dreamerv3`."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from parity import subjects
from parity.commands import counts, options, tracing
from parity.trace.dreamerv3 import reference
from parity.trace.dreamerv3.answers import LiveAnswers, recorded_answers
from parity.trace.dreamerv3.port import TracedPort
from parity.trace.dreamerv3.problem import Problem, make_problem
from parity.trace.dreamerv3.subject import TracedCore
from parity.trace.dreamerv3.traced import TracedProblem
from parity.trace.quantity import Dtype
from parity.trace.run import Tracer
from parity.trace.sides import STARTS, Answers
from reference_harness.pins import find_pin

_Kind = Literal["discrete", "continuous"]


def dreamerv3(
    *,
    pin: str = "dreamerv3-29eb964",
    discrete: options.Flag = False,
    continuous: options.Flag = False,
    size: Literal["tiny", "1m", "12m"] = "tiny",
    start: tracing.Starts = None,
    steps: counts.Count = 1,
    dtype: Dtype = "float32",
    batch: counts.OptionalCount = None,
    length: counts.OptionalCount = None,
    seed: counts.Seed = 0,
    subject: str = subjects.CORE,
    subject_python: Annotated[Path | None, Parameter(show_default=False)] = None,
    quantities: options.Flag = False,
    no_neutralise: options.Flag = False,
    live: options.Flag = False,
    record: options.Flag = False,
    every: options.Flag = False,
    json: options.Flag = False,
) -> int:
    """Trace training steps of DreamerV3.

    Example: parity trace dreamerv3 --subject my_port.py --discrete

    Args:
        pin: The reference.
        discrete: Trace with discrete actions; without this and --continuous, both.
        continuous: Trace with continuous actions.
        size: The widths of the networks.
        start: Where to start: at the reference's initial parameters (initial), at such that no
            two are alike and the warm-up is over (spread); by default at each.
        steps: How many training steps from each start.
        dtype: In which precision both sides compute.
        batch: Sequences in a batch.
        length: Rows of a sequence, at least 2.
        seed: Of batches and draws.
        subject: Who takes the step: core, or a module or a .py file whose OPERATIONS has
            dreamerv3.training_step.
        subject_python: The interpreter of the environment that the subject needs.
        quantities: Only list what such a function is given, and what it may answer with.
        no_neutralise: Leave the registered deviations that drown everything after them (D22)
            as they are, instead of answering them alike on both sides.
        live: Ask the installed reference, instead of what was recorded of it: 29eb964 at size
            tiny and with the other options as they are by default.
        record: Ask the installed reference, and keep its answers as the recording.
        every: Show every parameter's gradient and moments, not only the worst.
        json: Print a JSON array, and nothing else.
    """
    if length == 1:
        raise options.UsageError("--length 1 leaves no row for a return; give at least 2")
    options.not_empty("--start", start)
    known = _pin(pin)
    kinds: tuple[_Kind, ...] = ("discrete",) * discrete + ("continuous",) * continuous
    foreign = subject != subjects.CORE
    if foreign and steps > 1:
        raise options.UsageError("a port is asked for one step; leave out --steps")
    if foreign and record:
        raise options.UsageError("--record needs no subject; leave out --subject")
    problems = [
        make_problem(size, kind, dtype=dtype, batch=batch, length=length, seed=seed)
        for kind in kinds or ("discrete", "continuous")
    ]
    neutralised = () if no_neutralise else ("D22",)
    with (
        tracing.understood(),
        subjects.opened(subject, subject_python) as implementation,
        _answers(known, dtype, live=live or record, record=record) as answers,
    ):
        theirs = [answers(problem, not no_neutralise) for problem in problems]
        for side in theirs:
            side.check(start or STARTS, steps)
        if quantities:
            print("\n".join(TracedPort(problems[0], implementation).signature(theirs[0])))
            return 0
        tracers = (
            Tracer(
                TracedProblem(problem, known),
                side,
                TracedPort(problem, implementation) if foreign else TracedCore(problem),
                neutralised=neutralised,
                progress=tracing.progress,
            )
            for problem, side in zip(problems, theirs, strict=True)
        )
        return tracing.run(tracers, known, starts=start, steps=steps, every=every, as_json=json)


@contextlib.contextmanager
def _answers(
    pin: str, dtype: Dtype, *, live: bool, record: bool
) -> Iterator[Callable[[Problem, bool], Answers]]:
    """Makes the reference's side of a problem."""
    if not live:
        yield lambda problem, neutralise: recorded_answers(pin, problem, neutralise)
        return
    worker = reference.start(pin, dtype)
    with tracing.asked(pin, worker, record=record) as recorder:
        yield lambda problem, neutralise: LiveAnswers(worker, problem, neutralise, recorder)


def _pin(name: str) -> str:
    """The full name of a paper-era pin of dreamerv3."""
    known = find_pin(name)
    if known.repository != "dreamerv3" or known.era != "paper":
        raise options.UsageError(
            f"{known.name} can not be traced; give dreamerv3-29eb964 or dreamerv3-2411f7d"
        )
    return known.name
