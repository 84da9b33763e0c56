"""D6: what a checkpoint holds."""

from __future__ import annotations

import numpy as np

from deviations.d3 import HEAD
from parity.agreements.dreamerv3.entries import PINS
from parity.agreements.dreamerv3.runs import RESUMED, interrupted, resumed
from parity.claims import Equals, Measurement, Stated
from parity.comparisons import Measure
from parity.implementations import Implementation
from parity.operations import Inputs
from parity.registry import Claim, Entry, Source

RESTORED = "dreamerv3.restored_components"


def _interrupted(rng: np.random.Generator) -> Inputs:
    """Updates so rare that the queue grows, and an interruption between two of them."""
    del rng
    sizes = {"envs": 2, "batch": 2, "length": 2, "train_ratio": 0.5}
    return {**sizes, "ticks": 45, "interrupted_at": 20}


def _kept(*names: str) -> Measure:
    """How many of these components the reference finds again."""

    def measure(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
        del subject
        answer = reference(RESTORED, **inputs)
        kept = [name for name in names if answer[name]]
        note = f"kept: {', '.join(kept)}" if kept else "none is kept"
        # Whoever keeps nothing, or all there is, has saved nothing or read nothing else.
        count = float(len(kept)) if len({bool(x) for x in answer.values()}) == 2 else np.nan
        return Measurement(count, count, len(names), inputs, note)

    return measure


CLAIMS = (
    Claim(
        "reference-kept",
        "A checkpoint of the reference holds the optimizer's and the normaliser's state.",
        Equals(2, "of 2 components"),
        "What is restored is what was saved, or it is not.",
        (RESTORED,),
        _interrupted,
        _kept("optimiser", "normaliser"),
        about="reference",
        stated=Stated("Optimizer and normaliser state are checkpointed", 2, 2),
    ),
    Claim(
        "reference-lost",
        "It does not hold the Ratio's state, the online queue, or the replay's random numbers.",
        Equals(0, "of 3 components"),
        "What is restored is what was saved, or it is not.",
        (RESTORED,),
        _interrupted,
        _kept("schedule", "queue", "sampler"),
        about="reference",
        stated=Stated("the Ratio state, the online queue and the replay RNG are not", 0, 0),
    ),
    Claim(
        "core",
        "A run of the core that is resumed from its checkpoint is the uninterrupted one in every "
        "component, bit by bit.",
        Equals(0, "components"),
        "The same program on the same state: nothing is rounded differently.",
        (RESUMED,),
        interrupted,
        resumed,
        about="subject",
        core_only=True,
        stated=Stated("Everything is checkpointed", 0, 0),
    ),
)

ROW = Entry(
    id="D6",
    agent="DreamerV3",
    kind="deviation",
    title="Contents of a checkpoint",
    reference=(
        "Optimizer and normaliser state are checkpointed; the Ratio state, the online queue and "
        "the replay RNG are not."
    ),
    subject="Everything is checkpointed.",
    consequence="Resume fidelity.",
    sources=(
        Source("dreamerv3-29eb964", "embodied/core/checkpoint.py", "60-65"),
        Source("dreamerv3-29eb964", "embodied/run/train.py", "94-97"),
        Source("dreamerv3-29eb964", "dreamerv3/jaxagent.py", "241-243"),
        Source("dreamerv3-29eb964", "embodied/replay/replay.py", "320-334"),
        Source("dreamerv3-2411f7d", "embodied/core/checkpoint.py", "60-65"),
        Source("dreamerv3-2411f7d", "embodied/run/train.py", "93-96"),
        Source("dreamerv3-2411f7d", "dreamerv3/jaxagent.py", "235-237"),
        Source("dreamerv3-2411f7d", "embodied/replay/replay.py", "320-334"),
        Source("dreamerv3-e3f0224", "embodied/run/train.py", "83-86"),
        Source("dreamerv3-e3f0224", "embodied/jax/agent.py", "340-353"),
        Source("dreamerv3-e3f0224", "embodied/core/replay.py", "295-309"),
    ),
    pins=(*PINS, HEAD),
    claims=CLAIMS,
)
