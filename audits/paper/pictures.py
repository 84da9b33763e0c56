"""The curves of a validation: our seeds over the band of the reference's, task by task."""

from __future__ import annotations

import contextlib
import io
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from audits.paper.validation import Curve, Summary
from audits.references.store import Reference, TaskReference
from reports.records import write_atomically

_COLUMNS = 5
_UNIT = 1e6  # environment steps
_OURS, _THEIRS = "C0", "C1"


def draw(summary: Summary, agent: str, reference: Reference, path: Path) -> None:
    """Writes the picture of an agent as PNG; the same summary gives the same bytes.

    Args:
        summary: What to show.
        agent: Whose tasks.
        reference: Its published results.
        path: Of the picture.
    """
    curves = {curve.task: curve for curve in summary.curves}
    rows = max(1, math.ceil(len(reference.tasks) / _COLUMNS))
    height = 2.1 * rows + 0.4
    with _figure(2.6 * _COLUMNS, height, path) as figure:
        # A layout of fixed margins: one that fits itself would draw everything twice.
        figure.subplots_adjust(0.04, 0.55 / height, 0.99, 1 - 0.3 / height, 0.25, 0.5)
        axes = figure.subplots(rows, _COLUMNS, squeeze=False).ravel()
        for ax, task in zip(axes, reference.tasks, strict=False):
            _task(ax, task, curves.get(task.task))
        for ax in axes[len(reference.tasks) :]:
            ax.set_axis_off()
        figure.legend(*_legend(), loc="lower center", ncols=3, frameon=False)


def draw_one(curve: Curve, task: TaskReference, path: Path) -> None:
    """Writes the picture of one run, as far as it came, as PNG.

    Args:
        curve: The run's.
        task: The published results of its task.
        path: Of the picture.
    """
    with _figure(6.4, 3.6, path) as figure:
        ax = figure.subplots()
        figure.subplots_adjust(0.09, 0.25, 0.98, 0.9)
        _task(ax, task, curve)
        last = curve.env_steps[-1]
        # To the first published point that the run has not come to.
        ax.set_xlim(0, min((at for at in task.band.env_steps if at >= last), default=last) / _UNIT)
        figure.legend(*_legend(), loc="lower center", ncols=3, frameon=False)


@contextlib.contextmanager
def _figure(width: float, height: float, path: Path) -> Iterator[Any]:
    """A figure to draw in, which is then written."""
    # Imported here so that the command starts without matplotlib.
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    style: Any = {"font.size": 8}
    with matplotlib.rc_context(style):
        figure = Figure(figsize=(width, height), dpi=100)
        FigureCanvasAgg(figure)
        yield figure
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", metadata={"Software": None}, facecolor="white")
    write_atomically(path, buffer.getvalue())


def _task(ax: Any, task: TaskReference, curve: Curve | None) -> None:
    band = task.band
    at = np.asarray(band.env_steps) / _UNIT
    for window in task.windows:
        ax.axvspan(window.after / _UNIT, window.until / _UNIT, color="#eaeef2", linewidth=0)
    ax.fill_between(at, band.lowest, band.highest, color=_THEIRS, alpha=0.3, linewidth=0)
    ax.plot(at, band.mean, color=_THEIRS, linewidth=1.2)
    if curve is not None:
        values = np.array([[np.nan if v is None else v for v in row] for row in curve.values])
        if values.size:
            steps = np.asarray(curve.env_steps) / _UNIT
            ax.plot(steps, values, color=_OURS, linewidth=0.5, alpha=0.5)
            ax.plot(steps, values.mean(1), color=_OURS, linewidth=1.4)
    ax.set_title(task.task + ("" if curve else " (no run)"), fontsize=8)
    ax.set_ylim(0, 1000)
    ax.set_xlim(0, task.budget / _UNIT)
    ax.spines[["top", "right"]].set_visible(False)


def _legend() -> tuple[list[Any], list[str]]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles = [
        Line2D([], [], color=_OURS),
        Patch(color=_THEIRS, alpha=0.4),
        Patch(color="#eaeef2"),
    ]
    labels = [
        "ours: seeds and mean, over millions of environment steps",
        "published: range and mean of the seeds",
        "judged windows",
    ]
    return handles, labels
