"""`parity trace tdmpc2`."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from core.tdmpc2.config import ERAS
from parity import subjects
from parity.commands import counts, options, tracing
from parity.trace.run import Tracer
from parity.trace.sides import STARTS, Answers
from parity.trace.tdmpc2 import reference
from parity.trace.tdmpc2.answers import LiveAnswers, recorded_answers
from parity.trace.tdmpc2.port import TracedPort
from parity.trace.tdmpc2.problem import EPISODIC_PINS, Problem, make_problem
from parity.trace.tdmpc2.subject import TracedCore
from parity.trace.tdmpc2.traced import TracedProblem
from reference_harness.pins import SHORT_HASH, find_pin


def tdmpc2(
    *,
    pin: str = "tdmpc2-5f6fade",
    single: options.Flag = False,
    multitask: options.Flag = False,
    episodic: options.Flag = False,
    size: Literal["tiny", "1", "5"] = "tiny",
    start: tracing.Starts = None,
    steps: counts.Count = 1,
    batch: counts.OptionalCount = None,
    seed: counts.Seed = 0,
    subject: str = subjects.CORE,
    subject_python: Annotated[Path | None, Parameter(show_default=False)] = None,
    quantities: options.Flag = False,
    live: options.Flag = False,
    record: options.Flag = False,
    every: options.Flag = False,
    json: options.Flag = False,
) -> int:
    """Trace a plan and an update of TD-MPC2, from the same state.

    The core is configured as the era of the pin: what the eras do differently (dropout in targets
    and plans, the policy's entropy, how gradients are clipped) are keys of its configuration.

    Example: parity trace tdmpc2 --pin tdmpc2-e9f5932 --multitask

    Args:
        pin: The reference.
        single: Trace one task; without this, --multitask and --episodic, one and three.
        multitask: Trace three tasks, of different lengths of observations and actions.
        episodic: Trace one task in the episodic mode, from eece801 on: ends of episodes are
            predicted, and plans stop at them.
        size: The widths of the networks: tiny, or millions of parameters.
        start: Where to start: at the reference's initial parameters (initial), at such that no
            two are alike (spread); by default at each.
        steps: How many plans and updates from each start.
        batch: Sequences in a batch.
        seed: Of batches and draws.
        subject: Who plans and updates: core, or a module or a .py file whose OPERATIONS has
            tdmpc2.training_step.
        subject_python: The interpreter of the environment that the subject needs.
        quantities: Only list what such a function is given, and what it may answer with.
        live: Ask the installed reference, instead of what was recorded of it: 5f6fade and
            e9f5932 at size tiny and with the other options as they are by default.
        record: Ask the installed reference, and keep its answers as the recording.
        every: Show every parameter's gradient and moments, not only the worst.
        json: Print a JSON array, and nothing else.
    """
    options.not_empty("--start", start)
    known = find_pin(pin)
    if known.repository != "tdmpc2":
        raise options.UsageError(f"{known.name} is no pin of tdmpc2; give tdmpc2-5f6fade")
    era = known.commit[:SHORT_HASH]
    if era not in ERAS:
        raise options.UsageError(f"{known.name} can not be traced; give one of {', '.join(ERAS)}")
    foreign = subject != subjects.CORE
    if foreign and steps > 1:
        raise options.UsageError("a port is asked for one step; leave out --steps")
    if foreign and record:
        raise options.UsageError("--record needs no subject; leave out --subject")
    if episodic and era not in EPISODIC_PINS:
        raise options.UsageError(
            f"{known.name} has no episodic mode; give one of {', '.join(EPISODIC_PINS)}"
        )
    kinds: tuple[dict[str, bool], ...] = ({},) * single
    kinds += ({"multitask": True},) * multitask + ({"episodic": True},) * episodic
    problems = [
        make_problem(era, size, batch=batch, seed=seed, **kind)
        for kind in kinds or ({}, {"multitask": True})
    ]
    with (
        tracing.understood(),
        subjects.opened(subject, subject_python) as implementation,
        _answers(known.name, live=live or record, record=record) as answers,
    ):
        theirs = [answers(problem) for problem in problems]
        for side in theirs:
            side.check(start or STARTS, steps)
        if quantities:
            print("\n".join(TracedPort(problems[0], implementation).signature(theirs[0])))
            return 0
        tracers = (
            Tracer(
                TracedProblem(problem),
                side,
                TracedPort(problem, implementation) if foreign else TracedCore(problem),
                progress=tracing.progress,
            )
            for problem, side in zip(problems, theirs, strict=True)
        )
        return tracing.run(
            tracers, known.name, starts=start, steps=steps, every=every, as_json=json
        )


@contextlib.contextmanager
def _answers(pin: str, *, live: bool, record: bool) -> Iterator[Callable[[Problem], Answers]]:
    """Makes the reference's side of a problem."""
    if not live:
        yield lambda problem: recorded_answers(pin, problem)
        return
    worker = reference.start(pin)
    with tracing.asked(pin, worker, record=record) as recorder:
        yield lambda problem: LiveAnswers(worker, problem, recorder)
