"""T16: which protocol the normalised score is measured with."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from deviations import evaluated
from parity.claims import AtMost, Equals, Measurement, Stated
from parity.comparisons import EPSILON, Measure
from parity.implementations import Implementation
from parity.operations import Inputs
from parity.registry import Claim, Entry, Source

SCORE = "tdmpc2.multitask_score"
ACTIONS = "tdmpc2.evaluation_actions"
EVALUATIONS = "tdmpc2.offline_evaluations"
STARTS = "tdmpc2.evaluation_starts"

LENGTHS, EPISODES = (3, 5), 10
ASKED = EPISODES * sum(LENGTHS)
UPDATES, EVERY = 7, 3


def _returns(program: str) -> Callable[[np.random.Generator], Inputs]:
    """Of 4 episodes of 3 tasks, of very different sizes."""

    def draw(rng: np.random.Generator) -> Inputs:
        returns = 4 * rng.integers(1, 250, (3, 4)) * np.asarray([[1.0], [0.25], [0.03125]])
        return {"returns": returns.astype(np.float32), "program": program}

    return draw


def _lengths(program: str) -> Callable[[np.random.Generator], Inputs]:
    def draw(rng: np.random.Generator) -> Inputs:
        del rng
        return {"lengths": np.asarray(LENGTHS), "program": program}

    return draw


def _run(rng: np.random.Generator) -> Inputs:
    del rng
    return {"updates": UPDATES, "every": EVERY}


def _three_evaluations(rng: np.random.Generator) -> Inputs:
    """Two after the same number of updates."""
    seed = int(rng.integers(1000))
    return {"updates": np.asarray([3, 6, 3]), "tasks": 2, "episodes": 3, "seed": seed}


def _protocol(side: str, *counts: str) -> Measure:
    """Actions of these kinds, if so many were asked for as there are steps to play."""

    def measure(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
        answer = (reference if side == "reference" else subject)(ACTIONS, **inputs)
        played = answer["episodes"] == EPISODES and answer["actions"] == ASKED
        found = float(sum(answer[name] for name in counts)) if played else np.nan
        note = f"{int(answer['episodes'])} episodes of each task"
        return Measurement(found, found, ASKED, inputs, note)

    return measure


def _score(side: str) -> Measure:
    """How far the score is from a tenth of the mean return, in ε of it."""

    def measure(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
        answer = (reference if side == "reference" else subject)(SCORE, **inputs)
        exact = float(inputs["returns"].astype(np.float64).mean()) / 10
        error = abs(float(answer["score"]) / exact - 1) / EPSILON
        return Measurement(error, error, 1, inputs, f"score {exact:.2f}")

    return measure


def _means(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    """How far the two sides' mean returns of a task are apart, in ε of them."""
    theirs, ours = (side(SCORE, **inputs)["means"] for side in (reference, subject))
    error = float((np.abs(ours / theirs - 1) / EPSILON).max())
    return Measurement(error, error, len(theirs), inputs)


