"""T26: how many episodes the replay buffer holds."""

from __future__ import annotations

import numpy as np

from deviations import resumed
from parity.claims import Equals, Measurement, Stated, Within
from parity.comparisons import Measure, questions
from parity.implementations import Implementation
from parity.operations import Answer, Inputs
from parity.registry import Claim, Entry, Source

CAPACITY = "tdmpc2.replay_capacity"
FIRST = "tdmpc2-b67b21c"
LATER = ("tdmpc2-5f6fade", "tdmpc2-eece801", "tdmpc2-e9f5932")
_DMC = {"buffer_size": 1_000_000, "steps": 4_000_000, "length": 500, "envs": 1}


def _dmc(rng: np.random.Generator) -> Inputs:
    """The reference's own numbers for the control suite."""
    del rng
    return _DMC


def _of_one(rng: np.random.Generator) -> Inputs:
    """Runs of one environment, some shorter than the replay, with any remainder."""
    lengths = rng.integers(2, 60, 24)
    sizes, steps = (rng.integers(lengths, 3000) for _ in range(2))
    asked = zip(sizes.tolist(), steps.tolist(), lengths.tolist(), strict=True)
    return {
        "variants": [{"buffer_size": b, "steps": s, "length": t, "envs": 1} for b, s, t in asked]
    }


def _of_several(rng: np.random.Generator) -> Inputs:
    """Such runs of one to five environments."""
    cases = _of_one(rng)["variants"]
    envs = rng.integers(1, 6, len(cases)).tolist()
    return {
        # A run ends with a whole step of all environments.
        "variants": [
            {**c, "envs": n, "steps": c["steps"] * n} for c, n in zip(cases, envs, strict=True)
        ]
    }


def _multiples(rng: np.random.Generator) -> Inputs:
    """Replays of whole episodes, in runs at least as long."""
    cases = _of_one(rng)["variants"]
    whole = [{**c, "buffer_size": c["length"] * int(rng.integers(1, 50))} for c in cases]
    return {"variants": [{**c, "steps": max(c["steps"], c["buffer_size"])} for c in whole]}


def _roomy(rng: np.random.Generator) -> Inputs:
    """Runs that are shorter than their replay is asked to be, with any remainder."""
    cases = _of_one(rng)["variants"]
    return {"variants": [{**c, "buffer_size": c["steps"] + int(rng.integers(500))} for c in cases]}


def _short(rng: np.random.Generator) -> Inputs:
    """A tenth of the replay of the control suite."""
    del rng
    return {**_DMC, "steps": 100_000}


def _filled(question: Inputs) -> int:
    """Steps that the replay has to hold."""
    return min(question["buffer_size"], question["steps"])


