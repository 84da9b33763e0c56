"""The picture of a validation: what the run on the dataset reached in each task, as it learned."""

from __future__ import annotations

import io
import math
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from audits.multitask.judgement import TaskResult
from audits.multitask.validation import Curve, Summary
from reports.records import write_atomically

_COLUMNS = 5
_OURS, _SOURCES = "C0", "C1"


def draw(summary: Summary, path: Path) -> None:
    """Writes the picture as PNG; the same summary gives the same bytes.

    Args:
        summary: What to show.
        path: Of the picture.
    """
    # Imported here so that the command starts without matplotlib.
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    curves = {curve.task: curve for curve in summary.curves}
    tasks = summary.judgement.tasks
    rows = max(1, math.ceil(len(tasks) / _COLUMNS))
    style: Any = {"font.size": 8}
    with matplotlib.rc_context(style):
        height = 2.1 * rows + 0.4
        figure = Figure(figsize=(2.6 * _COLUMNS, height), dpi=100)
        figure.subplots_adjust(0.04, 0.55 / height, 0.99, 1 - 0.3 / height, 0.25, 0.5)
        FigureCanvasAgg(figure)
        axes = figure.subplots(rows, _COLUMNS, squeeze=False).ravel()
        for ax, task in zip(axes, tasks, strict=False):
            _task(ax, task, curves.get(task.task), summary.budget)
        for ax in axes[len(tasks) :]:
            ax.set_axis_off()
        figure.legend(*_legend(), loc="lower center", ncols=3, frameon=False)
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", metadata={"Software": None}, facecolor="white")
    write_atomically(path, buffer.getvalue())


def _task(ax: Any, task: TaskResult, curve: Curve | None, budget: int) -> None:
    if task.sources and task.bar is not None:
        ax.axhspan(min(task.sources), max(task.sources), color=_SOURCES, alpha=0.3, linewidth=0)
        ax.axhline(fmean(task.sources), color=_SOURCES, linewidth=1.2)
        ax.axhline(task.bar, color="0.4", linewidth=1.0, linestyle=":")
    if curve is not None:
        values = [np.nan if value is None else value for value in curve.returns]
        ax.plot(curve.updates, values, color=_OURS, linewidth=1.4, marker=".", markersize=3)
    ax.set_title(task.task + ("" if curve else " (no run)"), fontsize=8)
    ax.set_xlim(0, budget)
    ax.spines[["top", "right"]].set_visible(False)


def _legend() -> tuple[list[Any], list[str]]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles = [
        Line2D([], [], color=_OURS),
        Patch(color=_SOURCES, alpha=0.4),
        Line2D([], [], color="0.4", linestyle=":"),
    ]
    labels = [
        "mean return of the agent of all tasks, over updates",
        "final return of the sources: range and mean of the seeds",
        "what must be reached",
    ]
    return handles, labels
