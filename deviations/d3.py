"""D3: where in a vector step the updates run."""

from __future__ import annotations

import numpy as np

from parity.agreements.dreamerv3.entries import PINS
from parity.claims import Equals, Measurement, Stated, Within
from parity.comparisons import Measure
from parity.implementations import Implementation
from parity.operations import Inputs
from parity.registry import Claim, Entry, Source

EVENTS = "dreamerv3.run_events"
FIRST = 1040  # where the gate opens with 16 environments and batches of 16 × 65 rows
ENVS = 16

HEAD = "dreamerv3-e3f0224"
FIRST_AT_HEAD = 2048  # there it asks for 16 · 64 sequences, the first of which is row 1,025


def protocol(rng: np.random.Generator) -> Inputs:
    """The protocol's sizes, until six ticks at every pin have had their eight updates."""
    del rng
    sizes = {"envs": ENVS, "batch": 16, "length": 64, "train_ratio": 512.0}
    return {"seed": 0, **sizes, "ticks": 134}


def _elsewhere(first: int) -> Measure:
    """The reference's updates that do not run with row `first`, `first` + 2, ..."""

    def measure(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
        del subject
        rows = reference(EVENTS, **inputs)["rows"]
        wrong = float(np.count_nonzero(rows != first + 2 * np.arange(len(rows))))
        return Measurement(wrong, wrong, len(rows), inputs, f"rows {rows[0]:,} to {rows[-1]:,}")

    return measure


def _within(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    """Updates of the reference before the last row of a vector step, by step."""
    del subject
    rows = reference(EVENTS, **inputs)["rows"]
    whole = rows[rows > rows[0]]  # the first update completes its tick
    early = np.bincount((whole - 1) // ENVS, whole % ENVS != 0)
    counts = early[(rows[0] // ENVS) :]
    return Measurement(float(counts.min()), float(counts.max()), len(counts), inputs)


def _other_tick(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    """Updates of the core that do not run when the reference's tick is complete."""
    theirs, ours = (side(EVENTS, **inputs)["rows"] for side in (reference, subject))
    shared = min(len(theirs), len(ours))
    complete = -(-theirs[:shared] // ENVS) * ENVS
    wrong = float(np.count_nonzero(ours[:shared] != complete) + abs(len(theirs) - len(ours)))
    return Measurement(wrong, wrong, len(theirs), inputs)


def _lead(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    """Rows that an update of the core can draw from beyond the reference's."""
    theirs, ours = (side(EVENTS, **inputs)["rows"] for side in (reference, subject))
    if len(theirs) != len(ours):
        return Measurement(np.nan, np.nan, len(theirs), inputs)
    lead = ours - theirs
    return Measurement(float(lead.min()), float(lead.max()), len(theirs), inputs)


def _rate(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    """Ticks after which the two have made different numbers of updates."""
    ends = ENVS * (1 + np.arange(inputs["ticks"]))
    theirs, ours = (
        np.searchsorted(side(EVENTS, **inputs)["rows"], ends, "right")
        for side in (reference, subject)
    )
    wrong = float(np.count_nonzero(theirs != ours))
    return Measurement(wrong, wrong, len(ends), inputs, f"{theirs[-1]} updates in all")


CLAIMS = (
    Claim(
        "reference",
        "With 16 environments and half an update per row, the reference's updates run with rows "
        "1,040, 1,042, 1,044, ...: after every second environment's row.",
        Equals(0, "updates elsewhere"),
        "Rows and updates are counted.",
        (EVENTS,),
        protocol,
        _elsewhere(FIRST),
        about="reference",
        pins=PINS,
    ),
    Claim(
        "reference-head",
        "At e3f0224 they run with rows 2,048, 2,050, ...: it waits for as many sequences as a "
        "batch has rows.",
        Equals(0, "updates elsewhere"),
        "Rows and updates are counted.",
        (EVENTS,),
        protocol,
        _elsewhere(FIRST_AT_HEAD),
        about="reference",
        pins=(HEAD,),
    ),
    Claim(
        "reference-within",
        "Of the 8 updates of a vector step, 7 run before its last row is added.",
        Equals(7, "updates of each vector step"),
        "Rows and updates are counted.",
        (EVENTS,),
        protocol,
        _within,
        about="reference",
        stated=Stated("interleaved between the adds", 1, 8),
    ),
    Claim(
        "core",
        "Each update of the core runs when the tick is complete in which the reference runs it.",
        Equals(0, "updates at another place"),
        "Rows and updates are counted, the rows by what the rings hold.",
        (EVENTS,),
        protocol,
        _other_tick,
        pins=PINS,
        core_only=True,
        stated=Stated("after the tick's adds", 0, 0),
    ),
    Claim(
        "lead",
        "So an update of the core draws from at most 15 rows more than the reference's.",
        Within(0, ENVS - 1, "rows"),
        "A tick adds 16 rows, and the reference's update runs with one of them at least.",
        (EVENTS,),
        protocol,
        _lead,
        pins=PINS,
        core_only=True,
    ),
    Claim(
        "rate",
        "After every tick both have made as many updates.",
        Equals(0, "ticks that differ"),
        "Counts are exact, and half an update per row is exact in float64 (row D26).",
        (EVENTS,),
        protocol,
        _rate,
        pins=PINS,
        stated=Stated("the same rate", 0, 0),
    ),
)

ROW = Entry(
    id="D3",
    agent="DreamerV3",
    kind="deviation",
    title="Updates within a vector step",
    reference=(
        "Updates are interleaved between the per-environment adds of one vector step; at e3f0224 "
        "too, behind another gate."
    ),
    subject="Updates run after the tick's adds.",
    consequence="The same rate; only the order within a tick differs.",
    sources=(
        Source("dreamerv3-29eb964", "embodied/run/train.py", "69-72"),
        Source("dreamerv3-29eb964", "embodied/run/train.py", "81-92"),
        Source("dreamerv3-29eb964", "embodied/core/driver.py", "76-78"),
        Source("dreamerv3-2411f7d", "embodied/run/train.py", "69-72"),
        Source("dreamerv3-2411f7d", "embodied/run/train.py", "80-91"),
        Source("dreamerv3-2411f7d", "embodied/core/driver.py", "76-78"),
        Source("dreamerv3-e3f0224", "embodied/run/train.py", "59-62"),
        Source("dreamerv3-e3f0224", "embodied/run/train.py", "70-81"),
        Source("dreamerv3-e3f0224", "embodied/core/driver.py", "78-80"),
    ),
    pins=(*PINS, HEAD),
    claims=CLAIMS,
)
