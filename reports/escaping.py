"""Plain text in Markdown, in a paragraph or in the cell of a table.

Prose and claims are written for people, not for a parser: `E_p|b|` and `~0.3` must come
out as they went in. Spans between backticks stay code.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence

from reports.lines import visible

_CODE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")
# What Markdown, or a code-hosting site, would take for markup in the middle of a line. An
# underscore within a word, and brackets that no address follows, mean nothing.
_MARKUP = re.compile(r"[\\`*<~$]|(?<![^\W_])_|_(?![^\W_])|\](?=[(\[:])|&(?=#?\w+;)")


def prose(text: str) -> str:
    """One paragraph's worth of text, never at the start of a line."""
    return _escaped(text, in_cell=False)


def cell(text: str) -> str:
    """Text for one cell of a table."""
    return _escaped(text, in_cell=True)


def table(rows: Sequence[Sequence[str]]) -> str:
    """A table of cells that are Markdown already, the head first.

    Raises:
        ValueError: The rows are not of one length.
    """
    head, *body = rows
    if any(len(row) != len(head) for row in body):
        raise ValueError(f"every row of a table must have {len(head)} cells like its head")
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *body))


def _escaped(text: str, *, in_cell: bool) -> str:
    text = " ".join(visible(text).split())
    parts, end = [], 0
    for span in _CODE.finditer(text):
        parts += [_plain(text[end : span.start()], in_cell), _code(span, in_cell)]
        end = span.end()
    return "".join((*parts, _plain(text[end:], in_cell)))


def _plain(text: str, in_cell: bool) -> str:
    text = _MARKUP.sub(lambda found: "\\" + found[0], text)
    return text.replace("|", "\\|") if in_cell else text


def _code(span: re.Match[str], in_cell: bool) -> str:
    if in_cell and "|" in span[0]:
        # Sites differ on a backslash before a bar within backticks; on this they agree.
        return f"<code>{_plain(html.escape(span[2].strip(), quote=False), True)}</code>"
    return span[0]
