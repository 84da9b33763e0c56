"""T29: what the episodic mode's replay holds, and what is drawn from it."""

from __future__ import annotations

import numpy as np

from deviations import resumed, several
from deviations import t29_measurements as measured
from parity.claims import AtMost, Equals, Stated
from parity.operations import Inputs
from parity.registry import Claim


def _capacities(rng: np.random.Generator) -> Inputs:
    del rng
    sizes = ({"buffer_size": 300, "steps": 1000}, {"buffer_size": 900, "steps": 200})
    return {"variants": [{**size, "envs": 1} for size in sizes]}


def _three_environments(rng: np.random.Generator) -> Inputs:
    del rng
    return {"buffer_size": 1000, "steps": 100, "envs": 3}


_CHANCE = (
    "A share of 10,240 draws; 5 σ is exceeded by chance once in 2 million, and some 50 are seen."
)
_COUNTED = "They are counted."

REPLAY = (
    Claim(
        "reference-shares",
        "Of episodes of 3, 4, 5, 10 and 50 rows, the reference never samples the first and each "
        "of the others as often, from any of its rows but the last three, and across no end.",
        AtMost(5, "σ"),
        _CHANCE,
        (measured.SLICES,),
        measured.whole,
        measured.shares("reference"),
        about="reference",
        stated=Stated("a uniform episode of ≥ H+1 rows, a uniform offset", 0, 5),
    ),
    Claim(
        "core-shares",
        "So does the core.",
        AtMost(5, "σ"),
        _CHANCE,
        (measured.SLICES,),
        measured.whole,
        measured.shares("subject"),
        about="subject",
        stated=Stated("the same sampling distribution", 0, 5),
    ),
    Claim(
        "reference-tail",
        "An episode that is being overwritten keeps its share in the reference, of what is left.",
        AtMost(5, "σ"),
        _CHANCE,
        (measured.SLICES,),
        measured.overwritten,
        measured.shares("reference"),
        about="reference",
        stated=Stated("an overwritten episode keeps its stored tail", 0, 5),
    ),
    Claim(
        "core-tail",
        "And in the core.",
        AtMost(5, "σ"),
        _CHANCE,
        (measured.SLICES,),
        measured.overwritten,
        measured.shares("subject"),
        about="subject",
        stated=Stated("an overwritten episode keeps its stored tail", 0, 5),
    ),
    Claim(
        "core-edge",
        "As long as H + 1 rows of it are left, a slice of it is drawn, and no longer; and as many "
        "episodes of H + 1 rows as the replay has room for are kept apart.",
        AtMost(5, "σ"),
        _CHANCE,
        (measured.SLICES,),
        measured.edges,
        measured.shares_of_each,
        about="subject",
        core_only=True,
    ),
    Claim(
        "core-rings",
        "Of three environments with a ring each, the episodes of all are sampled as often as one "
        "another, though one has a single episode that is long enough.",
        AtMost(5, "σ"),
        several.CHANCE,
        (several.SHARED,),
        several.rows,
        several.shares,
        about="subject",
        core_only=True,
        stated=Stated("per-environment rings written in lockstep", 0, 5),
    ),
    Claim(
        "core-running",
        "The rows of a running episode take the place of the oldest ones, and are not sampled.",
        Equals(0, "beginnings otherwise"),
        "512 draws leave none of 10 out by accident.",
        (resumed.SLICES,),
        resumed.slices(episodic=True, ends=(23,), buffer_size=28),
        resumed.strayed(resumed.SLICES),
        about="subject",
        core_only=True,
        stated=Stated("the running episode's rows included", 0, 0),
    ),
    Claim(
        "core-calls",
        "A run in three calls, whose rings grow with each and are carried on in the middle of an "
        "episode, draws the same slices as the run in one.",
        Equals(0, "numbers apart"),
        resumed.BITS,
        (resumed.SLICES,),
        resumed.slices(episodic=True),
        resumed.apart(resumed.SLICES),
        about="subject",
        core_only=True,
        stated=Stated("a resumed run moves the carried rows into its own rings", 0, 0),
    ),
    Claim(
        "reference-refuses",
        "The reference fails where no episode has H + 1 rows.",
        Equals(0, "of 2 replays"),
        "It can be sampled or not; one with such an episode can.",
        (measured.SLICES,),
        measured.short,
        measured.refused("reference"),
        about="reference",
    ),
    Claim(
        "core-refuses",
        "The core knows of it, and does not sample.",
        Equals(0, "of 2 replays"),
        "It can be sampled or not; one with such an episode can.",
        (measured.SLICES,),
        measured.short,
        measured.refused("subject"),
        about="subject",
    ),
    Claim(
        "capacity",
        "With one environment both hold min(buffer_size, steps) rows.",
        Equals(0, "of 2 capacities"),
        _COUNTED,
        (measured.CAPACITY,),
        _capacities,
        measured.capacities,
        stated=Stated("min(buffer_size, steps) rows", 0, 0),
    ),
    Claim(
        "core-capacity",
        "With three environments and a run of 100 rows, the core holds 34 of each.",
        Equals(34, "rows"),
        "ceil(100 / 3).",
        (measured.CAPACITY,),
        _three_environments,
        measured.core_capacity,
        about="subject",
        core_only=True,
        stated=Stated("ceil(min(buffer_size, total) / n_envs)", 34, 34),
    ),
)
