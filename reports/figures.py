"""A picture of how much of every tolerance was used."""

from __future__ import annotations

import hashlib
import io
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from reports.lines import short_pin, visible
from reports.records import ClaimRecord, EntryRecord, write_atomically

COLOURS = {"HOLDS": "#1a7f37", "BROKEN": "#cf222e"}
MARKERS = "osD^vPX"
WIDTH, DPI = 9.0, 100  # 900 px, the width of a README

# The claims with a bound, by entry, each with the share of the bound that it used.
Rows = dict[str, list[tuple[ClaimRecord, float]]]

# Nothing of the reader's matplotlib configuration, and nothing random: equal records give
# equal bytes.
_STYLE = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "svg.hashsalt": "world-model-parity",
    "svg.fonttype": "path",
}
_METADATA: dict[str, dict[str, Any]] = {
    ".svg": {"Date": None, "Creator": None},
    ".png": {"Software": None},
}


def margins_figure(records: Iterable[EntryRecord], path: Path) -> int:
    """Draws, for every claim with a bound, its worst measured figure over that bound.

    A line per entry, with one dot per claim, pin and source, on a logarithmic axis; right of
    1 the claim is broken. What
    has no place on such an axis stands at its edge: an exact 0 at the left, an infinite,
    undefined or missing figure at the right.

    Args:
        records: What was measured. Claims without a `bound`, and those that are NOT
            MEASURED, do not appear.
        path: An `.svg` or a `.png`; the folder is made.

    Returns:
        How many entries were drawn.

    Raises:
        ValueError: The suffix is another, or there is no claim to draw.
    """
    if path.suffix not in _METADATA:
        raise ValueError(f"{path} must end in {' or '.join(_METADATA)}")
    rows = _rows(records)
    if not rows:
        raise ValueError("no claim with an upper bound was measured: there is nothing to draw")

    # Imported here so that a report without pictures does not pay for matplotlib.
    import matplotlib
    from matplotlib.style import context

    with context(["default", _STYLE]), matplotlib.rc_context():
        data = _draw(rows, path.suffix)
    write_atomically(path, data)
    return len(rows)


def shows(records: Iterable[EntryRecord], path: Path) -> bool:
    """Whether an `.svg` was drawn from these records: it names their digest.

    The bytes of a drawing depend on the version of the library that draws it; what it
    shows does not.
    """
    return path.exists() and _digest(_rows(records)) in path.read_text("utf-8")


def _digest(rows: Rows) -> str:
    shown = [
        (
            label,
            [(c.claim, c.pin, c.source, c.verdict, repr(share)) for c, share in row],
        )
        for label, row in rows.items()
    ]
    return f"sha256:{hashlib.sha256(repr(shown).encode()).hexdigest()}"


def _rows(records: Iterable[EntryRecord]) -> Rows:
    rows: Rows = {}
    for record in records:
        for claim in record.claims:
            if claim.bound is not None and claim.verdict != "NOT MEASURED":
                rows.setdefault(visible(record.entry), []).append((claim, _share(claim)))
    return rows


def _share(claim: ClaimRecord) -> float:
    """The measured figure over the bound; infinite where there is no such number."""
    if claim.high is None or claim.bound is None:
        return math.inf  # broken before anything could be measured
    high, bound = float(claim.high), float(claim.bound)
    share = high / bound if bound else math.copysign(math.inf, high) if high else 0.0
    return math.inf if math.isnan(share) else max(share, 0.0)


def _draw(rows: Rows, suffix: str) -> bytes:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, 1.15 + 0.24 * len(rows)), dpi=DPI, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    low, high = _set_axis(axes, [share for row in rows.values() for _, share in row])
    pins = list(dict.fromkeys(claim.pin or "" for row in rows.values() for claim, _ in row))
    markers = {pin: MARKERS[index % len(MARKERS)] for index, pin in enumerate(pins)}
    for place, row in enumerate(rows.values()):
        for claim, share in row:
            axes.plot(
                min(max(share, low), high),
                # Equal figures at several pins must not hide each other.
                place + 0.3 * (pins.index(claim.pin or "") - (len(pins) - 1) / 2),
                markers[claim.pin or ""],
                color=COLOURS[claim.verdict],
                markeredgecolor="white",
                markersize=6,
                clip_on=False,  # a dot at the edge is still a whole dot
            )
    axes.set_yticks(range(len(rows)), list(rows), parse_math=False)
    axes.set_ylim(len(rows) - 0.4, -0.6)  # the first on top
    _add_legend(figure, rows, markers)
    buffer = io.BytesIO()
    metadata = {**_METADATA[suffix], "Description": f"Drawn from the records {_digest(rows)}"}
    figure.savefig(buffer, format=suffix[1:], metadata=metadata, facecolor="white")
    return buffer.getvalue()


def _set_axis(axes: Any, shares: list[float]) -> tuple[float, float]:
    """Chooses whole decades, and a place at an edge for 0 and ∞ where they occur."""
    finite = [math.log10(share) for share in shares if 0 < share < math.inf]
    first = min(-2, math.floor(min(finite, default=0)))
    last = max(0, math.ceil(max(finite, default=0)))
    step = math.ceil((last - first) / 8)
    ticks = {10.0**power: f"{10.0**power:g}" for power in range(last, first - 1, -step)}
    low, high = 10.0 ** (first - 0.2), 10.0 ** (last + 0.2)
    if 0.0 in shares:
        low = 10.0 ** (first - 0.7)
        ticks[low] = "0"
    if math.inf in shares:
        high = 10.0 ** (last + 0.7)
        ticks[high] = "∞"
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    axes.minorticks_off()
    axes.set_xticks(list(ticks), list(ticks.values()))
    axes.set_xlabel("worst measured figure ÷ tolerance")
    axes.grid(color="#d1d9e0", linewidth=0.6)
    axes.axvspan(1, high, color="#ffebe9", linewidth=0)
    axes.axvline(1, color="#1f2328", linewidth=1.5)
    return low, high


def _add_legend(figure: Any, rows: Rows, markers: dict[str, str]) -> None:
    """Colours for the verdicts that occur, shapes for the pins."""
    from matplotlib.lines import Line2D

    verdicts = {claim.verdict for row in rows.values() for claim, _ in row}
    entries = [(verdict, "o", COLOURS[verdict]) for verdict in COLOURS if verdict in verdicts]
    entries += [(short_pin(pin) or "no pin", mark, "#59636e") for pin, mark in markers.items()]
    handles = [
        Line2D([], [], marker=mark, color=colour, linestyle="", markersize=7, label=label)
        for label, mark, colour in entries
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=6, frameon=False)
