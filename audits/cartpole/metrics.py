"""The training metrics of both sides, window by window."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np

from audits.run_files import Run
from audits.statistics import ranges

# Where the reference calls a metric otherwise (protocol, section 5.4).
REFERENCE_NAMES = {
    "rec_loss": "vector_loss",
    "rec_loss_std": "vector_loss_std",
    "rew_loss": "reward_loss",
    "rew_loss_std": "reward_loss_std",
    "con_loss": "cont_loss",
    "con_loss_std": "cont_loss_std",
    "repval_loss": "replay_critic_loss",
    "repval_loss_std": "replay_critic_loss_std",
}

# Not compared: a count, which the checks compare exactly.
_COUNTS = frozenset({"opt_grad_steps"})

# The scale of the return normaliser, from the two forms of the returns, and its state.
DERIVED = ("retnorm_scale", "state/retnorm_scale")


class Window(msgspec.Struct, frozen=True):
    """One metric in the window that ends at one record.

    Attributes:
        metric: By our name.
        rows: At which the window ends.
        ours: Mean over the window of each seed; None where it is not finite or missing.
        reference: Likewise.
        overlap: Whether the two ranges have a point in common; None if a value is missing.
    """

    metric: str
    rows: int
    ours: list[float | None]
    reference: list[float | None]
    overlap: bool | None


class Windows(msgspec.Struct, frozen=True):
    """All windows, and how surprising it is that so many part.

    Attributes:
        windows: By metric, then by rows.
        compared: Windows in which every seed has a value.
        overlapping: Of them, those whose ranges overlap.
        expected: How many would, of two identical programs, on average.
        parted: `compared` − `overlapping`.
        typical: Median of that over all divisions of the seeds into two sides.
        at_least: Divisions in which as many windows part.
        divisions: How many there are.
        not_finite: Our windows that have no finite mean where the reference's have, as
            "metric at rows, seed".
    """

    windows: list[Window]
    compared: int
    overlapping: int
    expected: float
    parted: int
    typical: float
    at_least: int
    divisions: int
    not_finite: list[str]

    @property
    def p_value(self) -> float:
        """Of the exact test that the sides are exchangeable."""
        return self.at_least / self.divisions

    def by_metric(self) -> dict[str, list[Window]]:
        """The windows of each metric, those that part most often first."""
        table: dict[str, list[Window]] = {}
        for window in self.windows:
            table.setdefault(window.metric, []).append(window)
        return dict(
            sorted(table.items(), key=lambda item: -sum(w.overlap is False for w in item[1]))
        )


def names(ours: Sequence[Run]) -> list[str]:
    """The metrics that are compared, by our names, in the order of our records."""
    found: dict[str, None] = {}
    for run in ours:
        for record in run.records:
            found.update(dict.fromkeys(name for name in record.train_raw if name not in _COUNTS))
    return [*found, *DERIVED]


def value(run: Run, index: int, metric: str) -> float:
    """One metric of one record; NaN where there is none."""
    record = run.records[index]
    if metric == "state/retnorm_scale":
        return record.retnorm.scale
    if metric == "retnorm_scale":
        return value(run, index, "ret/std") / (value(run, index, "ret_normed/std") or math.nan)
    name = metric if run.side == "ours" else REFERENCE_NAMES.get(metric, metric)
    found = record.train_raw.get(name)
    return math.nan if found is None else found


def windows(ours: Sequence[Run], reference: Sequence[Run]) -> Windows:
    """Compares every metric in every window that both sides have updates in.

    Args:
        ours: One run per seed, with the same records each.
        reference: Likewise.
    """
    table, columns, missing = [], [], []
    records = min(len(run.records) for run in (*ours, *reference))
    shown = [i for i in range(records) if all(r.records[i].updates for r in (*ours, *reference))]
    for metric in names(ours):
        for index in shown:
            sides = [
                [value(run, index, metric) for run in side]
                for side in (list(ours), list(reference))
            ]
            whole = np.isfinite(sides[0] + sides[1]).all()
            rows = ours[0].records[index].rows
            if whole:
                columns.append(sides[0] + sides[1])
            elif np.isfinite(sides[1]).all():
                missing += [
                    f"{metric} at {rows:,}, seed {run.seed}"
                    for run, found in zip(ours, sides[0], strict=True)
                    if not math.isfinite(found)
                ]
            kept = [[v if math.isfinite(v) else None for v in side] for side in sides]
            overlaps = ranges.overlap(*sides) if whole else None
            table.append(Window(metric, rows, kept[0], kept[1], overlaps))
    matrix = np.array(columns).T if columns else np.zeros((len(ours) + len(reference), 0))
    found = ranges.relabel(matrix, len(ours))
    return Windows(
        table,
        compared=len(columns),
        overlapping=len(columns) - found.parted,
        expected=len(columns) * ranges.chance_of_overlap(len(ours), len(reference)),
        parted=found.parted,
        typical=found.typical,
        at_least=found.at_least,
        divisions=found.divisions,
        not_finite=missing,
    )
