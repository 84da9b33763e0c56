"""Times the core beside the reference: `python -m benchmarks.tdmpc2`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import cyclopts
from cyclopts import Parameter

app = cyclopts.App(
    name="python -m benchmarks.tdmpc2",
    help="Time TD-MPC2: the core and the live reference, alternating in one run.",
    version_flags=[],
)

Section = Literal["peak", "steps", "program"]


@app.default
def benchmark(
    *,
    case: Annotated[
        tuple[Literal["1", "5"], ...], Parameter(consume_multiple=True, negative="")
    ] = (
        "1",
        "5",
    ),
    only: Annotated[tuple[Section, ...], Parameter(consume_multiple=True, negative="")] = (
        "peak",
        "steps",
        "program",
    ),
    rounds: int = 9,
    seeds: int = 3,
    cores: int | None = None,
    pin: Literal["5f6fade", "e9f5932"] = "5f6fade",
    reference: bool = True,
    output: Path | None = None,
) -> None:
    """Measure, print tables, and write tdmpc2.json and tdmpc2.md.

    Parameters
    ----------
    case
        The size of the networks; 24 observations and 6 actions, as the walker has, and
        batches of 256 sequences.
    only
        peak: the machine's sgemm peak; steps: update and planned action, side by side; program:
        the whole training program, its compilation and its memory.
    rounds
        How often each side has its turn.
    seeds
        Seeds of the program with several, at size 1; 1 for none.
    cores
        How many cores everything is confined to; all by default.
    pin
        The reference's commit, whose era the core takes too.
    reference
        Time the reference too. It must be installed (`parity reference install tdmpc2-5f6fade`).
    output
        The folder to write to; benchmarks/results by default.
    """
    from benchmarks.cores import use_cores

    use_cores(cores)  # before anything that starts threads is imported
    from benchmarks.measure import RESULTS, run
    from benchmarks.report import Report
    from benchmarks.tdmpc2.measure import steps
    from benchmarks.tdmpc2.problems import CASES, TICKS

    run(
        Report("tdmpc2", f"tdmpc2-{pin}"),
        case,
        only,
        lambda name, say: steps(name, rounds, pin=pin, reference=reference, say=say),
        lambda name: (CASES[name].name, TICKS[name], seeds if name == "1" else 1),
        output or RESULTS,
    )


if __name__ == "__main__":
    app()
