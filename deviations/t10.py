"""T10: what happens to an episode that terminates."""

from __future__ import annotations

import numpy as np

from deviations.tdmpc2_runs import (
    EVENTS,
    FIRST,
    LATER,
    LENGTH,
    MIXED,
    PAPER,
    PINS,
    ended,
    of,
    run,
    runs,
    ticks,
)
from parity.claims import Equals, Measurement, Stated
from parity.implementations import Implementation
from parity.operations import Answer, Inputs
from parity.registry import Claim, Entry, Source

ORDERLY, TERMINATION, REFUSED = 0, 1, 2  # as in `tdmpc2.run_events`

_CORE = {"eval_episodes": 0}  # evaluations do not matter to it (row T9)
_ALL_ALIKE = {"ends": 3, "doomed": 0.0}
_ON_THE_LAST = {"ends": LENGTH, "doomed": 0.5}


def _not_made(answer: Answer, asked: Inputs) -> float:
    """Steps that are missing from a run in which episodes end by themselves, and updates."""
    made = ended(answer, asked)
    first = int(np.argmax(made))
    if not made.any() or answer["error"] != ORDERLY:
        return np.nan
    return float(max(0, asked["steps"] - ticks(answer)) + (not answer["updates"][first:].any()))


def _made_after(code: int, answer: Answer, asked: Inputs) -> float:
    """Steps that are made after the first episode that ended by itself, until the error."""
    made = ended(answer, asked)
    if not made.any() or answer["error"] != code:
        return np.nan
    return float(ticks(answer) - 1 - np.argmax(made))


def _refused(answer: Answer, asked: Inputs) -> float:
    return _made_after(TERMINATION, answer, asked)


def _after_other_length(answer: Answer, asked: Inputs) -> float:
    """Steps that are made after the first episode of another length than the first."""
    del asked
    lengths = np.diff(np.append(np.flatnonzero(answer["step"][:, 0] == 0), ticks(answer)))
    if answer["error"] != REFUSED or (lengths == lengths[0]).all():
        return np.nan
    return float(lengths[int(np.argmax(lengths != lengths[0])) + 1 :].sum())


def _stopped(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    """Steps that the core makes after such an end; a run without any must go to its end."""
    *endangered, sound = inputs["variants"]
    answer = subject(EVENTS, **sound)
    if answer["error"] != ORDERLY or ticks(answer) != sound["steps"]:
        return Measurement(np.nan, np.nan, ticks(answer), inputs)
    return of("subject", _refused)(subject, reference, {"variants": endangered})


_WHOLE = "A run goes to its end, or stops at a step."

CLAIMS = (
    Claim(
        "reference-silent",
        "At 5f6fade a run goes on to its end, and learns, over episodes that end by themselves.",
        Equals(0, "steps not made"),
        _WHOLE,
        (EVENTS,),
        run(**MIXED),
        of("reference", _not_made),
        about="reference",
        pins=PAPER[1:],
        stated=Stated("any done is treated as a time limit", 0, 0),
    ),
    Claim(
        "reference-first-silent",
        "At b67b21c it does so while all episodes have the same length.",
        Equals(0, "steps not made"),
        _WHOLE,
        (EVENTS,),
        run(**_ALL_ALIKE),
        of("reference", _not_made),
        about="reference",
        pins=(FIRST,),
        stated=Stated("any done is treated as a time limit", 0, 0),
    ),
    Claim(
        "reference-first-lengths",
        "There an episode of another length than the first stops the run: the replay's storage "
        "has no room for it, and says so with a RuntimeError.",
        Equals(0, "steps after it"),
        _WHOLE,
        (EVENTS,),
        run(**MIXED),
        of("reference", _after_other_length),
        about="reference",
        pins=(FIRST,),
        stated=Stated("no termination guard", 1),
    ),
    Claim(
        "reference-guard",
        "From eece801 on an episode that ends by itself stops the run with a ValueError, before "
        "another step, though it be with the last step before its time limit.",
        Equals(0, "steps after it"),
        _WHOLE,
        (EVENTS,),
        runs(MIXED, _ON_THE_LAST),
        of("reference", _refused),
        about="reference",
        pins=LATER,
        stated=Stated("ValueError unless episodic", 0, 0),
    ),
    Claim(
        "reference-episodic",
        "With episodic set it goes on to its end.",
        Equals(0, "steps not made"),
        _WHOLE,
        (EVENTS,),
        run(**MIXED, episodic=True),
        of("reference", _not_made),
        about="reference",
        pins=LATER,
        stated=Stated("ValueError unless episodic", 0, 0),
    ),
    Claim(
        "core",
        "The core stops with a ValueError as soon as it looks at the count, which it does after "
        "every chunk of a run, here of one step; and it does not stop without such an end.",
        Equals(0, "steps after it"),
        _WHOLE,
        (EVENTS,),
        runs({**MIXED, **_CORE}, _CORE),
        _stopped,
        about="subject",
        core_only=True,
        stated=Stated("a ValueError is raised after the run", 1),
    ),
    Claim(
        "core-last",
        "It does so too where an episode ends by itself with its last step.",
        Equals(0, "steps after it"),
        _WHOLE,
        (EVENTS,),
        runs({**_ON_THE_LAST, **_CORE}, _CORE),
        _stopped,
        about="subject",
        core_only=True,
        stated=Stated("and true terminations on its last step", 0),
    ),
    Claim(
        "core-episodic",
        "With episodic set it goes on to its end.",
        Equals(0, "steps not made"),
        _WHOLE,
        (EVENTS,),
        run(**MIXED, **_CORE, episodic=True),
        of("subject", _not_made),
        about="subject",
        core_only=True,
        stated=Stated("episodic=True takes them instead", 0, 0),
    ),
)

ROW = Entry(
    id="T10",
    agent="TD-MPC2",
    kind="deviation",
    title="Terminations outside the episodic mode",
    reference=(
        "Paper era: no termination guard (any done is treated as a time limit). Latest: ValueError "
        "unless episodic."
    ),
    subject=(
        "Terminations are counted (episode ends off the T-step schedule, and true terminations on "
        "its last step); a ValueError is raised after the run; episodic=True takes them instead "
        "(T29)."
    ),
    consequence="Loud failure instead of silently wrong targets.",
    sources=(
        Source("tdmpc2-b67b21c", "tdmpc2/tdmpc2.py", "210-212"),
        Source("tdmpc2-5f6fade", "tdmpc2/tdmpc2.py", "214-216"),
        Source("tdmpc2-b67b21c", "tdmpc2/trainer/online_trainer.py", "76-94"),
        Source("tdmpc2-5f6fade", "tdmpc2/trainer/online_trainer.py", "76-94"),
        Source("tdmpc2-eece801", "tdmpc2/trainer/online_trainer.py", "91-93"),
        Source("tdmpc2-e9f5932", "tdmpc2/trainer/online_trainer.py", "91-93"),
    ),
    pins=PINS,
    claims=CLAIMS,
)
