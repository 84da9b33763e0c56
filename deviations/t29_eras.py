"""T29: at which pins there is an episodic mode at all."""

from __future__ import annotations

from deviations import t29_measurements as measured
from deviations.eras import LATER, PAPER_ERA
from parity.claims import Equals
from parity.registry import Claim

_REASON = "An option, a head, a column: each is there or it is not."
_UNIT = f"of {len(measured.NAMED)} parts"

WITH_THE_MODE = Claim(
    "reference-parts",
    "The reference has an option for the mode, a head that predicts ends, and rows that say which "
    "step terminated an episode.",
    Equals(len(measured.NAMED), _UNIT),
    _REASON,
    (measured.PARTS,),
    measured.nothing,
    measured.parts,
    about="reference",
    pins=LATER,
)

WITHOUT_THE_MODE = (
    Claim(
        "reference-paper",
        "In the paper's era there is none of the three.",
        Equals(0, _UNIT),
        _REASON,
        (measured.PARTS,),
        measured.nothing,
        measured.parts,
        about="reference",
        pins=PAPER_ERA,
        otherwise=True,
    ),
    Claim(
        "reference-paper-plan",
        "A plan of the paper's era counts all that follows, since nothing predicts an end.",
        Equals(0, f"of {measured.TRAJECTORIES} trajectories"),
        "A value is that of all that follows or that of what comes before the end.",
        (measured.PLANNED,),
        measured.trajectories(episodic=False),
        measured.cut_off("reference"),
        about="reference",
        pins=PAPER_ERA,
        otherwise=True,
    ),
)
