"""Times the core beside the reference: `python -m benchmarks.dreamerv3`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import cyclopts
from cyclopts import Parameter

app = cyclopts.App(
    name="python -m benchmarks.dreamerv3",
    help="Time DreamerV3: the core and the live reference, alternating in one run.",
    version_flags=[],
)

Section = Literal["peak", "steps", "program"]


@app.default
def benchmark(
    *,
    case: Annotated[
        tuple[Literal["cartpole", "walker"], ...], Parameter(consume_multiple=True, negative="")
    ] = ("cartpole", "walker"),
    only: Annotated[tuple[Section, ...], Parameter(consume_multiple=True, negative="")] = (
        "peak",
        "steps",
        "program",
    ),
    rounds: int = 9,
    seeds: int = 3,
    cores: int | None = None,
    dtype: Literal["float32", "bfloat16"] = "float32",
    reference: bool = True,
    output: Path | None = None,
) -> None:
    """Measure, print tables, and write dreamerv3.json and dreamerv3.md.

    Parameters
    ----------
    case
        cartpole: size 1m, 4 observations, 2 discrete actions; walker: size 12m, 24
        observations, 6 continuous actions. Batches are 16 x 64 rows.
    only
        peak: the machine's sgemm peak; steps: update and acting, side by side; program: the
        whole training program, its compilation and its memory.
    rounds
        How often each side has its turn.
    seeds
        Seeds of the program with several; 1 for none.
    cores
        How many cores everything is confined to; all by default.
    dtype
        What the core computes in.
    reference
        Time the reference too. It must be installed (`parity reference install
        dreamerv3-29eb964`); the first time, it compiles for several minutes.
    output
        The folder to write to; benchmarks/results by default.
    """
    from benchmarks.cores import use_cores

    use_cores(cores)  # before anything that starts threads is imported
    from benchmarks.dreamerv3.measure import steps
    from benchmarks.dreamerv3.problems import CASES, TICKS
    from benchmarks.dreamerv3.theirs import PIN
    from benchmarks.measure import RESULTS, run
    from benchmarks.report import Report

    run(
        Report("dreamerv3", PIN, dtype),
        case,
        only,
        lambda name, say: steps(name, rounds, reference=reference, dtype=dtype, say=say),
        lambda name: (CASES[name].name, TICKS[name], seeds if name == "cartpole" else 1),
        output or RESULTS,
    )


if __name__ == "__main__":
    app()
