"""`parity trace`."""

from __future__ import annotations

import cyclopts

app = cyclopts.App(
    name="trace",
    help="Take training steps on both sides from the same state, and compare every number.\n\n"
    "The reference's parameters are carried into the subject; both get the same batches and the "
    "same random draws. Every named intermediate, gradient and parameter is compared in the order "
    "of computation, against a float64 run of the same step. The exit status is 0 if the two sides "
    "part nowhere by more than rounding, 1 if they do, 2 if the trace could not be taken.\n\n"
    "Example: parity trace dreamerv3 --discrete",
)
app.command(
    "parity.commands.trace_dreamerv3:dreamerv3",
    name="dreamerv3",
    help="Trace training steps of DreamerV3, of the core or of a port.",
)
app.command(
    "parity.commands.trace_tdmpc2:tdmpc2",
    name="tdmpc2",
    help="Trace a plan and an update of TD-MPC2, of the core or of a port.",
)
