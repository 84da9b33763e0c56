"""D36: which action precedes the first row that is trained on."""

from __future__ import annotations

import numpy as np

from deviations.d3 import HEAD
from deviations.eras import Side, asked
from parity.agreements.dreamerv3.entries import PINS
from parity.agreements.dreamerv3.replay_measures import (
    REPLAY,
    full_rings,
    growing_queue,
    places,
    variants,
    whole,
)
from parity.claims import Equals, Measurement
from parity.implementations import Implementation
from parity.operations import Inputs
from parity.registry import About, Claim, Entry, Source

MAY, APRIL = PINS


def _stored(side: Side):
    """The share of contexts whose action is the one stored with the row before the sequence.

    Nothing, if a sequence is none, or the action of one is neither that nor the carry's, 0.
    """

    def measure(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
        one, right = asked(side, subject, reference), []
        for variant in inputs["variants"]:
            answer = one(REPLAY, **variant)
            tick, env = places(answer, variant)
            found = answer["context_action"]
            stored = found == variant["action"][tick[..., 0] - 1, env[..., 0]]
            if not (whole(answer, variant) & (stored | (found == 0))).all():
                return Measurement(np.nan, np.nan, found.size)
            right.append(stored.ravel())
        every = np.concatenate(right)
        share = float(every.mean()) if every.size else np.nan
        return Measurement(share, share, every.size)

    return measure


def _claim(name: str, statement: str, share: int, about: About, **fields) -> Claim:
    return Claim(
        name,
        statement,
        Equals(share, "of the contexts"),
        "Actions are copied; the stored ones are 1 to 998, the carry's here 0.",
        (REPLAY,),
        variants(growing_queue, full_rings),
        _stored("subject" if about == "subject" else "reference"),
        about=about,
        **fields,
    )


CLAIMS = (
    _claim(
        "reference",
        "At 2411f7d the action of the context is never the one stored with its row: it is the "
        "carry's.",
        0,
        "reference",
        pins=(APRIL,),
    ),
    _claim(
        "reference-later",
        "At 29eb964 and e3f0224 it is always the stored one.",
        1,
        "reference",
        pins=(MAY, HEAD),
        otherwise=True,
    ),
    _claim("core", "In the core it is always the stored one.", 1, "subject"),
)

ROW = Entry(
    id="D36",
    agent="DreamerV3",
    kind="deviation",
    title="Action of the replay context",
    reference=(
        "At 2411f7d the action before the first row that is trained on comes from the carry, which "
        "holds the last action of the batch before. At 29eb964 and e3f0224 it is the one stored "
        "with the row of context."
    ),
    subject="The one stored with the row of context.",
    consequence=(
        "At 2411f7d the first step of every sequence is inferred from an action that was not taken "
        "there."
    ),
    sources=(
        Source(APRIL, "dreamerv3/agent.py", "197"),
        Source(MAY, "dreamerv3/agent.py", "180-181"),
        Source(HEAD, "dreamerv3/agent.py", "332-340"),
    ),
    pins=(*PINS, HEAD),
    status="reference bug",
    claims=CLAIMS,
    ours=True,
)
