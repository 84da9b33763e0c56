"""T30: where the Q networks drop units."""

from __future__ import annotations

import numpy as np

from deviations.eras import ALL, LATER, PAPER_ERA, Side, asked
from parity.agreements.tdmpc2.networks import dropout_cases
from parity.claims import Equals, Measurement, Within
from parity.comparisons import Measure
from parity.implementations import Implementation
from parity.operations import Inputs
from parity.registry import Claim, Entry, Source

USES = "tdmpc2.dropout_in_use"


def _scatter(side: Side) -> Measure:
    """How much values scatter in targets and in plans, over what they do in the value loss.

    Nothing, if they scatter at a rate of 0 as well: then it is not the dropout.
    """

    def measure(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
        one = asked(side, subject, reference)
        still, answer = (one(USES, **question) for question in inputs["rates"])
        with np.errstate(divide="ignore", invalid="ignore"):
            found = np.asarray([answer["target"], answer["plan"]]) / answer["loss"]
        if not np.max([*map(float, still.values())]) <= 1e-5 * float(answer["loss"]):
            found = np.full(2, np.nan)
        note = f"in the value loss by {float(answer['loss']):.3g}"
        return Measurement(float(found.min()), float(found.max()), 2, note=note)

    return measure


_TIMES = "of the scatter in the value loss"
_ABOUT_EQUAL = Within(0.5, 2, _TIMES)
_KNOWN = (
    "The scatter of 64 draws at a rate of 0.5 is known to a tenth; without dropout it is exactly 0."
)

CLAIMS = (
    Claim(
        "reference",
        "In the paper's era values of targets and plans scatter with the dropout as those of the "
        "value loss do, although the model is in evaluation mode.",
        _ABOUT_EQUAL,
        _KNOWN,
        (USES,),
        dropout_cases("paper"),
        _scatter("reference"),
        about="reference",
        pins=PAPER_ERA,
        otherwise=True,
    ),
    Claim(
        "reference-later",
        "From eece801 on they do not scatter.",
        Equals(0, _TIMES),
        _KNOWN,
        (USES,),
        dropout_cases("head"),
        _scatter("reference"),
        about="reference",
        pins=LATER,
    ),
    Claim(
        "core",
        "Those of the core scatter as in the paper's era.",
        _ABOUT_EQUAL,
        _KNOWN,
        (USES,),
        dropout_cases("paper"),
        _scatter("subject"),
        about="subject",
    ),
    Claim(
        "core-later",
        "Configured as a later commit, the core drops in its losses alone.",
        Equals(0, _TIMES),
        _KNOWN,
        (USES,),
        dropout_cases("head"),
        _scatter("subject"),
        about="subject",
    ),
)

ROW = Entry(
    id="T30",
    agent="TD-MPC2",
    kind="deviation",
    title="Dropout in targets and plans",
    reference=(
        "From eece801 on dropout follows the mode of the model: only the losses drop. In the "
        "paper's era the vectorised ensemble keeps the mode that its networks were made in, and "
        "drops in every estimate, those of targets and plans included."
    ),
    subject=(
        "As in the paper's era by default (q_dropout=always); q_dropout=training is what later "
        "commits do."
    ),
    consequence=(
        "Targets and plans of the two eras are noisy to another degree; each can be reproduced."
    ),
    sources=(
        Source("tdmpc2-b67b21c", "tdmpc2/common/layers.py", "7-27"),
        Source("tdmpc2-5f6fade", "tdmpc2/common/layers.py", "7-24"),
        Source("tdmpc2-eece801", "tdmpc2/common/layers.py", "8-33"),
        Source("tdmpc2-e9f5932", "tdmpc2/common/layers.py", "8-33"),
        Source("tdmpc2-eece801", "tdmpc2/common/world_model.py", "74-80"),
        Source("tdmpc2-e9f5932", "tdmpc2/common/world_model.py", "74-80"),
    ),
    pins=ALL,
    claims=CLAIMS,
    ours=True,
)
