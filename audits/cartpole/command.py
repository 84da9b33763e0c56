"""`audit cartpole`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

DEFAULT_OUT = Path("audit-results")


def cartpole(
    *,
    seeds: Annotated[tuple[int, ...], Parameter(consume_multiple=True, negative=())] = (0, 1, 2),
    out: Path | None = None,
    reference: Literal["recorded", "live"] | None = None,
    core: Literal["recorded", "live"] = "live",
    smoke: Annotated[bool, Parameter(negative=())] = False,
    neutralise: Annotated[
        tuple[Literal["D22"], ...], Parameter(consume_multiple=True, negative=())
    ] = (),
    report_only: Annotated[bool, Parameter(negative=())] = False,
    cores: Annotated[tuple[int, ...], Parameter(consume_multiple=True, negative=())] = (),
    devices: int = 1,
    strict: Annotated[bool, Parameter(negative=())] = False,
    json: Annotated[bool, Parameter(negative=())] = False,
) -> int:
    """Train both sides on CartPole-v1, and compare how they learn.

    Each seed is 20,000 environment rows and 9,481 updates, with an evaluation of ten episodes
    every 2,000 rows. Stopped at any moment, the same command goes on: finished seeds are kept,
    the core continues from its checkpoint, a half-finished seed of the reference starts again.

    Example: audit cartpole --seeds 0 1 2

    Parameters
    ----------
    seeds
        Of each side.
    out
        Folder for the runs and the report; audit-results/cartpole by default.
    reference
        recorded: runs that were recorded and lie in this package. live: run the installed
        reference. By default live where it is installed, else recorded.
    core
        live: train the core. recorded: take its recorded runs too, which shows the published
        comparison in seconds.
    smoke
        A trial of the plumbing: 1,200 rows, records every 400, 2 episodes, tiny networks.
    neutralise
        Let the reference answer these rows of the deviation table as the core does, to see what
        else differs: D22, its two-hot heads, which decode up to 0.3 beside the truth.
    report_only
        Run nothing; make the report again from the runs that are there.
    cores
        Pin a seed of the reference to each of these cores; so many run side by side.
    devices
        Spread the core's seeds over so many parts of the processor, evenly.
    strict
        An INCONCLUSIVE comparison fails too.
    json
        Print the summary as JSON instead of a table.
    """
    from audits.cartpole.errors import AuditError
    from audits.cartpole.protocol import plan as make_plan

    if not seeds or len(set(seeds)) < len(seeds):
        raise AuditError(f"--seeds: one or more different numbers, not {' '.join(map(str, seeds))}")
    if devices < 1:
        raise AuditError(f"--devices: at least 1, not {devices}")
    plan = make_plan(seeds, smoke=smoke, neutralised=neutralise)
    if out is None:
        out = DEFAULT_OUT / ("cartpole-smoke" if smoke else "cartpole")
    if devices > 1:
        # Before jax is imported, which reads it once.
        flag = f"--xla_force_host_platform_device_count={devices}"
        os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {flag}".strip()

    from audits.cartpole import session, terminal
    from audits.cartpole.documents import write_all
    from audits.statistics.equivalence import Verdict

    choices = session.Choices(plan, out, reference, core, report_only, cores, devices)
    summary = session.run(choices, report=lambda line: print(line, file=sys.stderr, flush=True))
    written = write_all(summary, plan, out)
    if json:
        print(written[1].read_text("utf-8"), end="")
    else:
        terminal.show(summary, written)
    failing = {Verdict.FAIL, Verdict.INCONCLUSIVE} if strict else {Verdict.FAIL}
    return int(summary.verdict in failing)
