"""What the traces of every agent share as commands."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterable, Iterator
from typing import Annotated, Any

from cyclopts import Parameter

from parity.commands import options
from parity.implementations import AnswerError, CannotMeasureError
from parity.provenance import now
from parity.trace import report
from parity.trace.answers import FOLDER
from parity.trace.run import Trace, Tracer
from parity.trace.sides import STARTS, NameMapError, PaddingError, Start
from parity.workers import Asked
from reference_harness.pins import find_pin
from reference_harness.recorder import Recorder
from reference_harness.worker import Identity

Starts = Annotated[tuple[Start, ...] | None, Parameter(consume_multiple=True, negative="")]


def run(
    tracers: Iterable[Tracer],
    pin: str,
    *,
    starts: tuple[Start, ...] | None,
    steps: int,
    every: bool,
    as_json: bool,
) -> int:
    """Takes the traces, prints them, and gives the exit status.

    Args:
        tracers: One per problem.
        pin: The reference.
        starts: Where to start; None for everywhere.
        steps: From each start.
        every: Show every leaf.
        as_json: Print a JSON array instead.
    """
    traces: list[Trace] = []
    for tracer in tracers:
        for start in starts or STARTS:
            traces.append(tracer.trace(start, steps))
            if not as_json:
                lines = report.lines(traces[-1], pin, every=every)
                print("\n".join(lines), end="\n\n", flush=True)
    if as_json:
        print(json.dumps([report.as_json(found, pin) for found in traces], indent=2))
    return int(any(found.first is not None for found in traces))


@contextlib.contextmanager
def understood() -> Iterator[None]:
    """What a trace can fail of is said in one line."""
    try:
        yield
    except (CannotMeasureError, AnswerError, NameMapError, PaddingError) as error:
        raise options.UsageError(str(error)) from error


@contextlib.contextmanager
def asked(pin: str, worker: Asked, *, record: bool) -> Iterator[Recorder | None]:
    """A worker is asked, and closed; a recording is written if all went well."""
    try:
        recorder = Recorder(pin, _session(pin, worker.identity), FOLDER) if record else None
        yield recorder
    finally:
        worker.close()
    if recorder is not None:
        recorder.keep("trace")
        written = recorder.write(prune=True)
        print(f"{written.answers} answers, {written.size:,} bytes in {FOLDER}", file=sys.stderr)


def progress(text: str) -> None:
    """Says what is being done."""
    print(f"parity trace: {text}", file=sys.stderr, flush=True)


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
