"""The picture of a comparison: evaluation and S2 of both sides, per seed and mean."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from audits.cartpole.comparison import Curve, Summary
from reports.records import write_atomically

_COLOURS = {"ours": "C0", "reference": "C1"}


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

    style: Any = {"font.size": 9}
    with matplotlib.rc_context(style):
        figure = Figure(figsize=(9.0, 3.6), dpi=120, layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.subplots(1, 2, sharey=True)
        for ax, title, name in zip(
            axes, ("evaluation", "training episodes (S2)"), ("evaluation", "s2"), strict=True
        ):
            for side, colour in _COLOURS.items():
                _side(ax, [c for c in summary.curves if c.side == side], name, colour, side)
            ax.set_title(title, fontsize=9)
            ax.set_xlabel("environment rows")
            ax.spines[["top", "right"]].set_visible(False)
            ax.grid(color="#d1d9e0", linewidth=0.6)
            ax.set_ylim(bottom=0)
        axes[0].set_ylabel("return")
        axes[0].legend(frameon=False)
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", metadata={"Software": None}, facecolor="white")
    write_atomically(path, buffer.getvalue())


def _side(ax: Any, curves: Sequence[Curve], name: str, colour: str, side: str) -> None:
    """A thin line for every seed, and a thick one for their mean where all have a value."""
    table = []
    for curve in curves:
        values = [np.nan if v is None else v for v in getattr(curve, name)]
        ax.plot(curve.rows, values, color=colour, linewidth=0.8, alpha=0.5)
        table.append(values)
    shortest = min((len(values) for values in table), default=0)
    if not shortest:
        return
    mean = np.mean([values[:shortest] for values in table], axis=0)
    plural = "s" if len(curves) > 1 else ""
    label = f"{side} ({len(curves)} seed{plural})"
    ax.plot(curves[0].rows[:shortest], mean, color=colour, linewidth=2.0, label=label)
