"""The parts of `compare.md` that are sentences and rows made of figures."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from audits.cartpole.check import failed
from audits.cartpole.comparison import Provenance, Summary
from audits.cartpole.learning import Statistic
from audits.cartpole.protocol import SMOKE
from audits.statistics.equivalence import Verdict


def number(value: float | None, digits: int = 4) -> str:
    """A figure, or a dash where there is none."""
    if value is None or not math.isfinite(value):
        return "–"
    return f"{value:.{digits}g}" if value else "0"


def span(values: Sequence[float | None]) -> str:
    """Mean and range over seeds."""
    known = [value for value in values if value is not None]
    if not known or len(known) < len(values):
        return "–"
    mean = float(np.mean(known))
    return f"{number(mean)} ({number(min(known))} to {number(max(known))})"


def reason(summary: Summary) -> str:
    """Why the verdict is what it is."""
    bad = len(failed(summary.checks))
    if bad:
        return f"{bad} of the checks failed."
    if summary.plan == SMOKE:
        return "all checks passed. A trial of the plumbing; of so short a run only they count."
    return {
        Verdict.PASS: "all checks passed, and S1 of the two sides is equivalent.",
        Verdict.FAIL: "S1 of the two sides differs by more than the margin.",
        Verdict.INCONCLUSIVE: "all checks passed, but these seeds do not settle whether S1 differs "
        "by more than the margin.",
    }[summary.verdict]


def seed_rows(summary: Summary) -> list[list[str]]:
    """S1 and S2 of every seed."""
    columns = [side for s in summary.statistics for side in (s.ours, s.reference)]
    return [
        [f"seed {seed}", *(number(column[index]) for column in columns)]
        for index, seed in enumerate(summary.seeds)
    ]


def statistic_rows(summary: Summary) -> list[list[str]]:
    """What is concluded from each statistic, one conclusion a row."""

    def row(label: str, shown: object) -> list[str]:
        return [label, *(shown(statistic) for statistic in summary.statistics)]  # type: ignore[operator]

    def word(value: bool | None) -> str:
        return "–" if value is None else "yes" if value else "no"

    def interval(low: float, high: float) -> str:
        return f"{number(low)} to {number(high)}"

    def tested(s: Statistic) -> str:
        e = s.equivalence
        if e is None:
            return "–"
        return f"**{e.verdict.value}** (p = {number(e.p_value, 2)}, {number(e.degrees, 3)} d.f.)"

    return [
        row("A, our mean", lambda s: number(s.mean)),
        row(
            "the reference's range",
            lambda s: interval(s.lowest, s.highest) if s.equivalence else "–",
        ),
        row("LEARNS", lambda s: word(s.learns)),
        row("WITHIN_RANGE", lambda s: word(s.within_range)),
        row(
            "difference of the means", lambda s: number(s.equivalence and s.equivalence.difference)
        ),
        row(
            "its 90 % interval (Welch)",
            lambda s: interval(s.equivalence.low, s.equivalence.high) if s.equivalence else "–",
        ),
        row(
            "its 90 % interval (bootstrap)",
            lambda s: interval(*s.bootstrap) if s.bootstrap else "–",
        ),
        row(f"equivalent within ± {number(summary.margin)}", tested),
        row(
            "p of no difference at all (Welch)",
            lambda s: number(s.equivalence and s.equivalence.p_difference, 2),
        ),
        row("deviation between seeds", lambda s: number(s.deviation)),
        row(
            "chance that equal programs PASS with so many seeds",
            lambda s: "–" if s.power is None else f"{s.power:.0%}",
        ),
        row("seeds a side with which 80 % of them would", lambda s: _seeds(s)),
    ]


def _seeds(s: Statistic) -> str:
    if s.power is None:
        return "–"
    return "over 1,000" if s.seeds_needed is None else str(s.seeds_needed)


def curve_rows(summary: Summary) -> list[list[str]]:
    """Evaluation and S2 at every record that all seeds have."""
    sides = [[c for c in summary.curves if c.side == side] for side in ("ours", "reference")]
    shortest = min((len(curve.rows) for curve in summary.curves), default=0)
    table = []
    for index in range(shortest):
        cells = [f"{summary.curves[0].rows[index]:,}"]
        for name in ("evaluation", "s2"):
            cells += [span([getattr(curve, name)[index] for curve in side]) for side in sides]
        table.append(cells)
    return table


def provenance_lines(summary: Summary) -> list[str]:
    """Every run, in one line each; and what each side cost."""
    lines = [_provenance(entry) for entry in summary.provenance]
    for side in ("ours", "reference"):
        entries = [entry for entry in summary.provenance if entry.side == side]
        hours = number(processor_hours(entries), 3)
        lines.append(f"{side}, all seeds: {hours} hours of a processor")
    return lines


def processor_hours(entries: Sequence[Provenance]) -> float:
    """What a side cost; seeds that ran in one program are counted once."""
    programs = {tuple(entry.together): entry for entry in entries}
    return sum(entry.processor_hours for entry in programs.values())


def _provenance(entry: Provenance) -> str:
    packages = ", ".join(f"{name} {version}" for name, version in sorted(entry.packages.items()))
    together = ", ".join(map(str, entry.together))
    shared = f"with seeds {together} in one program, " if len(entry.together) > 1 else ""
    plural = "s" if len(entry.cores) != 1 else ""
    program = entry.program[:12] if len(entry.program) == 64 else entry.program
    return (
        f"{entry.side}, seed {entry.seed} ({entry.source}): {program}; {packages}; "
        f"{entry.platform}; {shared}{number(entry.hours, 3)} h on {len(entry.cores)} core{plural}"
    )
