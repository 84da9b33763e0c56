"""`parity list`."""

from __future__ import annotations

from parity import registry
from parity.commands import options


def list_entries(*, json: options.Flag = False) -> int:
    """List every entry of the registry, with the number of its claims.

    Example: parity list

    Args:
        json: Print a JSON array.
    """
    listed = registry.load_registry()
    if json:
        from json import dumps

        rows = [
            {
                "id": entry.id,
                "agent": entry.agent,
                "kind": entry.kind,
                "title": entry.title,
                "status": entry.status,
                "pins": list(entry.pins),
                "claims": [claim.id for claim in entry.claims],
            }
            for entry in listed
        ]
        print(dumps(rows, indent=2, ensure_ascii=False))
        return 0
    table = [("entry", "agent", "kind", "claims", "title")]
    table += [(e.id, e.agent, e.kind, str(len(e.claims)), e.title) for e in listed]
    widths = [max(len(row[i]) for row in table) for i in range(4)]
    for row in table:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        cells[3] = row[3].rjust(widths[3])
        print("  ".join((*cells, row[4])).rstrip())
    return 0
