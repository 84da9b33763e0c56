"""Times the core beside the reference: `python -m benchmarks.dreamerv3`."""

from __future__ import annotations

from typing import Annotated, Literal

import cyclopts
from cyclopts import Parameter

from benchmarks.options import Options

app = cyclopts.App(
    name="python -m benchmarks.dreamerv3",
    help="Time DreamerV3: the core and the live reference, alternating in one run.",
    version_flags=[],
)


@app.default
def benchmark(
    *,
    options: Options | None = None,
    case: Annotated[
        tuple[Literal["cartpole", "walker"], ...], Parameter(consume_multiple=True, negative="")
    ] = ("cartpole", "walker"),
    dtype: Literal["float32", "bfloat16"] = "float32",
) -> None:
    """Measure, print tables, and write dreamerv3.json and dreamerv3.md.

    Parameters
    ----------
    options
        Of every agent's benchmark.
    case
        cartpole: size 1m, 4 observations, 2 discrete actions; walker: size 12m, 24
        observations, 6 continuous actions. Batches are 16 x 64 rows.
    dtype
        What the core computes in.
    """
    from benchmarks.cores import use_cores

    options = options or Options()
    use_cores(options.cores)  # before anything that starts threads is imported
    from benchmarks.dreamerv3.measure import steps
    from benchmarks.dreamerv3.problems import CASES, TICKS
    from benchmarks.dreamerv3.theirs import PIN
    from benchmarks.measure import run
    from benchmarks.report import Report

    rounds, seeds, reference = options.rounds, options.seeds, options.reference
    run(
        Report("dreamerv3", PIN, dtype),
        options,
        case,
        lambda name, say: steps(name, rounds, reference=reference, dtype=dtype, say=say),
        lambda name: (CASES[name].name, TICKS[name], seeds if name == "cartpole" else 1),
    )


if __name__ == "__main__":
    app()
