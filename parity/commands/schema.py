"""`parity schema`."""

from __future__ import annotations


def schema() -> int:
    """Print the JSON schema of a record.

    Example: parity schema > record.schema.json
    """
    import json

    from reports.records import json_schema

    print(json.dumps(json_schema(), indent=2, ensure_ascii=False))
    return 0
