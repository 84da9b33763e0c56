"""D2: what the replay sampler and the report stream draw from."""

from __future__ import annotations

import numpy as np

from deviations.d3 import HEAD
from parity.agreements.dreamerv3.entries import PINS
from parity.claims import AtLeast, Equals, Measurement, Stated
from parity.implementations import Implementation
from parity.operations import Answer, Inputs
from parity.registry import Claim, Entry, Source

EVENTS = "dreamerv3.run_events"
REPORTS = "dreamerv3.report_stream"
NORMALISER = "dreamerv3.report_normaliser"

SEEDS = (0, 1)


def _two_seeds(rng: np.random.Generator) -> Inputs:
    """Two runs that differ in their seeds alone, with an update per row."""
    del rng
    sizes = {"envs": 2, "batch": 3, "length": 4, "train_ratio": 12.0, "ticks": 40}
    return {"variants": [{"seed": seed, **sizes} for seed in SEEDS]}


def _reported(rng: np.random.Generator) -> Inputs:
    """1,000 s in which more new sequences arrive than the updates take."""
    del rng
    sizes = {"envs": 10, "batch": 3, "length": 4, "train_ratio": 0.3}
    return {**sizes, "ticks": 100, "seconds": 10.0}


def _emptied(rng: np.random.Generator) -> Inputs:
    """A run whose updates take the new sequences at once."""
    return {**_reported(rng), "train_ratio": 12.0}


def _draws(answer: Answer) -> np.ndarray:
    """[n, 2] environment and start of every sequence that is not from the queue."""
    drawn = np.stack([answer["environment"], answer["start"]], -1)
    return drawn[~answer["online"]]


def _apart(side: Implementation, inputs: Inputs) -> tuple[int, int]:
    """Sequences that differ between the runs of two seeds, of how many."""
    one, other = (_draws(side(EVENTS, **variant)) for variant in inputs["variants"])
    shared = min(len(one), len(other))
    differing = (one[:shared] != other[:shared]).any(-1).sum()
    return int(differing) + abs(len(one) - len(other)), max(len(one), len(other))


