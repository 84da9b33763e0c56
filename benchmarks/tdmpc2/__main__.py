"""Times the core beside the reference: `python -m benchmarks.tdmpc2`."""

from __future__ import annotations

from typing import Annotated, Literal

import cyclopts
from cyclopts import Parameter

from benchmarks.options import Options

app = cyclopts.App(
    name="python -m benchmarks.tdmpc2",
    help="Time TD-MPC2: the core and the live reference, alternating in one run.",
    version_flags=[],
)


@app.default
def benchmark(
    *,
    options: Options | None = None,
    case: Annotated[
        tuple[Literal["1", "5"], ...], Parameter(consume_multiple=True, negative="")
    ] = ("1", "5"),
    pin: Literal["5f6fade", "e9f5932"] = "5f6fade",
) -> None:
    """Measure, print tables, and write tdmpc2.json and tdmpc2.md.

    Parameters
    ----------
    options
        Of every agent's benchmark.
    case
        The size of the networks; 24 observations and 6 actions, as the walker has, and
        batches of 256 sequences.
    pin
        The reference's commit, whose era the core takes too.
    """
    from benchmarks.cores import use_cores

    options = options or Options()
    use_cores(options.cores)  # before anything that starts threads is imported
    from benchmarks.measure import run
    from benchmarks.report import Report
    from benchmarks.tdmpc2.measure import steps
    from benchmarks.tdmpc2.problems import CASES, TICKS

    rounds, seeds, reference = options.rounds, options.seeds, options.reference
    run(
        Report("tdmpc2", f"tdmpc2-{pin}"),
        options,
        case,
        lambda name, say: steps(name, rounds, pin=pin, reference=reference, say=say),
        lambda name: (CASES[name].name, TICKS[name], seeds if name == "1" else 1),
    )


if __name__ == "__main__":
    app()
