"""`parity sensitivity`."""

from __future__ import annotations

import itertools
import json as json_module
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from parity import faults, parallel, progress, registry, subjects
from parity import sensitivity as sensitivities
from parity.commands import counts, options
from parity.kill_matrix import KillMatrix
from parity.references import References

_MARKS = {
    sensitivities.CAUGHT: "X",
    sensitivities.HELD: ".",
    sensitivities.NOT_MEASURED: "?",
    sensitivities.BROKEN_ANYWAY: "!",
}

_LEGEND = "X caught, . held, ? not measured, ! broken without the fault, blank not tried"


def sensitivity(
    *,
    fault: options.Ids = None,
    results: Annotated[Path | None, Parameter(show_default=False)] = None,
    missing: options.Flag = False,
    live: options.Flag = False,
    recordings: Annotated[Path | None, Parameter(show_default=False)] = None,
    jobs: counts.OptionalCount = None,
    json: options.Flag = False,
) -> int:
    """Seed faults into the core, and see which claims notice.

    The exit status is 0 if every fault is caught by all claims that it names, 1 if one is
    not or a recording has gone stale, 2 if the claims could not be measured.

    Example: parity sensitivity --fault F01

    Args:
        fault: Seed these only.
        results: A folder for kill_matrix.json and kill_matrix.md, which keep what is known of
            all faults; each is written down as soon as it was seeded.
        missing: Seed only what the folder lacks: it goes on where a run was cut short.
        live: Ask the installed references, instead of what was recorded of them.
        recordings: A folder of recordings to use instead of the embedded one.
        jobs: How many processes seed; by default one for each core, if there are faults enough,
            and one where references are asked live.
        json: Print a JSON array, and nothing else.
    """
    from parity.core_subject.running import forget_programs

    options.not_empty("--fault", fault)
    chosen = faults.select(faults.load_faults(), fault or ())
    if not chosen:
        raise options.UsageError("no fault is registered; reinstall world-model-parity")
    for one in chosen:
        if not one.seedable:
            print(f"{one.id} is not seeded: {one.needs} is not installed", file=sys.stderr)
    chosen = tuple(one for one in chosen if one.seedable)
    listed = registry.load_registry()
    kept = KillMatrix(results, listed, faults.load_faults()) if results else None
    if missing:
        if kept is None:
            raise options.UsageError("--missing asks what a folder lacks; name it with --results")
        chosen = tuple(one for one in chosen if kept.lacks(one))
    source = "live" if live else "recorded"
    folder = options.recordings_folder(recordings)
    processes = jobs or parallel.suggested(len(chosen), parallel.FAULTS_WORTH_ONE, source)
    seeded = itertools.count(1)

    def finish(result: sensitivities.FaultResult) -> None:
        if kept:
            kept.add(result)
        if processes == 1 and next(seeded) % sensitivities.FAULTS_OF_PROGRAMS == 0:
            forget_programs()

    with (
        subjects.opened() as core,
        References(source, folder) as references,
        progress.shown() as told,
    ):
        if processes > 1:
            seeding = parallel.Seeding(source, folder)
            found, stale = parallel.seed(seeding, chosen, processes, told, finish)
        else:
            found = sensitivities.sensitivity(
                chosen,
                listed,
                core,
                references,
                source=source,
                progress=told,
                finished=finish,
            )
            stale = references.stale
    problems = sensitivities.problems(found)
    if json:
        print(json_module.dumps([result.as_json for result in found], indent=2))
    elif found:
        print("\n".join(_matrix(found)))
        caught = sum(result.caught for result in found)
        print(f"\n{caught} of {len(found)} faults are caught by every claim that must.")
    else:
        print("No fault is missing.")
    report = sys.stderr if json else sys.stdout
    if kept:
        kept.render()
        print(f"The matrix is in {kept.records}, {kept.document}", file=report)
    for problem in problems:
        print(problem, file=report)
    options.print_stale(stale, report)
    return 1 if problems or stale else 0


def _matrix(results: Sequence[sensitivities.FaultResult]) -> Iterator[str]:
    """A row for every fault, a column for every claim, and what the columns are."""
    claims = list(dict.fromkeys(name for result in results for name in result.cells))
    numbers = [str(place) for place in range(1, len(claims) + 1)]
    digits = len(numbers[-1]) if numbers else 0
    names = max(len(result.fault.id) for result in results)
    for digit in range(digits):  # the columns' numbers, read downwards
        yield f"{'':{names}} {_grouped(text.rjust(digits)[digit] for text in numbers)}"
    for result in results:
        marks = _grouped(_MARKS.get(result.cells.get(name, ""), " ") for name in claims)
        yield f"{result.fault.id:{names}} {marks} {result.fault.title}"
    yield from ("", f"{_LEGEND}; each column is a claim:", "")
    for name, place in zip(claims, numbers, strict=True):
        yield f"{place:>{digits + 2}} {name}"


def _grouped(marks: Iterable[str]) -> str:
    """The marks in fives, for the eye to count."""
    row = "".join(marks)
    return " ".join(row[start : start + 5] for start in range(0, len(row), 5))
