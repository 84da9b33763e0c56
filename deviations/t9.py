"""T9: when and on what an agent is evaluated."""

from __future__ import annotations

import numpy as np

from deviations import evaluated
from deviations.tdmpc2_runs import (
    COUNTED,
    EVENTS,
    OF_EVALUATION,
    PINS,
    between,
    of,
    run,
    runs,
    ticks,
)
from parity.claims import Equals, Measurement, Stated
from parity.implementations import Implementation
from parity.operations import Answer, Inputs
from parity.registry import Claim, Entry, Source


def _first(answer: Answer, asked: Inputs) -> np.ndarray | float:
    """Steps before the first of several evaluations, each of which is later than the last."""
    del asked
    evaluated = answer["evaluated"]
    return evaluated[:1] if len(evaluated) > 1 and (np.diff(evaluated) > 0).all() else np.nan


def _not_at_ends(answer: Answer, asked: Inputs) -> float:
    """Evaluations elsewhere than at the first end of an episode from each multiple on."""
    ends = np.append(np.flatnonzero(answer["step"][:, 0] == 0), np.inf)
    multiples = np.arange(0, ticks(answer), asked["eval_every"])
    expected = np.unique(ends[np.searchsorted(ends, multiples)])
    return _missed(answer["evaluated"], expected[np.isfinite(expected)])


def _not_at_multiples(answer: Answer, asked: Inputs) -> float:
    """Evaluations elsewhere than at the multiples, the first one of all aside, and the end."""
    every, steps = asked["eval_every"], asked["steps"]
    expected = np.unique(np.append(np.arange(every, steps + 1, every), steps))
    return _missed(answer["evaluated"], expected)


def _missed(found: np.ndarray, expected: np.ndarray) -> float:
    return float(len(np.setxor1d(found, expected)))


def _later_ones(theirs: Answer, ours: Answer, asked: Inputs) -> float:
    """Evaluations after the first of all that only one of the two makes."""
    del asked
    after = theirs["evaluated"][theirs["evaluated"] > 0]
    return _missed(ours["evaluated"], after) if len(after) else np.nan


def _starts(answer: Answer) -> np.ndarray:
    """The starts of all episodes in order, those of evaluations among those of training."""
    begins = np.flatnonzero(answer["step"][:, 0] == 0)
    played = [(tick, 1, answer["start"][tick, :1]) for tick in begins.tolist()]
    for tick, starts in zip(answer["evaluated"].tolist(), answer["eval_start"], strict=True):
        played.append((tick, 0, starts))  # before the training episode of that tick
    parts = [starts for *_, starts in sorted(played, key=lambda episode: episode[:2])]
    return np.concatenate(parts) if parts else np.zeros(0)


def _other_stream(
    subject: Implementation, reference: Implementation, inputs: Inputs
) -> Measurement:
    """Starts that are not the next ones of the one environment, and training's that differ."""
    del subject
    one, other = (reference(EVENTS, **asked) for asked in inputs["variants"])
    shared = min(len(_starts(one)), len(_starts(other)))
    wrong = float(np.count_nonzero(_starts(one)[:shared] != _starts(other)[:shared]))
    trained = [answer["start"][:, 0] for answer in (one, other)]
    both = min(map(len, trained))
    moved = np.count_nonzero(trained[0][:both] != trained[1][:both])
    note = f"{moved} of {both} training steps are in other episodes"
    return Measurement(wrong if moved else np.nan, wrong, shared, inputs, note)


def _after_evaluation(answer: Answer, asked: Inputs) -> float:
    del asked
    return float(np.count_nonzero(answer["before"] == OF_EVALUATION))


def _after_evaluation_of_core(answer: Answer, asked: Inputs) -> float:
    return _after_evaluation(answer, asked) if len(answer["evaluated"]) else np.nan


