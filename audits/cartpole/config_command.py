"""`audit config`."""

from __future__ import annotations

from pathlib import Path
from typing import Literal


def config(
    *,
    reference: Literal["recorded", "live"] | None = None,
    output: Path | None = None,
    seed: int = 0,
) -> int:
    """Compare the configurations of both sides, in seconds.

    All 67 settings of the CartPole protocol, against what each side's own loader resolves.

    Parameters
    ----------
    reference
        recorded: what a recorded run had resolved. live: ask the installed reference, which
        also shows whether any other key departs from its default. By default live where it is
        installed.
    output
        Write the table as Markdown to this file.
    seed
        Of the runs that are configured.
    """
    from rich.console import Console
    from rich.table import Table

    from audits.cartpole import ours, table
    from audits.cartpole import reference as sides
    from audits.cartpole.check import Outcome
    from audits.cartpole.configuration import configuration_checks, default_checks
    from audits.cartpole.documents import table_document
    from audits.cartpole.protocol import plan as make_plan
    from audits.run_files import read_run
    from reports.records import write_atomically

    plan = make_plan((seed,))
    live = sides.is_installed() if reference is None else reference == sides.LIVE
    answer = sides.configuration(plan.settings(seed)) if live else None
    strangers = []
    if answer is not None:
        resolved = answer.resolved
    else:
        folder = sides.check_recorded(plan, "reference")
        run = read_run(folder / f"seed{seed}", "reference", seed)
        resolved = run.config
        strangers = [("", (run.finished or {}).get("strangers"))]
    own = ours.resolved(plan, ours.run_config(plan, Path("unused"), (seed,)), seed)
    checks = [
        *configuration_checks(plan, "ours", [("", seed, own)]),
        *configuration_checks(plan, "reference", [("", seed, resolved)]),
        *default_checks(answer, strangers),
    ]
    outcomes = {check.id: check.outcome for check in checks}
    shown = Table(box=None, pad_edge=False)
    for title in ("row", "setting", "status", "ours", "reference"):
        shown.add_column(title)
    for row in table.rows():
        found = [outcomes.get(f"config/{row.row}/{side}") for side in table.SIDES]
        shown.add_row(
            str(row.row), row.setting, row.status, *(o.value if o else "no key" for o in found)
        )
    console = Console(highlight=False)
    console.print(shown)
    for check in checks:
        if check.outcome is not Outcome.PASS:
            text = f"{check.outcome.value} {check.id}: {check.says}: {check.found}"
            console.print(text, markup=False, soft_wrap=True)
    counts = {o: sum(check.outcome is o for check in checks) for o in Outcome}
    console.print(", ".join(f"{n} {outcome.value}" for outcome, n in counts.items()))
    if output is not None:
        write_atomically(output, table_document(checks, plan).encode())
        console.print(f"written: {output}", markup=False, soft_wrap=True)
    return int(any(check.outcome is Outcome.FAIL for check in checks))
