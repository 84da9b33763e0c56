"""`audit paper`: runs of the papers' protocols, and the verdict over them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import cyclopts
from cyclopts import Parameter

DEFAULT_OUT = Path("audit-results/paper")

app = cyclopts.App(
    name="paper", help="Validate the core against the published curves of both papers."
)


@app.command(name="list")
def list_runs(*names: str) -> int:
    """Print the registered runs.

    Parameters
    ----------
    names
        Of runs or agents; all by default.
    """
    from audits.paper.registry import find
    from audits.paper.terminal import show_runs

    show_runs(find(names))
    return 0


@app.command
def report(
    *,
    runs: Path = DEFAULT_OUT,
    out: Path | None = None,
    agent: Annotated[
        tuple[Literal["dreamerv3", "tdmpc2"], ...], Parameter(consume_multiple=True, negative=())
    ] = ("dreamerv3", "tdmpc2"),
    strict: Annotated[bool, Parameter(negative=())] = False,
    json: Annotated[bool, Parameter(negative=())] = False,
) -> int:
    """Judge the runs so far, and write the report.

    The exit status is 1 if the verdict is FAIL.

    Parameters
    ----------
    runs
        The folder of the runs.
    out
        Where to write report.md, summary.json and the pictures; beside the runs by default.
    agent
        Judge the runs of these agents only.
    strict
        INCOMPLETE fails too.
    json
        Print the summary as JSON instead of the verdict.
    """
    from audits.paper.documents import reason, write_all
    from audits.paper.judgement import Verdict
    from audits.paper.validation import validate

    summary = validate(runs, agent)
    written = write_all(summary, out or runs)
    if json:
        print(written[1].read_text("utf-8"), end="")
    else:
        print(f"{summary.verdict.value}: {reason(summary)}")
        for off in summary.off_protocol:
            print(f"off protocol: {off.run}: {'; '.join(off.why)}")
        for path in written:
            print(path, file=sys.stderr)
    failing = {Verdict.FAIL, Verdict.INCOMPLETE} if strict else {Verdict.FAIL}
    return int(summary.verdict in failing)
