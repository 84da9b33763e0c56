"""From the log of a run of the core to the records of the protocol."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
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
    records: list[Record] = []
    for rows, lines in chunks(log, spec.seeds, spec.progress(spec.chunk)):
        records.append(_record(spec, rows, lines, records[-1].progress if records else 0))
    return records


def chunks(
    log: Path, seeds: Sequence[int], every: int
) -> Iterator[tuple[int, list[Mapping[str, Any]]]]:
    """The chunks that all seeds have logged: rows, and the line of every seed.

    Args:
        log: Of a run of the core's.
        seeds: Of the run.
        every: Rows of a chunk.

    Raises:
        PaperError: A line is damaged that is not half a line at the end.
    """
    by_rows: dict[int, dict[int, Mapping[str, Any]]] = {}
    for line in _lines(log):
        by_rows.setdefault(line["rows"], {})[line["seed"]] = line
    for rows, found in sorted(by_rows.items()):
        if rows % every == 0 and all(seed in found for seed in seeds):
            yield rows, [found[seed] for seed in seeds]


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
            yield _figures(line)
        except ValueError as error:
            raise PaperError(
                f"{log} is damaged in line {number} ({error}); resuming the run repairs it"
            ) from error


def _figures(line: bytes) -> dict[str, Any]:
    found = json.loads(line)
    if not isinstance(found, dict):
        raise ValueError("it holds no object")
    for key in ("rows", "seed"):
        if type(found.get(key)) is not int:
            raise ValueError(f"{key} is {found.get(key)!r}")
    return found