def _evaluated(side: str, after: tuple[int, ...]) -> Measure:
    """Updates after which one side is evaluated, or is not, other than these."""

    def measure(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
        answer = (reference if side == "reference" else subject)(EVALUATIONS, **inputs)
        found = tuple((np.flatnonzero(answer["evaluated"]) + 1).tolist())
        wrong = float(len(set(found) ^ set(after)))
        note = f"after {', '.join(map(str, found)) or 'none'}"
        return Measurement(wrong, wrong, UPDATES, inputs, note)

    return measure


def _fresh(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    """Initial states that occur twice in the first two evaluations, or else in the third."""
    del reference
    first, second, again = subject(STARTS, **inputs)["starts"]
    both = np.concatenate([first.ravel(), second.ravel()])
    # Of NaN, no two are equal.
    same = np.array_equal(first, again)
    twice = float(both.size - len(np.unique(both))) if same else np.nan
    return Measurement(twice, twice, both.size, inputs)


_COUNTED = "Actions are counted."
_ROUNDED = (
    "A mean of 4 returns that are exact, their mean over 3 tasks and a tenth of it: 4 roundings by "
    "half an ε at most, on either side."
)

CLAIMS = (
    Claim(
        "reference-noise",
        "evaluate.py asks for every action with exploration noise.",
        Equals(ASKED, f"of {ASKED} actions"),
        f"{_COUNTED} The agent's `eval_mode` is off unless it is asked for.",
        (ACTIONS,),
        _lengths("evaluate"),
        _protocol("reference", "explored"),
        about="reference",
        stated=Stated("with exploration noise on", ASKED, ASKED),
    ),
    Claim(
        "reference-score",
        "The normalised score that it prints is a tenth of the mean return.",
        AtMost(4, "ε"),
        _ROUNDED,
        (SCORE,),
        _returns("evaluate"),
        _score("reference"),
        about="reference",
        stated=Stated("mean(return / 10)", 0, 4),
    ),
    Claim(
        "reference-trainer",
        "The offline trainer asks for every action without noise, of the right task, and says of "
        f"the first of an episode alone that it is; it plays {EPISODES} episodes of each task.",
        Equals(0, f"of {ASKED} actions"),
        _COUNTED,
        (ACTIONS,),
        _lengths("trainer"),
        _protocol("reference", "explored", "misplaced", "strayed"),
        about="reference",
        stated=Stated("eval_mode, 10 episodes per task, t0 at the first step", 0, 0),
    ),
    Claim(
        "reference-schedule",
        "It evaluates after its first update, and then every eval_freq updates.",
        Equals(0, f"of {UPDATES} updates"),
        "An evaluation follows an update or it does not; it is asked for every 3.",
        (EVALUATIONS,),
        _run,
        _evaluated("reference", (1, 4, 7)),
        about="reference",
        stated=Stated("after its first update, then every eval_freq", 0, 0),
    ),
    Claim(
        "core-actions",
        "So does the core: no noise, the right task, the first of an episode told, "
        f"{EPISODES} episodes of each task.",
        Equals(0, f"of {ASKED} actions"),
        _COUNTED,
        (ACTIONS,),
        _lengths("trainer"),
        _protocol("subject", "explored", "misplaced", "strayed"),
        about="subject",
        stated=Stated("eval_mode, 10 episodes per task, t0 at the first step", 0, 0),
    ),
    Claim(
        "core-schedule",
        "The core evaluates every log_frequency updates, for the first time after so many, and at "
        "the end of the run.",
        Equals(0, f"of {UPDATES} updates"),
        "An evaluation follows an update or it does not; it is asked for every 3.",
        (EVALUATIONS,),
        _run,
        _evaluated("subject", (3, 6, 7)),
        about="subject",
        core_only=True,
        stated=Stated("every log_frequency updates, the first after log_frequency", 0, 0),
    ),
    Claim(
        "core-starts",
        "Each of its evaluations starts from other initial states, the same in every run.",
        Equals(0, "of 12 starts"),
        "Numbers of 23 bits are drawn; an evaluation after as many updates has them all again.",
        (STARTS,),
        _three_evaluations,
        _fresh,
        about="subject",
        core_only=True,
        stated=Stated("each evaluation starts from fresh initial states", 0, 0),
    ),
    Claim(
        "core-score",
        "Its normalised score is a tenth of the mean return.",
        AtMost(4, "ε"),
        _ROUNDED,
        (SCORE,),
        _returns("trainer"),
        _score("subject"),
        about="subject",
        core_only=True,
        stated=Stated("mean(return / 10)", 0, 4),
    ),
    Claim(
        "means",
        "Of the same returns, the core and the offline trainer report the same mean of each task.",
        AtMost(2, "ε"),
        "Sums of 4 numbers that are exact, and one division on either side.",
        (SCORE,),
        _returns("trainer"),
        _means,
    ),
    Claim(
        "core-returns",
        "Of episodes of different lengths, of one task or of three, each counts to its own end.",
        Equals(0, f"of {3 * evaluated.EPISODES} episodes"),
        evaluated.EXACT,
        (evaluated.RETURNS,),
        evaluated.unequal(3),
        evaluated.miscounted,
        about="subject",
    ),
)

ROW = Entry(
    id="T16",
    agent="TD-MPC2",
    kind="deviation",
    title="Multi-task: evaluation protocol and normalised score",
    reference=(
        "evaluate.py reports the normalised score with exploration noise on; the offline trainer "
        "evaluates after its first update, then every eval_freq."
    ),
    subject=(
        "The offline trainer's protocol (eval_mode, 10 episodes per task, t0 at each episode's "
        "first step), every log_frequency updates of the run, the first after log_frequency "
        "updates; each evaluation starts from fresh initial states; normalised score mean(return / "
        "10) (the DMC normalisation)."
    ),
    consequence="The trainer's protocol is the one behind the paper's training curves.",
    sources=(
        Source("tdmpc2-b67b21c", "tdmpc2/evaluate.py", "80"),
        Source("tdmpc2-5f6fade", "tdmpc2/evaluate.py", "80"),
        Source("tdmpc2-eece801", "tdmpc2/evaluate.py", "80"),
        Source("tdmpc2-e9f5932", "tdmpc2/evaluate.py", "80"),
        Source("tdmpc2-b67b21c", "tdmpc2/evaluate.py", "94-99"),
        Source("tdmpc2-5f6fade", "tdmpc2/evaluate.py", "94-99"),
        Source("tdmpc2-eece801", "tdmpc2/evaluate.py", "94-99"),
        Source("tdmpc2-e9f5932", "tdmpc2/evaluate.py", "94-99"),
        Source("tdmpc2-b67b21c", "tdmpc2/trainer/offline_trainer.py", "22-39"),
        Source("tdmpc2-5f6fade", "tdmpc2/trainer/offline_trainer.py", "22-39"),
        Source("tdmpc2-b67b21c", "tdmpc2/trainer/offline_trainer.py", "73-90"),
        Source("tdmpc2-5f6fade", "tdmpc2/trainer/offline_trainer.py", "73-90"),
        Source("tdmpc2-eece801", "tdmpc2/trainer/offline_trainer.py", "22-40"),
        Source("tdmpc2-e9f5932", "tdmpc2/trainer/offline_trainer.py", "22-40"),
        Source("tdmpc2-eece801", "tdmpc2/trainer/offline_trainer.py", "75-92"),
        Source("tdmpc2-e9f5932", "tdmpc2/trainer/offline_trainer.py", "75-92"),
    ),
    pins=("tdmpc2-b67b21c", "tdmpc2-5f6fade", "tdmpc2-eece801", "tdmpc2-e9f5932"),
    claims=CLAIMS,
)
