"""Trains the stock reference: `python -m reference_harness.dreamerv3.training --out DIR`."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import Annotated, Literal

import cyclopts
from cyclopts import Parameter

from reference_harness.dreamerv3.training.attempts import Limits
from reference_harness.dreamerv3.training.launcher import run_seeds
from reference_harness.dreamerv3.training.reference import reference_program
from reference_harness.dreamerv3.training.settings import Settings, SettingsError, smoke
from reference_harness.errors import HarnessError

app = cyclopts.App(
    name="python -m reference_harness.dreamerv3.training",
    help="Train the pinned DreamerV3 (29eb964), unmodified, on CartPole-v1, and record it.\n\n"
    "Each seed is a process with a folder of its own, OUT/seed0 and so on, and a log, "
    "OUT/seed0.log. A folder with finished.json in it is finished. The same command goes on "
    "where one was stopped: finished seeds are kept, others start again.",
    help_epilogue="Two seeds side by side, one core each: --seed 0 1 --cores 0 1",
    version_flags=[],
)

_INTERRUPTED = "stopped: finished seeds are kept; the same command starts the others again"


class _Terminated(BaseException):
    """SIGTERM came."""


@app.default
def train(
    *,
    out: Path,
    seed: Annotated[tuple[int, ...], Parameter(consume_multiple=True, negative=())] = (0,),
    smoke_test: Annotated[bool, Parameter(name="--smoke", negative=())] = False,
    size: Literal["1m", "tiny"] | None = None,
    steps: int | None = None,
    record_every: int | None = None,
    eval_episodes: int | None = None,
    cores: Annotated[tuple[int, ...], Parameter(consume_multiple=True, negative=())] = (),
    time_limit: float = 24.0,
    stall_limit: float = 45.0,
    attempts: int = 2,
) -> None:
    """Train.

    Parameters
    ----------
    out
        The folder of the runs.
    seed
        One or more seeds.
    smoke_test
        The least run in which everything happens: 1,200 rows, records every 400, 2 episodes,
        tiny networks.
    size
        Widths of the networks: 1m, or tiny for trying things out.
    steps
        Environment rows of a run, reset rows included; 20,000 by default.
    record_every
        Rows between records; 2,000 by default.
    eval_episodes
        Episodes in the evaluation of a record; 10 by default.
    cores
        Pin a seed to each of these cores, with one thread; as many seeds run side by side.
        Without, one seed after the other on all cores.
    time_limit
        Hours after which a run is given up.
    stall_limit
        Minutes without a sign of life after which a run is killed and started again.
    attempts
        How often a seed is started whose process died.
    """
    try:
        if len(set(seed)) < len(seed):
            raise SettingsError(f"--seed: each seed once, not {' '.join(map(str, seed))}")
        given = {"steps": steps, "record_every": record_every, "eval_episodes": eval_episodes}
        given = {name: value for name, value in given.items() if value is not None}
        if smoke_test and given:
            names = ", ".join(f"--{name.replace('_', '-')}" for name in given)
            raise SettingsError(f"--smoke says how long the run is; leave out {names}")
        runs = [
            smoke(number, size or "tiny")
            if smoke_test
            else Settings(number, size=size or "1m", **given)
            for number in seed
        ]
        if min(time_limit, stall_limit) <= 0 or attempts < 1:
            raise SettingsError("--time-limit, --stall-limit and --attempts must be above 0")
        limits = Limits(time_limit * 3600, stall_limit * 60, attempts)
        signal.signal(signal.SIGTERM, _terminate)
        errors = run_seeds(
            out, runs, reference_program(), cores=cores, limits=limits, report=_report
        )
    except (HarnessError, SettingsError) as error:
        errors = [error]
    except KeyboardInterrupt:
        print(_INTERRUPTED, file=sys.stderr)
        sys.exit(128 + signal.SIGINT)
    except _Terminated:
        print(_INTERRUPTED, file=sys.stderr)
        sys.exit(128 + signal.SIGTERM)
    for error in errors:
        print(f"error: {error}", file=sys.stderr)
    sys.exit(1 if errors else 0)


def _report(line: str) -> None:
    print(line, flush=True)


def _terminate(number: int, frame: object) -> None:
    raise _Terminated


if __name__ == "__main__":
    app()
