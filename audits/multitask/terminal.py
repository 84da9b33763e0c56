"""What `audit multitask` prints."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from audits.multitask import offline, pooling
from audits.multitask.protocol import DATASET, OFFLINE
from audits.multitask.sources import SourceState
from audits.paper.errors import PaperError
from audits.paper.estimate import Memory
from audits.paper.files import RUN
from audits.paper.terminal import make_table, show


def show_sources(found: Sequence[SourceState]) -> None:
    """The sources, one line each, and how many there are."""
    table = make_table(
        source="left", episodes="right", final_return="right", digest="left", state="left"
    )
    for state in found:
        record = state.record
        if record is None:
            why = f"off protocol: {state.why}" if state.off_protocol else state.why
            table.add_row(state.run, "–", "–", "–", why)
        else:
            table.add_row(
                state.run,
                f"{record.count:,}",
                f"{record.mean:,.1f}",
                record.digest[:12],
                "finished",
            )
    show(table)
    finished = sum(state.record is not None for state in found)
    print(f"{finished} of {len(found)} can be pooled")


def show_stages(out: Path) -> None:
    """How far the dataset and the run on it are, a line each."""
    try:
        about = pooling.read_about(out)
        print(f"{DATASET}: {about.rows:,} rows of {len(about.tasks)} tasks, {about.digest[:12]}")
    except PaperError as error:
        print(f"{DATASET}: {error}")
        return
    if not (out / OFFLINE / RUN).exists():
        print(f"{OFFLINE}: not started")
        return
    try:
        run = offline.read_offline(out)
    except PaperError as error:
        print(f"{OFFLINE}: {error}")
        return
    reached = run.records[-1].updates if run.records else 0
    state = "finished" if run.finished else f"{reached / run.spec.budget:.0%}"
    print(f"{OFFLINE}: {reached:,} of {run.spec.budget:,} updates, {state}")


def show_dataset_size(memory: Memory) -> None:
    """What the dataset takes, of the estimate of the run on it."""
    print(
        f"{DATASET}: {memory.constant / 1e9:.3g} GB on disk and device; pooling takes up to "
        f"{2 * memory.constant / 1e9:.3g} GB of memory"
    )
