"""`parity trace`."""

from __future__ import annotations

import contextlib
import json as json_module
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter, validators

from parity import subjects
from parity.commands import options
from parity.implementations import AnswerError, CannotMeasureError
from parity.provenance import now
from parity.trace import report
from parity.trace.answers import FOLDER
from parity.trace.dreamerv3 import reference
from parity.trace.dreamerv3.answers import LiveAnswers, recorded_answers
from parity.trace.dreamerv3.port import TracedPort
from parity.trace.dreamerv3.problem import Problem, make_problem
from parity.trace.dreamerv3.subject import TracedCore
from parity.trace.dreamerv3.traced import TracedProblem
from parity.trace.quantity import Dtype
from parity.trace.run import Trace, Tracer
from parity.trace.sides import STARTS, Answers, NameMapError, PaddingError, Start
from reference_harness.pins import find_pin
from reference_harness.recorder import Recorder
from reference_harness.worker import Identity

_Kind = Literal["discrete", "continuous"]
_Count = Annotated[int, Parameter(validator=validators.Number(gte=1))]
_Optional = Annotated[int | None, Parameter(validator=validators.Number(gte=1))]


def trace(
    agent: Literal["dreamerv3"],
    *,
    pin: str = "dreamerv3-29eb964",
    discrete: options.Flag = False,
    continuous: options.Flag = False,
    size: Literal["tiny", "1m", "12m"] = "tiny",
    start: Annotated[
        tuple[Start, ...] | None, Parameter(consume_multiple=True, negative="")
    ] = None,
    steps: _Count = 1,
    dtype: Dtype = "float32",
    batch: _Optional = None,
    length: _Optional = None,
    seed: Annotated[int, Parameter(validator=validators.Number(gte=0))] = 0,
    subject: str = subjects.CORE,
    subject_python: Annotated[Path | None, Parameter(show_default=False)] = None,
    quantities: options.Flag = False,
    no_neutralise: options.Flag = False,
    live: options.Flag = False,
    record: options.Flag = False,
    every: options.Flag = False,
    json: options.Flag = False,
) -> int:
    """Take training steps on both sides from the same state, and compare every number.

    The reference's parameters are carried into the subject; both get the same batches and the
    same random draws. Every named intermediate, gradient and parameter is
    compared in the order of computation, against a float64 run of the same step. The exit
    status is 0 if the two sides part nowhere by more than rounding, 1 if they do, 2 if the
    trace could not be taken.

    Example: parity trace dreamerv3 --subject my_port.py --discrete

    Args:
        agent: The agent to trace.
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
        live: Ask the installed reference, instead of what was recorded of it (at size tiny).
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
    traces: list[Trace] = []
    with (
        _understood(),
        subjects.opened(subject, subject_python) as implementation,
        _answers(known, dtype, live=live or record, record=record) as answers,
    ):
        asked = [answers(problem, not no_neutralise) for problem in problems]
        for theirs in asked:
            theirs.check(start or STARTS, steps)
        if quantities:
            print("\n".join(TracedPort(problems[0], implementation).signature(asked[0])))
            return 0
        for problem, theirs in zip(problems, asked, strict=True):
            tracer = Tracer(
                TracedProblem(problem),
                theirs,
                TracedPort(problem, implementation) if foreign else TracedCore(problem),
                neutralised=() if no_neutralise else ("D22",),
                progress=_progress,
            )
            for place in start or STARTS:
                traces.append(tracer.trace(place, steps))
                if not json:
                    lines = report.lines(traces[-1], known, every=every)
                    print("\n".join(lines), end="\n\n", flush=True)
    if json:
        print(json_module.dumps([report.as_json(found, known) for found in traces], indent=2))
    return int(any(found.first is not None for found in traces))


@contextlib.contextmanager
def _understood() -> Iterator[None]:
    """What a trace can fail of is said in one line."""
    try:
        yield
    except (CannotMeasureError, AnswerError, NameMapError, PaddingError) as error:
        raise options.UsageError(str(error)) from error


@contextlib.contextmanager
def _answers(
    pin: str, dtype: Dtype, *, live: bool, record: bool
) -> Iterator[Callable[[Problem, bool], Answers]]:
    """Makes the reference's side of a problem; a recording is written if all went well."""
    if not live:
        yield lambda problem, neutralise: recorded_answers(pin, problem, neutralise)
        return
    worker = reference.start(pin, dtype)
    try:
        recorder = Recorder(pin, _session(pin, worker.identity), FOLDER) if record else None
        yield lambda problem, neutralise: LiveAnswers(worker, problem, neutralise, recorder)
    finally:
        worker.close()
    if recorder is not None:
        recorder.keep("trace")
        written = recorder.write(prune=True)
        print(f"{written.answers} answers, {written.size:,} bytes in {FOLDER}", file=sys.stderr)


def _session(pin: str, identity: Identity) -> dict[str, Any]:
    """What is written down beside a recording."""
    return {
        "command": f"parity {' '.join(sys.argv[1:])}",
        "created": now(),
        "commit": find_pin(pin).commit,
        "python": identity.python,
        "platform": identity.platform,
        "cpu": identity.cpu,
        "packages": dict(sorted(identity.packages.items())),
    }


def _pin(name: str) -> str:
    """The full name of a paper-era pin of dreamerv3."""
    known = find_pin(name)
    if known.repository != "dreamerv3" or known.era != "paper":
        raise options.UsageError(
            f"{known.name} can not be traced; give dreamerv3-29eb964 or dreamerv3-2411f7d"
        )
    return known.name


def _progress(text: str) -> None:
    print(f"parity trace: {text}", file=sys.stderr, flush=True)
