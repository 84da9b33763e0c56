"""What a validation on several tasks writes: `summary.json`, `report.md` and a picture."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec

from audits.multitask import pictures
from audits.multitask.judgement import TaskResult
from audits.multitask.validation import Summary
from audits.paper.documents import REPORT, SUMMARY, number, provenance_row, score
from audits.paper.judgement import Verdict
from reports.records import write_atomically
from reports.rendering import render

PICTURE = "tasks.png"


def write_all(summary: Summary, out: Path) -> list[Path]:
    """Writes every document of a validation; the same summary gives the same bytes.

    Args:
        summary: The validation.
        out: The folder.

    Returns:
        What was written.
    """
    out.mkdir(parents=True, exist_ok=True)
    text = json.dumps(msgspec.to_builtins(summary), indent=1, ensure_ascii=False) + "\n"
    write_atomically(out / SUMMARY, text.encode())
    write_atomically(out / REPORT, report(summary).encode())
    pictures.draw(summary, out / PICTURE)
    return [out / REPORT, out / SUMMARY, out / PICTURE]


def report(summary: Summary) -> str:
    """The report for people."""
    return render(
        "audits.multitask",
        "report.md.j2",
        {"number": number},
        summary=summary,
        reason=reason(summary),
        picture=PICTURE,
        task_row=task_row,
        missing=missing(summary),
        provenance_row=provenance_row,
    )


def reason(summary: Summary) -> str:
    """Why the verdict is what it is."""
    found = summary.judgement
    of = f"{found.judged} of {len(found.tasks)} tasks are judged"
    if summary.verdict is Verdict.INCOMPLETE:
        whys = missing(summary)
        most = max(whys, key=lambda why: len(whys[why]), default="")
        return f"{of}, {found.judged_needed} must be" + (f"; {most}." if most else ".")
    return f"{of}, {found.passed} of them pass, {found.needed} must."


def task_row(task: TaskResult) -> list[str]:
    """One task."""
    verdict = {Verdict.FAIL: "**FAIL**", Verdict.INCOMPLETE: "–"}
    return [
        task.task,
        verdict.get(task.verdict, task.verdict.value),
        score(task.sources),
        score(task.offline),
        number(task.bar),
        "–" if task.reached is None else f"{task.reached:.0%}",
    ]


def missing(summary: Summary) -> dict[str, list[str]]:
    """The tasks that were not judged, by the reason."""
    found: dict[str, list[str]] = {}
    for task in summary.judgement.tasks:
        if task.verdict is Verdict.INCOMPLETE:
            found.setdefault(task.why, []).append(task.task)
    return found
