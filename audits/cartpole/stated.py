"""What row D22 of the deviation table states of whole runs, and what these runs show of it.

No single computation answers for these figures, so they are measured here and not by a probe.
"""

from __future__ import annotations

import dataclasses

from audits.cartpole.comparison import Summary
from audits.cartpole.wording import span
from deviations.d22 import ROW

ENTROPY, ROWS = "ent/action/mean", 4000


@dataclasses.dataclass(frozen=True)
class Stated:
    """A figure of the table, beside what was measured.

    Attributes:
        figure: What it is of.
        stated: The table's, of an earlier implementation.
        measured: Ours here.
    """

    figure: str
    stated: str
    measured: str


def figures(summary: Summary) -> list[Stated]:
    """Those figures for which these runs are long enough; none of a trial of the plumbing."""
    of_entropy = [
        window
        for window in summary.windows.windows
        if (window.metric, window.rows) == (ENTROPY, ROWS)
    ]
    if not of_entropy:
        return []
    (entropy,) = of_entropy
    windows = summary.windows
    share = windows.overlapping / windows.compared if windows.compared else 0.0
    return [
        Stated(
            "The actor's entropy in the 4,000-row window, nats",
            f"{_stated('entropy-decline')} with exact bins",
            f"{span(entropy.reference)} of the reference, {span(entropy.ours)} of the core",
        ),
        Stated(
            "Windows in which the ranges of the seeds overlap",
            f"{_stated('windows-overlap')}, with one expectation on both sides",
            f"{windows.overlapping:,} of {windows.compared:,} ({share:.0%}), "
            + ("with D22 settled" if "D22" in summary.neutralised else "each side with its own"),
        ),
    ]


def _stated(claim: str) -> str:
    stated = ROW.claim(claim).stated
    assert stated is not None
    return stated.text
