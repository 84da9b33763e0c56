"""T34: from where in an episode slices are drawn."""

from __future__ import annotations

import numpy as np

from deviations.eras import ALL, BETWEEN, FIRST, HEAD, PAPER, Side, figures
from parity.agreements.tdmpc2.replay import BATCH, BATCHES, BEGINNINGS, SLICES, slice_cases
from parity.claims import Equals
from parity.operations import Answer, Inputs
from parity.registry import About, Claim, Entry, Source


def _beginnings(answer: Answer, question: Inputs) -> float:
    """From how many rows of an episode slices began."""
    del question
    return float(np.count_nonzero(answer["starts"].sum(axis=0)))


def _claim(name: str, statement: str, drawn: int, about: About, **fields) -> Claim:
    side: Side = "subject" if about == "subject" else "reference"
    return Claim(
        name,
        statement,
        Equals(drawn, f"of {BEGINNINGS} beginnings"),
        f"{BATCH * BATCHES:,} draws leave none of {BEGINNINGS} out by accident.",
        (SLICES,),
        slice_cases,
        figures(side, SLICES, _beginnings),
        about=about,
        **fields,
    )


CLAIMS = (
    _claim(
        "reference",
        "At b67b21c an episode's last beginning, the one whose slice ends with the episode, is "
        "never drawn.",
        BEGINNINGS - 1,
        "reference",
        pins=(FIRST,),
    ),
    _claim(
        "reference-later",
        "From 5f6fade on it is drawn like all others.",
        BEGINNINGS,
        "reference",
        pins=(PAPER, BETWEEN, HEAD),
        otherwise=True,
    ),
    _claim("core", "The core draws it.", BEGINNINGS, "subject"),
)

ROW = Entry(
    id="T34",
    agent="TD-MPC2",
    kind="deviation",
    title="Last slice of an episode",
    reference=(
        "b67b21c crops a drawn episode by TorchRL's RandomCropTensorDict, which never crops at the "
        "end (in TorchRL 0.8.1, with which this is measured). From 5f6fade on slices are drawn by "
        "its SliceSampler, which does."
    ),
    subject="Every slice of an episode is as likely as another, as from 5f6fade on.",
    consequence=(
        "At b67b21c the last reward of an episode, and the state that it leads to, are never "
        "trained on."
    ),
    sources=(
        Source(FIRST, "tdmpc2/common/buffer.py", "53-70"),
        Source(PAPER, "tdmpc2/common/buffer.py", "17-23"),
        Source(BETWEEN, "tdmpc2/common/buffer.py", "17-23"),
        Source(HEAD, "tdmpc2/common/buffer.py", "17-23"),
    ),
    pins=ALL,
    status="reference bug",
    claims=CLAIMS,
    ours=True,
)
