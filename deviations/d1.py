"""D1: how stale the acting parameters and the batches are."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from deviations.d3 import ENVS, EVENTS, FIRST, FIRST_AT_HEAD, HEAD, protocol
from parity.agreements.dreamerv3.entries import PINS
from parity.claims import Equals, Measurement, Stated
from parity.comparisons import Measure
from parity.operations import Answer
from parity.registry import Claim, Entry, Source

PER_STEP = 8  # updates of a vector step
_FIRST_SEQUENCE = 64 * ENVS + 1  # the row that completes it


def _parameters(answer: Answer) -> np.ndarray:
    """Updates by which the acting parameters are old, once updates run at every tick."""
    behind = answer["updates"] - answer["acted_with"]
    running = np.flatnonzero(answer["updates"] >= 2 * PER_STEP)
    return behind[running]


def _batches(answer: Answer) -> np.ndarray:
    """Updates that run between the drawing of a batch and its use, the first two aside."""
    return (np.arange(len(answer["drawn_after"])) - answer["drawn_after"])[2:]


def _results(answer: Answer) -> np.ndarray:
    """Updates by which latents and metrics come late."""
    number = np.arange(len(answer["written"]))
    return np.concatenate([number - answer["written"], number - answer["measured"]])


def _of(side: str, values: Callable[[Answer], np.ndarray], scale: float = 1) -> Measure:
    """The range of some figures of one side's run."""

    def measure(subject, reference, inputs) -> Measurement:
        answer = (reference if side == "reference" else subject)(EVENTS, **inputs)
        found = values(answer) / scale
        low, high = (float(found.min()), float(found.max())) if found.size else (np.nan, np.nan)
        return Measurement(low, high, found.size, inputs)

    return measure


def _early(subject, reference, inputs) -> Measurement:
    """Rows by which the first batch is drawn before the gate opens."""
    del subject
    answer = reference(EVENTS, **inputs)
    first, gate = int(answer["drawn_rows"][0]), int(answer["rows"][0])
    note = f"drawn with row {first:,}, the gate at {gate:,}"
    return Measurement(float(gate - first), float(gate - first), 1, inputs, note)


_COUNTED = "Updates are counted by a parameter that stands in the place of the networks."

CLAIMS = (
    Claim(
        "reference-acting",
        "In the steady state the reference acts with parameters that are exactly two vector steps "
        "old: 16 updates.",
        Equals(2, "vector steps"),
        _COUNTED,
        (EVENTS,),
        protocol,
        _of("reference", _parameters, PER_STEP),
        about="reference",
        stated=Stated("≈ 2 driver iterations", 2, 2),
    ),
    Claim(
        "reference-prefetch",
        "It prefetches two batches: each is drawn before the two updates that precede its own. "
        "(One waits in a queue of length one, and one in the hands of the thread that fills it.)",
        Equals(2, "updates"),
        _COUNTED,
        (EVENTS,),
        protocol,
        _of("reference", _batches),
        about="reference",
        pins=PINS,
        stated=Stated("one batch is prefetched", 1, 1),
    ),
    Claim(
        "reference-prefetch-head",
        "At e3f0224 it is one batch: a semaphore stops the thread before it draws another.",
        Equals(1, "updates"),
        _COUNTED,
        (EVENTS,),
        protocol,
        _of("reference", _batches),
        about="reference",
        pins=(HEAD,),
        stated=Stated("one batch is prefetched", 1, 1),
    ),
    Claim(
        "reference-late",
        "Its latents reach the replay, and its metrics the log, one update late.",
        Equals(1, "updates"),
        _COUNTED,
        (EVENTS,),
        protocol,
        _of("reference", _results),
        about="reference",
        stated=Stated("one train call late", 1, 1),
    ),
    Claim(
        "reference-first",
        "Its first two batches are drawn as soon as there is one sequence, 15 rows before the gate "
        "opens: all their sequences are the same one.",
        Equals(FIRST - _FIRST_SEQUENCE, "rows"),
        "The first sequence of 65 rows is complete with row 1,025; the gate opens with row 1,040.",
        (EVENTS,),
        protocol,
        _early,
        about="reference",
        pins=PINS,
        stated=Stated("prefetched before the gate", 1, FIRST),
    ),
    Claim(
        "reference-first-head",
        "At e3f0224 the first batch is drawn as soon, and 1,023 rows before the gate opens.",
        Equals(FIRST_AT_HEAD - _FIRST_SEQUENCE, "rows"),
        "The first sequence of 65 rows is complete with row 1,025; the gate opens with row 2,048.",
        (EVENTS,),
        protocol,
        _early,
        about="reference",
        pins=(HEAD,),
        stated=Stated("prefetched before the gate", 1, FIRST),
    ),
    Claim(
        "core-acting",
        "The core acts with the parameters of its last update.",
        Equals(0, "updates"),
        _COUNTED,
        (EVENTS,),
        protocol,
        _of("subject", _parameters),
        about="subject",
        core_only=True,
        stated=Stated("synchronous", 0, 0),
    ),
    Claim(
        "core-batches",
        "It draws every batch after the update before.",
        Equals(0, "updates"),
        _COUNTED,
        (EVENTS,),
        protocol,
        _of("subject", _batches),
        about="subject",
        core_only=True,
        stated=Stated("synchronous", 0, 0),
    ),
    Claim(
        "core-results",
        "Latents and metrics of an update are in place before the next one.",
        Equals(0, "updates"),
        _COUNTED,
        (EVENTS,),
        protocol,
        _of("subject", _results),
        about="subject",
        core_only=True,
        stated=Stated("synchronous", 0, 0),
    ),
)

ROW = Entry(
    id="D1",
    agent="DreamerV3",
    kind="deviation",
    title="Asynchronous against synchronous training",
    reference=(
        "Asynchronous: acting parameters ≈ 2 driver iterations stale; one batch is prefetched; "
        "write-back and metrics arrive one train call late; the first batch is prefetched before "
        "the gate. At e3f0224 the same."
    ),
    subject="Synchronous.",
    consequence="Infrastructure, not algorithmic.",
    sources=(
        Source("dreamerv3-29eb964", "dreamerv3/jaxagent.py", "147-153"),
        Source("dreamerv3-29eb964", "dreamerv3/jaxagent.py", "177-202"),
        Source("dreamerv3-29eb964", "embodied/core/prefetch.py", "9-41"),
        Source("dreamerv3-2411f7d", "dreamerv3/jaxagent.py", "141-147"),
        Source("dreamerv3-2411f7d", "dreamerv3/jaxagent.py", "171-196"),
        Source("dreamerv3-2411f7d", "embodied/core/prefetch.py", "9-41"),
        Source("dreamerv3-e3f0224", "embodied/jax/agent.py", "241-247"),
        Source("dreamerv3-e3f0224", "embodied/jax/agent.py", "278-294"),
        Source("dreamerv3-e3f0224", "embodied/core/streams.py", "32-80"),
    ),
    pins=(*PINS, HEAD),
    claims=CLAIMS,
)
