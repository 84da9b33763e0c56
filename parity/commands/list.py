"""`parity list`."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Literal

from cyclopts import Parameter

from parity import registry
from parity.commands import options
from parity.operations import Operation, catalogue
from parity.parts import part_of, parts
from parity.registry import Entry


def list_entries(
    *text: str,
    agent: Annotated[Literal["DreamerV3", "TD-MPC2"] | None, Parameter(show_default=False)] = None,
    measured: options.Flag = False,
    operations: options.Flag = False,
    json: options.Flag = False,
) -> int:
    """List what there is: the rows of the deviation table, then the agreements by part.

    Example: parity list twohot --measured

    Args:
        text: List only what has all of these words in its id, title, claims or operations.
        agent: List only what is about this agent.
        measured: List only entries that have claims.
        operations: List the operations that can be asked for, instead of the entries;
            `parity show` has the signature of each.
        json: Print a JSON array.
    """
    words = [word.casefold() for word in text]
    if operations:
        if measured:
            raise options.UsageError("--measured is about entries; leave out --operations")
        prefix = f"{agent.casefold().replace('-', '')}." if agent else ""
        chosen = [
            operation
            for operation in catalogue().values()
            if operation.name.startswith(prefix) and _has(words, operation.name, operation.summary)
        ]
        return _print(chosen, _operation_json, _operation_lines, json=json)
    listed = [
        entry
        for entry in registry.load_registry()
        if agent in (None, entry.agent) or entry.agent == "both"
        if entry.claims or not measured
        if _has(words, *_texts(entry))
    ]
    return _print(_in_order(listed), _entry_json, _entry_lines, json=json)


def _print(chosen: Sequence, as_json, lines, *, json: bool) -> int:
    if json:
        from json import dumps

        print(dumps([as_json(item) for item in chosen], indent=2, ensure_ascii=False))
    elif chosen:
        print("\n".join(lines(chosen)))
    else:
        raise options.UsageError("nothing fits; `parity list` without filters has all")
    return 0


def _has(words: Iterable[str], *texts: str) -> bool:
    found = "\n".join(texts).casefold()
    return all(word in found for word in words)


def _texts(entry: Entry) -> Iterator[str]:
    yield from (entry.id, entry.agent, entry.title)
    for claim in entry.claims:
        yield from (claim.id, *claim.operations)


def _in_order(entries: Iterable[Entry]) -> list[Entry]:
    """The rows in the table's order, then the agreements part by part."""
    rank = {part: place for place, part in enumerate(dict.fromkeys(parts().values()))}
    return sorted(
        entries,
        key=lambda entry: (
            entry.kind != "deviation",
            0 if entry.kind == "deviation" else rank.get(part_of(entry), len(rank)),
        ),
    )


def _entry_lines(entries: Sequence[Entry]) -> Iterator[str]:
    head = ("entry", "agent", "claims", "title")
    rows = [(e.id, e.agent, str(len(e.claims)), e.title + " (ours)" * e.ours) for e in entries]
    heading = ""
    for entry, line in zip((None, *entries), _table((head, *rows)), strict=True):
        if entry is not None and heading != (now := _heading(entry)):
            heading = now
            yield from ("", heading)
        yield line


def _heading(entry: Entry) -> str:
    return "Deviations" if entry.kind == "deviation" else f"Agreements: {part_of(entry)}"


def _entry_json(entry: Entry) -> dict:
    return {
        "id": entry.id,
        "agent": entry.agent,
        "kind": entry.kind,
        "title": entry.title,
        "status": entry.status,
        "ours": entry.ours,
        "pins": list(entry.pins),
        "claims": [claim.id for claim in entry.claims],
    }


def _operation_lines(chosen: Sequence[Operation]) -> Iterator[str]:
    width = max(len(operation.name) for operation in chosen)
    left = max(40, shutil.get_terminal_size().columns - width - 4)
    heading = ""
    for operation in chosen:
        if heading != (now := parts()[operation.name]):
            yield from ([""] if heading else [])
            heading = now
            yield heading
        summary = textwrap.shorten(operation.summary, left, placeholder=" …")
        yield f"  {operation.name:{width}}  {summary}"


def _operation_json(operation: Operation) -> dict:
    return {
        "name": operation.name,
        "part": parts()[operation.name],
        "summary": operation.summary,
        "inputs": [field.name for field in operation.inputs],
        "outputs": [field.name for field in operation.outputs],
    }


def _table(rows: Sequence[tuple[str, str, str, str]]) -> Iterator[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(3)]
    for name, agent, claims, title in rows:
        yield f"{name:{widths[0]}}  {agent:{widths[1]}}  {claims:>{widths[2]}}  {title}".rstrip()
