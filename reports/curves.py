"""Learning curves of training runs, from the metrics that they logged.

    python -m reports.curves runs/* --output curves.svg

A run is a folder with `metrics.jsonl`: one JSON object per line, with `rows` (environment
rows so far), `seed`, and the metrics by name.
"""

from __future__ import annotations

import dataclasses
import io
import json
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeGuard

import cyclopts
from cyclopts import Parameter

from reports.records import write_atomically

LOG = "metrics.jsonl"
RETURN = "episode/return"
_SUFFIXES = (".svg", ".png")


class CurvesError(Exception):
    """A run has no such curve, or the picture can not be drawn."""


@dataclasses.dataclass(frozen=True)
class Curve:
    """One metric of one seed of one run.

    Attributes:
        run: The run's folder, as it was given.
        seed: Of the run.
        rows: Environment rows, ascending.
        values: The metric at each; windows without one are left out.
    """

    run: str
    seed: int
    rows: list[int]
    values: list[float]


def read_curves(folder: Path, metric: str = RETURN) -> list[Curve]:
    """The curves of a run, one per seed.

    Args:
        folder: The run's folder.
        metric: A name as in the log, such as `episode/return` or `eval/return`.

    Raises:
        CurvesError: There is no log, a line of it is damaged, or nothing has that name.
    """
    path = folder / LOG
    try:
        *lines, half = path.read_bytes().split(b"\n")
    except OSError as error:
        raise CurvesError(
            f"{path} can not be read ({error.strerror}); a run is a folder with {LOG}, which "
            f"`python -m core.dreamerv3 --logdir` makes"
        ) from error
    # A run that is still writing, or was killed, may leave half of its last line.
    entries = [_entry(line) for line in lines]
    if _entry(half):
        entries.append(_entry(half))
    curves: dict[int, Curve] = {}
    names: set[str] = set()
    for number, entry in enumerate(entries, 1):
        if entry is None:
            raise CurvesError(
                f"{path}, line {number}, is no entry of a log; take that line out, or resume the "
                f"run, which puts it aside"
            )
        names |= {name for name, value in entry.items() if isinstance(value, float)}
        value = entry.get(metric)
        # No overflow of an integer, unlike math.isfinite.
        if _is_number(value) and abs(value) <= sys.float_info.max:
            curve = curves.setdefault(entry["seed"], Curve(str(folder), entry["seed"], [], []))
            curve.rows.append(entry["rows"])
            curve.values.append(float(value))
    if not curves:
        raise CurvesError(
            f"{path} has no values of {metric!r}; it has {', '.join(sorted(names)) or 'nothing'}"
        )
    return [curves[seed] for seed in sorted(curves)]


def _is_number(value: Any) -> TypeGuard[int | float]:
    return type(value) in (int, float)


def _entry(line: bytes) -> dict[str, Any] | None:
    """A line of a log; None if it is none."""
    try:
        entry = json.loads(line.decode())
        return entry if type(entry["rows"]) is type(entry["seed"]) is int else None
    except (ValueError, LookupError, TypeError, RecursionError):
        return None


def draw_curves(curves: Iterable[Curve], path: Path, metric: str = RETURN) -> None:
    """Draws the curves: a thin line per seed, and a thick one for the mean of each run.

    The mean is over the rows at which every seed of the run has a value.

    Args:
        curves: From `read_curves`.
        path: An `.svg` or a `.png`.
        metric: What they are of, for the axis.

    Raises:
        CurvesError: The suffix is another.
    """
    if path.suffix not in _SUFFIXES:
        raise CurvesError(f"{path} must end in {' or '.join(_SUFFIXES)}")
    # Imported here so that reading curves does not pay for matplotlib.
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    style: Any = {"font.size": 9, "svg.hashsalt": "world-model-parity", "svg.fonttype": "path"}
    with matplotlib.rc_context(style):
        figure = Figure(figsize=(7.0, 3.6), dpi=100, layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.add_subplot()
        by_run: dict[str, list[Curve]] = {}
        for curve in curves:
            by_run.setdefault(curve.run, []).append(curve)
        for index, (run, seeds) in enumerate(by_run.items()):
            colour = f"C{index}"
            for curve in seeds:
                axes.plot(curve.rows, curve.values, color=colour, linewidth=0.8, alpha=0.5)
            rows, means = _mean(seeds)
            plural = "s" if len(seeds) > 1 else ""
            label = f"{run} ({len(seeds)} seed{plural})"
            axes.plot(rows, means, color=colour, linewidth=2.0, label=label)
        axes.set_xlabel("environment rows")
        axes.set_ylabel(metric)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(color="#d1d9e0", linewidth=0.6)
        axes.legend(frameon=False)
        buffer = io.BytesIO()
        metadata = {"Date": None, "Creator": None} if path.suffix == ".svg" else {}
        figure.savefig(buffer, format=path.suffix[1:], metadata=metadata, facecolor="white")
    write_atomically(path, buffer.getvalue())


def _mean(seeds: Sequence[Curve]) -> tuple[list[int], list[float]]:
    found = [dict(zip(curve.rows, curve.values, strict=True)) for curve in seeds]
    rows = sorted(set.intersection(*(set(values) for values in found)))
    return rows, [sum(values[row] for values in found) / len(found) for row in rows]


app = cyclopts.App(name="python -m reports.curves", version_flags=[])


@app.default
def main(
    runs: Annotated[tuple[Path, ...], Parameter(consume_multiple=True)],
    /,
    *,
    output: Annotated[Path | None, Parameter(show_default=False)] = None,
    metric: str = RETURN,
) -> None:
    """Draw the learning curves of training runs.

    Parameters
    ----------
    runs
        Folders of runs, as `python -m core.dreamerv3 --logdir` makes them.
    output
        The picture, .svg or .png; by default curves.svg in the first run's folder.
    metric
        A name as in metrics.jsonl, such as episode/return, eval/return or train/opt_loss.
    """
    output = output or runs[0] / "curves.svg"
    try:
        curves = [curve for run in dict.fromkeys(runs) for curve in read_curves(run, metric)]
        draw_curves(curves, output, metric)
    except CurvesError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    except OSError as error:
        print(f"error: {output} can not be written: {error.strerror or error}", file=sys.stderr)
        sys.exit(2)
    try:
        for curve in curves:
            last = f"{curve.values[-1]:.4g} at {curve.rows[-1]:,} rows"
            print(
                f"{curve.run}, seed {curve.seed}: {metric} {last}, "
                f"from {min(curve.values):.4g} to {max(curve.values):.4g}"
            )
        print(output, flush=True)
    except BrokenPipeError:
        # Whoever read the output has enough; Python must not complain of it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    app()