def _disturbed(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    """Numbers of the core's training that differ with evaluations and without."""
    del reference
    one, other = (subject(EVENTS, **asked) for asked in inputs["variants"])
    names = ("start", "step", "planned", "t0", "before", "updates", "held")
    if not ticks(one) or ticks(one) != ticks(other) or len(one["evaluated"]):
        return Measurement(np.nan, np.nan, ticks(one), inputs)
    wrong = float(sum(np.count_nonzero(one[name] != other[name]) for name in names))
    wrong = wrong if len(other["evaluated"]) else np.nan
    return Measurement(wrong, wrong, sum(one[name].size for name in names), inputs)


def _stale(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    """Starts that occur twice in a run, or, at an evaluation, not again in the next."""
    del reference
    often, seldom, of_other_seed = (subject(EVENTS, **asked) for asked in inputs["variants"])
    if not all(len(answer["evaluated"]) for answer in (often, seldom, of_other_seed)):
        return Measurement(np.nan, np.nan, 0, inputs)
    every = [_starts(answer) for answer in (often, seldom, of_other_seed)]
    repeated = sum(len(starts) - len(np.unique(starts)) for starts in every)
    by_tick = [
        dict(zip(a["evaluated"].tolist(), a["eval_start"], strict=True)) for a in (often, seldom)
    ]
    shared = sorted(set(by_tick[0]) & set(by_tick[1]))
    changed = sum(np.count_nonzero(by_tick[0][tick] != by_tick[1][tick]) for tick in shared)
    same = len(np.intersect1d(often["eval_start"], of_other_seed["eval_start"]))
    wrong = float(repeated + changed + same) if shared else np.nan
    return Measurement(wrong, wrong, sum(map(len, every)), inputs)


_STARTS = "Starts have 23 random bits or more: two that are drawn apart do not coincide by chance."

CLAIMS = (
    Claim(
        "reference-first",
        "The reference's first evaluation is at step 0.",
        Equals(0, "steps"),
        COUNTED,
        (EVENTS,),
        run(),
        of("reference", _first),
        about="reference",
        stated=Stated("the first evaluation is at step 0", 0, 0),
    ),
    Claim(
        "reference-ends",
        "An evaluation that falls due within an episode waits for its end: with one due every 12 "
        "steps, and episodes of 5, they come at steps 0, 15, 25 and 40.",
        Equals(0, "evaluations elsewhere"),
        COUNTED,
        (EVENTS,),
        run(),
        of("reference", _not_at_ends),
        about="reference",
    ),
    Claim(
        "reference-environment",
        "It is played in the training environment: whether one episode or two, its starts are the "
        "next ones that this draws, and training goes on with those after them.",
        Equals(0, "starts of another stream"),
        _STARTS,
        (EVENTS,),
        runs({"eval_episodes": 1}, {"eval_episodes": 2}),
        _other_stream,
        about="reference",
        stated=Stated("reuses the training environment's instance", 0, 0),
    ),
    Claim(
        "reference-mean",
        "And with the training's planner: one plan of training starts from the mean that an "
        "evaluation has left (row T8). All other evaluations are followed by a new episode, which "
        "starts from zeros.",
        Equals(1, "plans"),
        COUNTED,
        (EVENTS,),
        run(),
        of("reference", _after_evaluation),
        about="reference",
        stated=Stated("and the planner's mean", 1, 1),
    ),
    Claim(
        "core-when",
        "The core evaluates after every multiple of the interval, whether it falls into an "
        "episode or not, and at the end; not at step 0.",
        Equals(0, "evaluations elsewhere"),
        COUNTED,
        (EVENTS,),
        runs({}, {"eval_every": 10}),
        of("subject", _not_at_multiples),
        about="subject",
        core_only=True,
        stated=Stated("the first after log_frequency steps", 0, 0),
    ),
    Claim(
        "same-steps",
        "With an interval of whole episodes, both evaluate after the same steps, but for step 0.",
        Equals(0, "evaluations of one alone"),
        COUNTED,
        (EVENTS,),
        run(eval_every=10),
        between(_later_ones),
        core_only=True,
        stated=Stated("as the reference's eval_freq is", 0, 0),
    ),
    Claim(
        "core-environment",
        "Training is the same, number by number, with evaluations and without.",
        Equals(0, "numbers"),
        "The evaluation's environments and random numbers are its own, or they are not.",
        (EVENTS,),
        runs({"eval_episodes": 0}, {}),
        _disturbed,
        about="subject",
        core_only=True,
        stated=Stated("A rebuilt evaluation environment", 0, 0),
    ),
    Claim(
        "core-mean",
        "No plan of training starts from a mean that an evaluation left.",
        Equals(0, "plans"),
        COUNTED,
        (EVENTS,),
        run(eval_every=5),
        of("subject", _after_evaluation_of_core),
        about="subject",
        core_only=True,
        stated=Stated("a separate planner carry", 0, 0),
    ),
    Claim(
        "core-starts",
        "Evaluations start from states that no other has, nor training; after the same step they "
        "are the same in a run with fewer evaluations, and others in a run of another seed.",
        Equals(0, "starts"),
        _STARTS,
        (EVENTS,),
        runs({}, {"eval_every": 24}, {"seed": 1}),
        _stale,
        about="subject",
        core_only=True,
        stated=Stated("deterministic per seed, fresh across evaluations", 0, 0),
    ),
    Claim(
        "core-returns",
        "Of episodes of different lengths that are played side by side, each counts to its own "
        "end.",
        Equals(0, f"of {evaluated.EPISODES} episodes"),
        evaluated.EXACT,
        (evaluated.RETURNS,),
        evaluated.unequal(1),
        evaluated.miscounted,
        about="subject",
    ),
)

ROW = Entry(
    id="T9",
    agent="TD-MPC2",
    kind="deviation",
    title="Evaluation protocol",
    reference=(
        "Evaluation reuses the training environment's instance and the planner's mean; the first "
        "evaluation is at step 0 (untrained agent)."
    ),
    subject=(
        "A rebuilt evaluation environment and a separate planner carry. Each evaluation starts "
        "from fresh initial states (its key is folded with the number of evaluations so far: "
        "deterministic per seed, fresh across evaluations, as the reference's resets of its "
        "running environment are). Evaluations run every log_frequency environment steps from the "
        "start of training, the first after log_frequency steps (on the held tick that ends an "
        "episode when log_frequency is a multiple of T·n_envs, as the reference's eval_freq is). "
        "Measured: the key is folded with the steps so far, so that a run with fewer evaluations "
        "starts those that it has from the same states."
    ),
    consequence="Evaluation protocol only.",
    sources=(
        Source("tdmpc2-b67b21c", "tdmpc2/trainer/online_trainer.py", "27-48"),
        Source("tdmpc2-5f6fade", "tdmpc2/trainer/online_trainer.py", "27-48"),
        Source("tdmpc2-b67b21c", "tdmpc2/trainer/online_trainer.py", "69-82"),
        Source("tdmpc2-5f6fade", "tdmpc2/trainer/online_trainer.py", "69-82"),
        Source("tdmpc2-eece801", "tdmpc2/trainer/online_trainer.py", "28-52"),
        Source("tdmpc2-e9f5932", "tdmpc2/trainer/online_trainer.py", "28-52"),
        Source("tdmpc2-eece801", "tdmpc2/trainer/online_trainer.py", "76-88"),
        Source("tdmpc2-e9f5932", "tdmpc2/trainer/online_trainer.py", "76-88"),
    ),
    pins=PINS,
    claims=CLAIMS,
)
