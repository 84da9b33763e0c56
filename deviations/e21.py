"""E21: what golden checksums guard."""

from __future__ import annotations

import dataclasses

import numpy as np

from parity.claims import Equals, Measurement, Stated, measure_bits
from parity.implementations import Implementation
from parity.operations import Inputs
from parity.registry import Claim, Entry

REPEATED = "dreamerv3.repeated_run"


def _on(platform: str):
    def draw(rng: np.random.Generator) -> Inputs:
        del rng
        return {"seed": 3, "ticks": 40, "platform": platform}

    return draw


def _apart(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    """Components of a run's state that differ when the run is compiled and run once more.

    Every component must differ in the run of another seed: a digest that is always the same
    would pass otherwise.
    """
    del reference
    one, again = (subject(REPEATED, **inputs) for _ in range(2))
    other = subject(
        REPEATED, **{**inputs, "seed": inputs["seed"] + 1, "ticks": inputs["ticks"] - 1}
    )
    changed = [name for name in one if measure_bits(one[name], again[name], {}).high]
    idle = [name for name in one if not measure_bits(one[name], other[name], {}).high]
    note = f"changed: {', '.join(changed)}" if changed else ""
    note += f"; the same in another run: {', '.join(idle)}" if idle else ""
    wrong = float(len(changed) + len(idle))
    return Measurement(wrong, wrong, len(one), inputs, note.removeprefix("; "))


_CPU = Claim(
    "cpu",
    "On a CPU, a training run of the core that is compiled and run twice comes to the same state "
    "twice, bit by bit. (A small stand-in takes the place of the networks.)",
    Equals(0, "components"),
    "The same program on the same machine: XLA's CPU backend sums in a fixed order.",
    (REPEATED,),
    _on("cpu"),
    _apart,
    about="subject",
    core_only=True,
    stated=Stated("regression guards on a CPU", 0, 0),
)

ROW = Entry(
    id="E21",
    agent="both",
    kind="deviation",
    title="Golden checksums",
    reference="— (no counterpart).",
    subject="Golden checksums are CPU-only regression guards.",
    consequence="GPU nondeterminism (TF32, scatter-add order).",
    claims=(
        _CPU,
        dataclasses.replace(
            _CPU,
            id="gpu",
            statement="On a GPU it does, too.",
            reason="Nothing is known: scatter-adds may take any order there. Whether it holds says "
            "whether checksums could guard runs on a GPU.",
            cases=_on("gpu"),
            stated=Stated("GPU nondeterminism", 1),
        ),
    ),
)
