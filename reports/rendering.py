"""Templates to Markdown: what all generated documents share."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import jinja2

from reports import escaping

_FILTERS = {"cell": escaping.cell, "prose": escaping.prose, "table": escaping.table}


def render(
    package: str, template: str, filters: Mapping[str, Callable[..., str]], **values: object
) -> str:
    """A template with its values put in, as a document that ends with one line end.

    Args:
        package: Whose folder `templates` holds it.
        template: Its name.
        filters: Of this document, beside those of `reports.escaping`.
        **values: What it is told.
    """
    environment: Any = jinja2.Environment(
        loader=jinja2.PackageLoader(package),
        undefined=jinja2.StrictUndefined,
        autoescape=False,  # what must be escaped is Markdown, not HTML
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {**_FILTERS, **filters}
    text = environment.get_template(template).render(values)
    # Templates space themselves for their reader; the document has one blank line.
    return re.sub(r"\n(?:[ \t]*\n){2,}", "\n\n", text).strip() + "\n"
