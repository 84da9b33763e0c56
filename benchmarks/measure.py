"""One run of a benchmark: its sections one after the other, and what it writes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console

from benchmarks import peak
from benchmarks.cores import use_cores
from benchmarks.options import Options
from benchmarks.program import programs
from benchmarks.report import Report, show, write
from benchmarks.sides import Say, Steps
from benchmarks.timing import circumstances
from parity.implementations import AnswerError, CannotMeasureError
from reference_harness.errors import HarnessError

RESULTS = Path(__file__).parent / "results"


def peaks() -> dict[int, float]:
    """GFLOP/s of large products on one core, and on all that may be used, up to two."""
    return {cores: peak.measure(cores) for cores in range(1, min(2, use_cores(None)) + 1)}


def run(
    report: Report,
    options: Options,
    cases: Sequence[str],
    steps: Callable[[str, Say], Steps],
    program: Callable[[str], tuple[str, int, int]],
) -> None:
    """Measures, prints tables, and writes them.

    Args:
        report: An empty one.
        options: What to measure, and where to write it.
        cases: Keys of the agent's cases.
        steps: A case, and who is told what is going on, to its side-by-side figures.
        program: A case to what tables call it, ticks to time, and seeds of the larger program.
    """
    sections, output = options.only, options.output or RESULTS
    console = Console(stderr=True)
    try:
        with console.status("starting") as status:

            def say(what: str) -> None:
                status.update(what)
                if not console.is_terminal:
                    console.print(what, highlight=False)

            for name in cases if "steps" in sections else ():
                report.steps.append(steps(name, say))
                if "peak" in sections:
                    say("the sgemm peak")
                    report.add_peaks(peaks())
            if "peak" in sections and not report.peaks:
                report.add_peaks(peaks())
            for case in cases if "program" in sections else ():
                name, ticks, seeds = program(case)
                report.programs[name] = programs(report.agent, case, name, ticks, seeds, say)
    except (CannotMeasureError, AnswerError, HarnessError) as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)
    report.after = circumstances()
    write(report, output)
    show(report, Console())
    print(f"written to {output}")
