"""Times the core beside the reference: `python -m benchmarks.dreamerv3`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import cyclopts
from cyclopts import Parameter
from rich.console import Console

app = cyclopts.App(
    name="python -m benchmarks.dreamerv3",
    help="Time DreamerV3: the core and the live reference, alternating in one run.",
    version_flags=[],
)

_RESULTS = Path(__file__).parents[1] / "results"
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
    output: Path = _RESULTS,
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
        The folder to write to.
    """
    from benchmarks.dreamerv3.cores import use_cores

    use_cores(cores)
    from benchmarks.dreamerv3 import measure, report
    from benchmarks.dreamerv3.timing import circumstances
    from parity.implementations import AnswerError, CannotMeasureError
    from reference_harness.errors import HarnessError

    console = Console(stderr=True)
    found = measure.Report(dtype=dtype)
    try:
        with console.status("starting") as status:

            def say(what: str) -> None:
                status.update(what)
                if not console.is_terminal:
                    console.print(what, highlight=False)

            for name in case if "steps" in only else ():
                found.steps[name] = measure.steps(
                    name, rounds, reference=reference, dtype=dtype, say=say
                )
                if "peak" in only:
                    say("the sgemm peak")
                    found.add_peaks(measure.peaks())
            if "peak" in only and not found.peaks:
                found.add_peaks(measure.peaks())
            for name in case if "program" in only else ():
                several = seeds if name == "cartpole" else 1
                found.programs[name] = measure.programs(name, several, say)
    except (CannotMeasureError, AnswerError, HarnessError) as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)
    found.after = circumstances()
    output.mkdir(parents=True, exist_ok=True)
    (output / "dreamerv3.json").write_text(report.as_json(found), encoding="utf-8")
    (output / "dreamerv3.md").write_text(report.markdown(found), encoding="utf-8")
    report.show(found, Console())
    print(f"written to {output}")


if __name__ == "__main__":
    app()