def _same_draws(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    del subject
    differing, drawn = _apart(reference, inputs)
    same = len(np.unique(_draws(reference(EVENTS, **inputs["variants"][0])), axis=0)) < 2
    found = np.nan if same else float(differing)
    return Measurement(found, found, drawn, inputs)


def _own_draws(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    """The share of the core's uniform draws that the seed changes."""
    del reference
    differing, drawn = _apart(subject, inputs)
    share = differing / max(drawn, 1)
    return Measurement(share, share, drawn, inputs)


def _seed_zero(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    """Draws of the reference that are not those of a numpy generator with seed 0."""
    del subject
    wrong = compared = 0
    for variant in inputs["variants"]:
        answer, rng = reference(EVENTS, **variant), np.random.default_rng(0)
        items = answer["drawn_rows"] - variant["envs"] * variant["length"]
        # Items are numbered as their last row arrives: environment 0 first.
        for count, online, environment, start in zip(
            items, answer["online"], answer["environment"], answer["start"], strict=True
        ):
            for n, t in zip(environment[~online], start[~online], strict=True):
                index = int(rng.integers(0, count))
                wrong += (index % variant["envs"], index // variant["envs"]) != (n, t)
                compared += 1
    return Measurement(float(wrong), float(wrong), compared, inputs)


def _period(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    """Seconds from one report of the reference to the next."""
    del subject
    at = reference(REPORTS, **inputs)["reported_at"]
    apart = np.diff(at, prepend=0.0)
    return Measurement(float(apart.min()), float(apart.max()), len(at), inputs)


def _entered(inputs: Inputs) -> int:
    """Sequences that have entered the queue of new rows; the first begins with row 1 (D27)."""
    return inputs["envs"] * ((inputs["ticks"] - 1) // (inputs["length"] + 1))


def _popped(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    """New sequences that each report of the reference took, and that no update saw as such."""
    del subject
    answer = reference(REPORTS, **inputs)
    lost = _entered(inputs) - int(answer["trained"]) - int(answer["waiting"])
    note = f"{lost} of {_entered(inputs)} never trained on as new"
    taken = answer["taken"]
    if int(taken.sum()) != lost:
        return Measurement(np.nan, np.nan, len(taken), inputs, f"{note}, {taken.sum()} popped")
    return Measurement(float(taken.min()), float(taken.max()), len(taken), inputs, note)


def _left(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    """New sequences that the core has not trained on."""
    del reference
    answer = subject(REPORTS, **inputs)
    left = float(_entered(inputs) - int(answer["trained"]))
    return Measurement(left, left, _entered(inputs), inputs)


def _moved(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    """Percentiles that a report changes; an update, as a control, must change both."""
    del subject
    answer = reference(NORMALISER, **inputs)
    before = np.asarray([inputs["low"], inputs["high"]], np.float32)
    moved = float(np.count_nonzero(answer["reported"] != before))
    idle = np.count_nonzero(answer["trained"] == before)
    note = "an update changes both" if not idle else f"an update leaves {idle} as they are"
    return Measurement(moved, moved if not idle else np.nan, 2, inputs, note)


CLAIMS = (
    Claim(
        "reference-seeds",
        "Two runs of the reference with different seeds are trained on the same sequences.",
        Equals(0, "sequences that differ"),
        "Draws from one generator in one order.",
        (EVENTS,),
        _two_seeds,
        _same_draws,
        about="reference",
        stated=Stated("the sampler's RNG is fixed", 0, 0),
    ),
    Claim(
        "reference-seed-0",
        "They are those that a numpy generator with seed 0 draws.",
        Equals(0, "sequences that differ"),
        "Draws from one generator in one order.",
        (EVENTS,),
        _two_seeds,
        _seed_zero,
        about="reference",
        stated=Stated("fixed to seed 0", 0, 0),
    ),
    Claim(
        "core-seeds",
        "With another seed the core draws other sequences.",
        AtLeast(0.85, "of the uniform draws"),
        "Two independent draws from n sequences are equal once in n; n grows from 4 to 72 here, "
        "and the mean of 1/n over the draws is 0.05.",
        (EVENTS,),
        _two_seeds,
        _own_draws,
        about="subject",
        core_only=True,
    ),
    Claim(
        "report-period",
        "The reference makes a report every 180 seconds of the clock.",
        Equals(180, "s"),
        "The clock that the loop reads goes on by 10 s with every vector step.",
        (REPORTS,),
        _reported,
        _period,
        about="reference",
        pins=PINS,
        stated=Stated("every 180 s of wall-clock", 180, 180),
    ),
    Claim(
        "report-period-head",
        "At e3f0224 it makes one every 300 seconds.",
        Equals(300, "s"),
        "The clock that the loop reads goes on by 10 s with every vector step.",
        (REPORTS,),
        _reported,
        _period,
        about="reference",
        pins=(HEAD,),
        stated=Stated("every 180 s of wall-clock", 180, 180),
    ),
    Claim(
        "report-pops",
        "Each takes a whole batch of new sequences out of the queue, which no update will see as "
        "new. (Its prefetcher, left out here, takes two more at the start.)",
        Equals(3, "sequences per report"),
        "A batch is 3 sequences here, and more than 3 wait.",
        (REPORTS,),
        _reported,
        _popped,
        about="reference",
        pins=PINS,
        stated=Stated("pops the online queue", 1, 3),
    ),
    Claim(
        "report-pops-head",
        "At e3f0224 a report takes none: the queue is for training alone.",
        Equals(0, "sequences per report"),
        "A batch is 3 sequences here, and more than 3 wait.",
        (REPORTS,),
        _reported,
        _popped,
        about="reference",
        pins=(HEAD,),
        stated=Stated("pops the online queue", 1, 3),
    ),
    Claim(
        "report-normaliser",
        "A report leaves the return normaliser as it is.",
        Equals(0, "of 2 percentiles changed"),
        "What is not written keeps its bits. All returns are 0 here, and the percentiles are not, "
        "so that a loss pass which updates them changes both.",
        (NORMALISER,),
        lambda rng: {"low": -0.5, "high": 2.5},
        _moved,
        about="reference",
        pins=PINS,
        stated=Stated("reads the return normaliser without updating it", 0, 0),
    ),
    Claim(
        "core-queue",
        "The core trains on every sequence of new rows as such: nothing else takes them.",
        Equals(0, "new sequences not trained on"),
        "Sequences are counted; the updates are frequent enough to take all of them.",
        (REPORTS,),
        _emptied,
        _left,
        about="subject",
        core_only=True,
        stated=Stated("no report stream", 0, 0),
    ),
)

ROW = Entry(
    id="D2",
    agent="DreamerV3",
    kind="deviation",
    title="Seed of the replay sampler; report stream",
    reference=(
        "The replay sampler's RNG is fixed to seed 0. The report stream pops the online queue "
        "every 180 s of wall-clock, and its loss pass reads the return normaliser without updating "
        "it (agent.py:410). At e3f0224 the seed is fixed as well, and reports no longer "
        "take anything from the queue."
    ),
    subject="Seeded from the run's seed. No report stream, so no loss pass that does not update.",
    consequence="Infrastructure.",
    sources=(
        Source("dreamerv3-29eb964", "embodied/replay/selectors.py", "27-36"),
        Source("dreamerv3-29eb964", "embodied/replay/replay.py", "17-27"),
        Source("dreamerv3-29eb964", "dreamerv3/main.py", "174-188"),
        Source("dreamerv3-29eb964", "dreamerv3/agent.py", "401-411"),
        Source("dreamerv3-29eb964", "embodied/run/train.py", "111-113"),
        Source("dreamerv3-29eb964", "dreamerv3/configs.yaml", "49"),
        Source("dreamerv3-2411f7d", "embodied/replay/selectors.py", "27-36"),
        Source("dreamerv3-2411f7d", "embodied/replay/replay.py", "17-27"),
        Source("dreamerv3-2411f7d", "dreamerv3/main.py", "148-161"),
        Source("dreamerv3-2411f7d", "dreamerv3/agent.py", "422-433"),
        Source("dreamerv3-2411f7d", "embodied/run/train.py", "110-111"),
        Source("dreamerv3-2411f7d", "dreamerv3/configs.yaml", "49"),
        Source("dreamerv3-e3f0224", "embodied/core/selectors.py", "29-35"),
        Source("dreamerv3-e3f0224", "embodied/core/replay.py", "158-160"),
        Source("dreamerv3-e3f0224", "dreamerv3/configs.yaml", "53"),
    ),
    pins=(*PINS, HEAD),
    status="reference bug",
    claims=CLAIMS,
)
