"""Records and the registry's prose as one generated Markdown document.

The text is a function of its arguments alone: no clock, no environment, no order but that
of the entries as they are given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reports.entries import EntryText, Section
from reports.holding import in_short
from reports.lines import VERDICTS, contradicted_figures
from reports.provenance import setups
from reports.records import EntryRecord, VerdictName
from reports.rendering import render

__all__ = ["EntryText", "deviations_document"]

_CORE = "core"  # what records call the project's own subject
_WORST_FIRST: tuple[VerdictName, ...] = ("BROKEN", "HOLDS", "NOT MEASURED")


def deviations_document(texts: Sequence[EntryText], records: Mapping[str, EntryRecord]) -> str:
    """The document of all entries: deviations, agreements, and where they were measured.

    Args:
        texts: The entries in the order in which they are to stand.
        records: What was measured, by entry id; an entry without a record is NOT MEASURED.
    """
    sections = [Section(text, records.get(text.id)) for text in texts]
    shown = [section.record for section in sections if section.record]
    subjects = sorted({record.provenance.subject for record in shown})
    return render(
        "reports",
        "deviations.md.j2",
        {"verdicts": _verdicts, "in_short": in_short},
        deviations=[section for section in sections if section.text.kind == "deviation"],
        agreements=[section for section in sections if section.text.kind == "agreement"],
        counts={name: sum(section.counts[name] for section in sections) for name in VERDICTS},
        contradicted=contradicted_figures(shown),
        setups=setups(shown),
        claims=sum(len(section.claims) for section in sections),
        subjects=", ".join(subjects) or "the core",
        foreign=subjects not in ([], [_CORE]),
    )


def _verdicts(counts: Mapping[VerdictName, int]) -> str:
    """The counts that are not zero; what is broken first, and in bold."""
    words: dict[VerdictName, str] = {
        "BROKEN": f"**{counts['BROKEN']} BROKEN**",
        "HOLDS": f"{counts['HOLDS']} HOLDS",
        "NOT MEASURED": f"{counts['NOT MEASURED']} NOT MEASURED",
    }
    return ", ".join(words[verdict] for verdict in _WORST_FIRST if counts[verdict])
