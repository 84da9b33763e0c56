"""T12: what a checkpoint holds."""

from __future__ import annotations

import numpy as np

from parity.claims import Equals, Measurement, Stated
from parity.comparisons import Measure
from parity.implementations import Implementation
from parity.operations import Inputs
from parity.registry import Claim, Entry, Source

RESTORED = "tdmpc2.restored_components"
_NETWORKS = ("networks", "target_q")
_LOST = ("model_optimizer", "policy_optimizer", "scale")


def _one_seed(rng: np.random.Generator) -> Inputs:
    return {"seed": int(rng.integers(1000))}


def _kept(side: str, *names: str) -> Measure:
    """How many of these components one side finds again, if it had none before.

    Whoever does not find the networks again has read nothing.
    """

    def measure(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
        answer = (reference if side == "reference" else subject)(RESTORED, **inputs)
        kept = [name for name in names if answer[name]]
        note = f"kept: {', '.join(kept)}" if kept else "none is kept"
        read = answer["networks"] and not answer["before"]
        count = float(len(kept)) if read else np.nan
        return Measurement(count, count, len(names), inputs, note)

    return measure


_REASON = "What is restored is what was saved, or it is not."

CLAIMS = (
    Claim(
        "reference-kept",
        "A checkpoint of the reference holds the parameters of all networks, those of the targets "
        "among them.",
        Equals(2, "of 2 components"),
        _REASON,
        (RESTORED,),
        _one_seed,
        _kept("reference", *_NETWORKS),
        about="reference",
    ),
    Claim(
        "reference-lost",
        "It holds neither optimiser's Adam state, nor the running scale.",
        Equals(0, "of 3 components"),
        _REASON,
        (RESTORED,),
        _one_seed,
        _kept("reference", *_LOST),
        about="reference",
        stated=Stated("Adam state and RunningScale are not checkpointed", 0, 0),
    ),
    Claim(
        "reference-run",
        "Nor anything of the run.",
        Equals(0, "of 1 component"),
        _REASON,
        (RESTORED,),
        _one_seed,
        _kept("reference", "rest"),
        about="reference",
    ),
    Claim(
        "core",
        "A checkpoint of the core holds all of these, bit by bit.",
        Equals(6, "of 6 components"),
        _REASON,
        (RESTORED,),
        _one_seed,
        _kept("subject", *_NETWORKS, *_LOST, "rest"),
        about="subject",
        core_only=True,
        stated=Stated("Checkpointed", 6, 6),
    ),
)

ROW = Entry(
    id="T12",
    agent="TD-MPC2",
    kind="deviation",
    title="Contents of a checkpoint",
    reference="Adam state and RunningScale are not checkpointed.",
    subject="Checkpointed.",
    consequence="Resume fidelity.",
    sources=(
        Source("tdmpc2-b67b21c", "tdmpc2/tdmpc2.py", "50-57"),
        Source("tdmpc2-5f6fade", "tdmpc2/tdmpc2.py", "51-58"),
        Source("tdmpc2-eece801", "tdmpc2/tdmpc2.py", "73-80"),
        Source("tdmpc2-e9f5932", "tdmpc2/tdmpc2.py", "72-79"),
    ),
    pins=("tdmpc2-b67b21c", "tdmpc2-5f6fade", "tdmpc2-eece801", "tdmpc2-e9f5932"),
    claims=CLAIMS,
)