def _asked(side: str, value) -> Measure:
    """The range of a figure of one side's answers and the question."""

    def measure(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
        asked = reference if side == "reference" else subject
        found = [float(value(asked(CAPACITY, **q), q)) for q in questions(CAPACITY, inputs)]
        return Measurement(min(found), max(found), len(found), inputs)

    return measure


def _episodes(answer: Answer, question: Inputs) -> float:
    del question
    return float(answer["episodes"])


def _from_floor(answer: Answer, question: Inputs) -> float:
    return float(answer["episodes"]) - _filled(question) // question["length"]


def _from_ceiling(answer: Answer, question: Inputs) -> float:
    n = question["envs"]
    return float(answer["episodes"]) - n * -(-_filled(question) // (question["length"] * n))


def _lost(answer: Answer, question: Inputs) -> float:
    """Episodes that are whole when the run ends, and no longer in the replay."""
    ended = question["steps"] // question["length"]
    return float(ended - min(ended, int(answer["episodes"])))


def _staged_rounds(answer: Answer, question: Inputs) -> float:
    return float(answer["staged"]) / question["envs"]


def _more(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    """Episodes that the core holds beyond the reference's."""
    asked = questions(CAPACITY, inputs)
    ours, theirs = (
        [float(s(CAPACITY, **q)["episodes"]) for q in asked] for s in (subject, reference)
    )
    more = np.subtract(ours, theirs)
    return Measurement(float(more.min()), float(more.max()), len(more), inputs)


def _otherwise(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    """Episodes that one side can sample when the run ends, and the other can not."""
    found = []
    for question in questions(CAPACITY, inputs):
        ours, theirs = (
            _lost(side(CAPACITY, **question), question) for side in (subject, reference)
        )
        found.append(abs(ours - theirs))
    return Measurement(min(found), max(found), len(found), inputs)


_WHOLE = "Whole numbers."

CLAIMS = (
    Claim(
        "reference",
        "At b67b21c the replay holds floor(min(buffer_size, steps) / T) episodes.",
        Equals(0, "episodes from that"),
        _WHOLE,
        (CAPACITY,),
        _of_one,
        _asked("reference", _from_floor),
        about="reference",
        pins=(FIRST,),
        stated=Stated("floor(min(buffer_size, steps) / T) episodes", 0, 0),
    ),
    Claim(
        "reference-dmc",
        "There that is 2,000 episodes for the control suite.",
        Equals(2000, "episodes"),
        _WHOLE,
        (CAPACITY,),
        _dmc,
        _asked("reference", _episodes),
        about="reference",
        pins=(FIRST,),
        stated=Stated("1e6 / 500 = 2000 episodes", 2000, 2000),
    ),
    Claim(
        "reference-rows",
        "From 5f6fade on it counts rows, of which an episode has T + 1: 1,996 episodes, and 4 rows "
        "of another.",
        Equals(1996, "episodes"),
        _WHOLE,
        (CAPACITY,),
        _dmc,
        _asked("reference", _episodes),
        about="reference",
        pins=LATER,
        stated=Stated("1e6 / 500 = 2000 episodes", 2000, 2000),
    ),
    Claim(
        "core",
        "The core's replay holds ceil(min(buffer_size, steps) / (T·n_envs)) rounds of n_envs "
        "episodes.",
        Equals(0, "episodes from that"),
        _WHOLE,
        (CAPACITY,),
        _of_several,
        _asked("subject", _from_ceiling),
        about="subject",
        core_only=True,
        stated=Stated("ceil(min(buffer_size, total) / (T·n_envs)) rounds", 0, 0),
    ),
    Claim(
        "core-staged",
        "There is room for one more round, which is not sampled.",
        Equals(1, "rounds"),
        _WHOLE,
        (CAPACITY,),
        _of_several,
        _asked("subject", _staged_rounds),
        about="subject",
        core_only=True,
        stated=Stated("one staging round", 1, 1),
    ),
    Claim(
        "core-dmc",
        "For the control suite that is 2,000 episodes.",
        Equals(2000, "episodes"),
        _WHOLE,
        (CAPACITY,),
        _dmc,
        _asked("subject", _episodes),
        about="subject",
        core_only=True,
        stated=Stated("1e6 / 500 = 2000 episodes", 2000, 2000),
    ),
    Claim(
        "multiples",
        "It is b67b21c's capacity where buffer_size is a multiple of T.",
        Equals(0, "episodes more"),
        _WHOLE,
        (CAPACITY,),
        _multiples,
        _more,
        pins=(FIRST,),
        core_only=True,
        stated=Stated("Identical when buffer_size is a multiple of T·n_envs", 0, 0),
    ),
    Claim(
        "remainders",
        "Otherwise it is at most one round more.",
        Within(0, 1, "episodes more"),
        _WHOLE,
        (CAPACITY,),
        _of_one,
        _more,
        pins=(FIRST,),
        core_only=True,
        stated=Stated("at most one more round", 0, 1),
    ),
    Claim(
        "never-full",
        "In a run that is not longer than buffer_size, every episode that has ended can be sampled "
        "from both to the end.",
        Equals(0, "episodes that only one of them has lost"),
        _WHOLE + " An episode that the run's end cuts off is sampled from neither.",
        (CAPACITY,),
        _roomy,
        _otherwise,
        pins=(FIRST,),
        core_only=True,
        stated=Stated("Identical whenever the run never fills the buffer", 0, 0),
    ),
    Claim(
        "reference-never-full",
        "From 5f6fade on, such a run loses its first rows before it ends: its replay has one for "
        "each of 100,000 steps, and 200 episodes have 100,200.",
        Equals(1, "episodes lost, in part"),
        _WHOLE,
        (CAPACITY,),
        _short,
        _asked("reference", _lost),
        about="reference",
        pins=LATER,
        stated=Stated("Identical whenever the run never fills the buffer", 0, 0),
    ),
    Claim(
        "core-calls",
        "A run in three calls, whose replay grows with each and is carried on in the middle of an "
        "episode, draws the same slices as the run in one.",
        Equals(0, "numbers apart"),
        resumed.BITS,
        (resumed.SLICES,),
        resumed.slices(episodic=False),
        resumed.apart(resumed.SLICES),
        about="subject",
        core_only=True,
        stated=Stated("replays exactly what the uninterrupted run does", 0, 0),
    ),
    Claim(
        "core-staging",
        "A full replay is sampled from all rounds that it is to hold, and not from the one that is "
        "being written.",
        Equals(0, "beginnings otherwise"),
        "512 draws leave none of 18 out by accident.",
        (resumed.SLICES,),
        resumed.slices(episodic=False, ends=(23,), buffer_size=24),
        resumed.strayed(resumed.SLICES),
        about="subject",
        core_only=True,
        stated=Stated("one staging round that is written in place and never sampled", 0, 0),
    ),
)

ROW = Entry(
    id="T26",
    agent="TD-MPC2",
    kind="deviation",
    title="Replay capacity in episodes",
    reference=(
        "b67b21c: a replay capacity of floor(min(buffer_size, steps) / T) episodes (buffer.py:40)."
    ),
    subject=(
        "ceil(min(buffer_size, total) / (T·n_envs)) rounds of n_envs episodes, plus one staging "
        "round that is written in place and never sampled. total is the number of the run's "
        "environment steps when the current train() call ends, so a resumed run (chunked training, "
        "or a checkpoint restored by a new agent) sizes its ring for the whole run and moves the "
        "carried episodes into it."
    ),
    consequence=(
        "Identical when buffer_size is a multiple of T·n_envs (DMC: 1e6 / 500 = 2000 episodes) and "
        "whenever the run never fills the buffer; otherwise at most one more round. A run trained "
        "in chunks replays exactly what the uninterrupted run does."
    ),
    sources=(
        Source(FIRST, "tdmpc2/common/buffer.py", "40"),
        *(Source(pin, "tdmpc2/common/buffer.py", "16") for pin in LATER),
    ),
    pins=(FIRST, *LATER),
    claims=CLAIMS,
)
