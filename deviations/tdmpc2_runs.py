"""Runs of TD-MPC2 on a script of episodes: what rows T7, T8, T9, T10 and T28 ask about them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from parity.claims import Measurement
from parity.comparisons import Measure, questions
from parity.implementations import Implementation
from parity.operations import Answer, Inputs

EVENTS = "tdmpc2.run_events"
FIRST = "tdmpc2-b67b21c"
PAPER = (FIRST, "tdmpc2-5f6fade")
LATER = ("tdmpc2-eece801", "tdmpc2-e9f5932")
PINS = (*PAPER, *LATER)

LENGTH, SEED_STEPS, STEPS = 5, 10, 40
AT_ZERO, OF_EVALUATION = -1, -2  # as in `tdmpc2.run_events`
COUNTED = "Steps, plans and updates are counted."

# One environment whose episodes all last; an evaluation falls into an episode.
_RUN: Inputs = {
    **{"seed": 0, "envs": 1, "length": LENGTH, "ends": LENGTH, "doomed": 1.0},
    **{"seed_steps": SEED_STEPS, "steps": STEPS, "eval_every": 12, "eval_episodes": 2},
    **{"updates_per_step": 1.0, "episodic": False},
}
# Several environments, whose seed phase is divided among them, with a remainder, and ends within
# an episode.
SEVERAL = {"envs": 3, "steps": 60, "seed_steps": 22, "eval_episodes": 0}
# The same where the share ends within the first episode, and with fewer updates.
EARLY = {**SEVERAL, "seed_steps": 12, "updates_per_step": 0.5}
# Episodes of two lengths, the shorter of which end by themselves.
MIXED = {"ends": 3, "doomed": 0.5}
# Several environments with these; for one, two and three steps at once 0.8, 1.6 and 2.4 updates.
APART = {**SEVERAL, **MIXED, "episodic": True, "updates_per_step": 0.8}

Cases = Callable[[np.random.Generator], Inputs]


def run(**changed: object) -> Cases:
    """The run with some settings changed."""

    def draw(rng: np.random.Generator) -> Inputs:
        del rng
        return {**_RUN, **changed}

    return draw


def runs(*changes: Mapping[str, object]) -> Cases:
    """Several of them."""

    def draw(rng: np.random.Generator) -> Inputs:
        return {"variants": [run(**changed)(rng) for changed in changes]}

    return draw


def of(side: str, figures: Callable[[Answer, Inputs], np.ndarray | float]) -> Measure:
    """The range of some figures of one side's runs; every run must have one."""

    def measure(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
        implementation = reference if side == "reference" else subject
        found, compared = [], 0
        for asked in questions(EVENTS, inputs):
            answer = implementation(EVENTS, **asked)
            part = np.atleast_1d(figures(answer, asked)) if ticks(answer) else np.zeros(0)
            if not part.size:
                return Measurement(np.nan, np.nan, 0, inputs)
            found.append(part.astype(float))
            compared += ticks(answer)
        every = np.concatenate(found)
        return Measurement(float(every.min()), float(every.max()), compared, inputs)

    return measure


def between(figure: Callable[[Answer, Answer, Inputs], float]) -> Measure:
    """A figure of the reference's run and the core's, at most that of all runs."""

    def measure(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
        found, compared = [], 0
        for asked in questions(EVENTS, inputs):
            theirs, ours = (side(EVENTS, **asked) for side in (reference, subject))
            if not ticks(ours):
                return Measurement(np.nan, np.nan, 0, inputs)
            found.append(figure(theirs, ours, asked))
            compared += min(ticks(theirs), ticks(ours))
        worst = float(np.max(found))  # NaN, if one is
        return Measurement(worst, worst, compared, inputs)

    return measure


def ticks(answer: Answer) -> int:
    """How many there are."""
    return len(answer["planned"])


def first_plan(answer: Answer) -> int:
    """The first tick whose actions are planned, which no run here is without."""
    planned = np.flatnonzero(answer["planned"])
    return int(planned[0]) if planned.size else ticks(answer)


def differing(theirs: Answer, ours: Answer, *names: str) -> float:
    """Ticks that are not the same, of those that the core was asked for."""
    shared = min(ticks(theirs), ticks(ours))
    same = np.ones(shared, bool)
    for name in names:
        equal = theirs[name][:shared] == ours[name][:shared]
        same &= equal.reshape(shared, -1).all(-1)
    return float(np.count_nonzero(~same))


def ended(answer: Answer, asked: Inputs) -> np.ndarray:
    """[K] whether an episode ends by itself with the tick."""
    doomed = answer["start"] >= np.float32(asked["doomed"])
    return (doomed & (answer["step"] + 1 == asked["ends"])).any(-1)
