"""T11: where the seed phase takes its actions from."""

from __future__ import annotations

import numpy as np

from parity.claims import Equals, Measurement, Stated
from parity.comparisons import Measure
from parity.implementations import Implementation
from parity.operations import Inputs
from parity.registry import Claim, Entry, Source

SEED_PHASE = "tdmpc2.repeated_seed_phase"
STEPS, ACTIONS = 8, 3
NUMBERS = STEPS * ACTIONS


def _runs(rng: np.random.Generator) -> Inputs:
    return {"seed": int(rng.integers(1000)), "steps": STEPS, "actions": ACTIONS}


def _of(side: str, figure: str, *controls: str) -> Measure:
    """A count of one side, if its actions are actions and each of the controls is met."""

    def measure(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
        answer = (reference if side == "reference" else subject)(SEED_PHASE, **inputs)
        sound = not answer["outside"] and all(answer[name] == 1 for name in controls)
        count = float(answer[figure]) if sound else np.nan
        return Measurement(count, count, NUMBERS, inputs)

    return measure


def _repeated(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    """Numbers that the core's second run repeats, if one of another seed has none of them."""
    del reference
    answer = subject(SEED_PHASE, **inputs)
    sound = not answer["outside"] and not answer["other"]
    count = float(answer["repeated"]) if sound else np.nan
    return Measurement(count, count, NUMBERS, inputs)


_BITS = "A number has the same bits or it has not; two draws of 23 bits agree once in 2^23."

CLAIMS = (
    Claim(
        "reference",
        "Of the random actions of the reference's seed phase, a second run from the same seed "
        "repeats none.",
        Equals(0, f"of {NUMBERS} numbers"),
        f"{_BITS} The generator of the space is not among those that are seeded, and takes its "
        "seed from the operating system.",
        (SEED_PHASE,),
        _runs,
        _of("reference", "repeated", "parameters", "changed"),
        about="reference",
        stated=Stated("Seed-phase actions unseeded", 0, 0),
    ),
    Claim(
        "reference-parameters",
        "The same two runs begin with the same parameters, and one from another seed with others: "
        "the rest of the reference is seeded.",
        Equals(1, "of 1 run"),
        "The parameters have the same bits or they have not.",
        (SEED_PHASE,),
        _runs,
        _of("reference", "parameters", "changed"),
        about="reference",
    ),
    Claim(
        "core",
        "A second run of the core from the same seed repeats every one, and a run from another "
        "seed repeats none.",
        Equals(NUMBERS, f"of {NUMBERS} numbers"),
        _BITS,
        (SEED_PHASE,),
        _runs,
        _repeated,
        about="subject",
        stated=Stated("Seeded", NUMBERS, NUMBERS),
    ),
)

ROW = Entry(
    id="T11",
    agent="TD-MPC2",
    kind="deviation",
    title="Seed of the seed-phase actions",
    reference="Seed-phase actions are unseeded (the RNG of the gym space).",
    subject="Seeded.",
    consequence="Reproducibility.",
    sources=(
        Source("tdmpc2-b67b21c", "tdmpc2/envs/wrappers/tensor.py", "16-17"),
        Source("tdmpc2-5f6fade", "tdmpc2/envs/wrappers/tensor.py", "16-17"),
        Source("tdmpc2-eece801", "tdmpc2/envs/wrappers/tensor.py", "16-17"),
        Source("tdmpc2-e9f5932", "tdmpc2/envs/wrappers/tensor.py", "16-17"),
        Source("tdmpc2-b67b21c", "tdmpc2/common/seed.py", "7-12"),
        Source("tdmpc2-5f6fade", "tdmpc2/common/seed.py", "7-12"),
        Source("tdmpc2-eece801", "tdmpc2/common/seed.py", "7-12"),
        Source("tdmpc2-e9f5932", "tdmpc2/common/seed.py", "7-12"),
    ),
    pins=("tdmpc2-b67b21c", "tdmpc2-5f6fade", "tdmpc2-eece801", "tdmpc2-e9f5932"),
    status="reference bug",
    claims=CLAIMS,
)
