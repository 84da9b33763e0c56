"""`audit schema`."""

from __future__ import annotations


def schema() -> int:
    """Print the JSON schema of `summary.json`, which `audit cartpole` leaves.

    Example: audit schema > summary.schema.json
    """
    import json

    from audits.cartpole.comparison import json_schema

    print(json.dumps(json_schema(), indent=2, ensure_ascii=False))
    return 0
