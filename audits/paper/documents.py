"""What a validation writes: `summary.json`, `report.md` and a picture for every agent."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from audits.paper import pictures
from audits.paper.judgement import Aggregate, TaskResult, Verdict, WindowResult
from audits.paper.validation import Provenance, Summary
from audits.references import store
from audits.references.store import Reference
from audits.statistics.equivalence import Equivalence
from reports.records import write_atomically
from reports.rendering import render

REPORT, SUMMARY = "report.md", "summary.json"


def write_all(
    summary: Summary, out: Path, references: Mapping[str, Reference] | None = None
) -> list[Path]:
    """Writes every document of a validation; the same summary gives the same bytes.

    Args:
        summary: The validation.
        out: The folder.
        references: For the pictures; those that are kept by default.

    Returns:
        What was written.
    """
    out.mkdir(parents=True, exist_ok=True)
    text = json.dumps(msgspec.to_builtins(summary), indent=1, ensure_ascii=False) + "\n"
    write_atomically(out / SUMMARY, text.encode())
    write_atomically(out / REPORT, report(summary).encode())
    written = [out / REPORT, out / SUMMARY]
    for agent in summary.agents:
        reference = (references or {}).get(agent) or store.read(agent)
        path = out / picture_name(agent)
        pictures.draw(summary, agent, reference, path)
        written.append(path)
        for run in summary.off_protocol:
            if run.curve and run.curve.agent == agent:
                path = out / picture_name(run.run)
                pictures.draw_one(run.curve, reference.task(run.curve.task), path)
                written.append(path)
    return written


def picture_name(what: str) -> str:
    """The file of the curves of an agent, or of a run off protocol."""
    return f"curves-{what}.png"


def report(summary: Summary) -> str:
    """The report for people."""
    return render(
        "audits.paper",
        "report.md.j2",
        {"number": number, "score": score},
        summary=summary,
        reason=reason(summary),
        rules=summary.criteria.rules,
        reasons=summary.criteria.reasons,
        pictures={agent: picture_name(agent) for agent in summary.agents},
        beside={run.run: picture_name(run.run) for run in summary.off_protocol if run.curve},
        aggregate_rows=aggregate_rows,
        task_row=task_row,
        missing=missing,
        statistics_line=statistics_line,
        provenance_row=provenance_row,
    )


def number(value: float | None, digits: int = 1) -> str:
    """A figure, or a dash where there is none."""
    return "–" if value is None or not math.isfinite(value) else f"{value:,.{digits}f}"


def score(values: Sequence[float]) -> str:
    """Mean and range over the seeds."""
    if not values:
        return "–"
    mean = sum(values) / len(values)
    return f"{number(mean)} ({number(min(values))} to {number(max(values))})"


def reason(summary: Summary) -> str:
    """Why the verdict is what it is."""
    if summary.verdict is Verdict.PASS:
        return "every window passes."
    if summary.verdict is Verdict.INCOMPLETE:
        lacking = sum(result.judged < len(result.tasks) for result in summary.windows)
        return (
            f"{lacking} of {len(summary.windows)} windows have tasks that could not be judged, and "
            "no window fails."
        )
    failing = [r for r in summary.windows if r.verdict is Verdict.FAIL]
    return "; ".join(f"{r.agent}, {r.window}: {', '.join(shortfalls(r))}" for r in failing) + "."


def shortfalls(result: WindowResult) -> list[str]:
    """What a window fails by."""
    told = []
    if result.passed < result.needed:
        told.append(f"{result.passed} of {len(result.tasks)} tasks pass, {result.needed} must")
    told += [
        f"the {a.name} over tasks is {number(a.ours)}, at least {number(a.bar)} is asked for"
        for a in result.aggregates
        if a.passes is False
    ]
    return told


def aggregate_rows(result: WindowResult) -> list[list[str]]:
    """One row for each aggregate of a window."""

    def row(a: Aggregate) -> list[str]:
        passes = {True: "PASS", False: "**FAIL**", None: "–"}[a.passes]
        return [a.name, number(a.ours), number(a.reference), number(a.bar), passes]

    return [row(aggregate) for aggregate in result.aggregates]


def task_row(task: TaskResult) -> list[str]:
    """One task of a window that was judged."""
    verdict = task.verdict.value if task.verdict is Verdict.PASS else f"**{task.verdict.value}**"
    test = task.equivalence
    needed = "–" if task.seeds_needed is None else str(task.seeds_needed)
    return [
        task.task,
        verdict,
        score(task.ours),
        score(task.reference),
        number(task.bar),
        f"{task.above:+,.1f}",
        _interval(test),
        test.verdict.value if test else "–",
        "–" if task.power is None else f"{task.power:.0%}",
        needed,
    ]


def missing(result: WindowResult) -> dict[str, list[str]]:
    """The tasks of a window that were not judged, by the reason."""
    found: dict[str, list[str]] = {}
    for task in result.tasks:
        if task.verdict is Verdict.INCOMPLETE:
            found.setdefault(task.why, []).append(task.task)
    return found


def statistics_line(result: WindowResult) -> str:
    """What the seeds tell of the mean over the tasks."""
    test = result.equivalence
    chance = (
        f"An equal program would pass that test in {result.power:.0%} of validations, if its seeds "
        "spread as the published ones do."
    )
    if test is None or result.bootstrap is None:
        return f"Once all tasks are judged, a test of equivalence of their mean follows. {chance}"
    low, high = result.bootstrap
    return (
        f"The mean over the tasks differs from the reference's by {_interval(test)}: "
        f"{test.verdict.value} of the test of equivalence within ± {test.margin:g}. {chance} "
        f"Resampled seeds give {low:+,.1f} to {high:+,.1f}."
    )


def provenance_row(found: Provenance) -> list[str]:
    """One run."""

    def each(values: Sequence[str]) -> str:
        return "; ".join(dict.fromkeys(values)) or "–"

    return [
        found.run,
        " ".join(map(str, found.seeds)),
        f"{found.env_steps:,}" + (", finished" if found.finished else ""),
        "yes" if found.on_protocol else "**no**",
        each([session.code for session in found.sessions]),
        each([session.packages.get("jax", "?") for session in found.sessions]),
        each([session.device for session in found.sessions]),
        str(len(found.sessions)),
        "; ".join(found.remarks) or "–",
    ]


def _interval(test: Equivalence | None) -> str:
    if test is None:
        return "–"
    if not math.isfinite(test.low):
        return f"{test.difference:+,.1f}"
    return f"{test.difference:+,.1f} ({test.low:+,.1f} to {test.high:+,.1f})"
