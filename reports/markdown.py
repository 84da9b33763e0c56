"""Records and the registry's prose as one generated Markdown document.

The text is a function of its arguments alone: no clock, no environment, no order but that
of the entries as they are given.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import jinja2

from reports import escaping
from reports.entries import EntryText, Section
from reports.lines import VERDICTS, contradicted_figures
from reports.provenance import setups
from reports.records import EntryRecord, VerdictName

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
    return _render(
        "deviations.md.j2",
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


def _render(template: str, **values: object) -> str:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("reports"),
        undefined=jinja2.StrictUndefined,
        autoescape=False,  # what must be escaped is Markdown, not HTML
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "cell": escaping.cell,
        "prose": escaping.prose,
        "table": escaping.table,
        "verdicts": _verdicts,
    }
    text = environment.get_template(template).render(values)
    # Templates space themselves for their reader; the document has one blank line.
    return re.sub(r"\n(?:[ \t]*\n){2,}", "\n\n", text).strip() + "\n"
