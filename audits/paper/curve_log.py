"""From the log of a run of the core to the records of the protocol."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from audits.paper.errors import PaperError
from audits.paper.files import Record
from audits.paper.registry import RunSpec


def read_records(spec: RunSpec, log: Path) -> list[Record]:
    """One record for every chunk that all seeds have logged.

    Args:
        spec: The run.
        log: Its log: a line per seed and window. Half a line at its end is left out, and a
            record that not all seeds have yet.

    Raises:
        PaperError: Another line is damaged.
    """
    by_rows: dict[int, dict[int, Mapping[str, Any]]] = {}
    for line in _lines(log):
        by_rows.setdefault(line["rows"], {})[line["seed"]] = line
    records: list[Record] = []
    for rows, found in sorted(by_rows.items()):
        lines = [found.get(seed) for seed in spec.seeds]
        whole = [line for line in lines if line is not None]
        if len(whole) < len(lines) or rows * spec.action_repeat % spec.chunk:
            continue
        records.append(_record(spec, rows, whole, records[-1].progress if records else 0))
    return records


def _record(spec: RunSpec, rows: int, lines: list[Mapping[str, Any]], before: int) -> Record:
    if spec.metric == "training":
        values = [line["episode/return"] for line in lines]
        episodes = [int(line["episode/count"]) for line in lines]
        lengths = [line["episode/length"] for line in lines]
    else:
        values = [line["eval/return"] for line in lines]
        episodes = [len(line["eval/returns"]) for line in lines]
        lengths = [line["eval/length"] for line in lines]
    return Record(
        env_steps=rows * spec.action_repeat,
        progress=rows,
        updates=int(lines[0]["updates"]),
        values=values,
        episodes=episodes,
        lengths=lengths,
        seconds=round((rows - before) / lines[0]["time/rows_per_second"], 3),
    )


def _lines(log: Path) -> Iterator[dict[str, Any]]:
    if not log.exists():
        return
    for number, line in enumerate(log.read_bytes().split(b"\n")[:-1], 1):
        try:
            yield json.loads(line)
        except ValueError as error:
            raise PaperError(
                f"{log} is damaged in line {number} ({error}); resuming the run repairs it"
            ) from error
