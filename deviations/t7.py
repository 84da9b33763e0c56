"""T7: how many environments feed one agent."""

from __future__ import annotations

import numpy as np

from deviations import several
from deviations.tdmpc2_runs import (
    APART,
    AT_ZERO,
    COUNTED,
    EARLY,
    EVENTS,
    LENGTH,
    PINS,
    SEVERAL,
    between,
    differing,
    first_plan,
    of,
    run,
    runs,
    ticks,
)
from parity.claims import AtMost, Equals, Stated
from parity.operations import Answer, Inputs
from parity.registry import Claim, Entry, Source

# The seed steps of three environments end after their first episode, and before its end.
_PHASES = runs(SEVERAL, EARLY)


def _departures(answer: Answer, asked: Inputs) -> float:
    """Ticks that are not as S seed steps of one environment demand."""
    tick, seed_steps = np.arange(ticks(answer)), asked["seed_steps"]
    updates = np.where(tick < seed_steps, 0, np.where(tick == seed_steps, seed_steps, 1))
    good = (answer["planned"] == (tick > seed_steps)) & (answer["updates"] == updates)
    return float(np.count_nonzero(~good))


def _other(theirs: Answer, ours: Answer, asked: Inputs) -> float:
    """Ticks of the run that was asked for in which the core does otherwise."""
    missing = abs(asked["steps"] - ticks(ours))
    return missing + differing(theirs, ours, "step", "planned", "t0", "updates", "held")


def _updates(answer: Answer, asked: Inputs) -> np.ndarray:
    del asked
    return answer["updates"][first_plan(answer) :]


def _last_random(asked: Inputs) -> int:
    return max(asked["seed_steps"] // asked["envs"], LENGTH)


def _phase(answer: Answer, asked: Inputs) -> float:
    """Ticks by which the seed phase is longer, or shorter, than it is to be."""
    return abs(first_plan(answer) - 1 - _last_random(asked))


def _burst(answer: Answer, asked: Inputs) -> float:
    """Updates that come with the last random tick beyond S, or before it."""
    last = _last_random(asked)
    if ticks(answer) <= last:
        return np.nan
    return abs(answer["updates"][last] - asked["seed_steps"]) + answer["updates"][:last].sum()


def _foreign(answer: Answer, asked: Inputs) -> float:
    """Plans that are told wrongly of a new episode, or do not start from their own last mean."""
    del asked
    first, tick = first_plan(answer), np.arange(ticks(answer))[:, None]
    begins = answer["step"] == 0
    own = np.where(begins | (tick == first), AT_ZERO, tick - 1)
    apart = (begins.any(-1) & ~begins.all(-1))[first:].any()
    wrong = (answer["t0"] != begins) | (answer["before"] != own)
    return float(np.count_nonzero(wrong[first:])) if apart else np.nan


CLAIMS = (
    Claim(
        "reference",
        "The reference's one environment acts at random for S + 1 steps; with the last of them "
        "come S updates, with every later one an update.",
        Equals(0, "steps otherwise"),
        COUNTED,
        (EVENTS,),
        run(),
        of("reference", _departures),
        about="reference",
        stated=Stated("A single environment", 0, 0),
    ),
    Claim(
        "exact",
        "With one environment the core does the same at every step: it acts at random, or plans "
        "and tells the planner of a new episode, makes as many updates, and draws their batches "
        "from as many episodes.",
        Equals(0, "steps otherwise"),
        COUNTED,
        (EVENTS,),
        run(),
        between(_other),
        stated=Stated("exact for n_envs = 1", 0, 0),
    ),
    Claim(
        "core-updates",
        "With three environments, three updates follow every tick after the burst.",
        Equals(3, "updates per tick"),
        COUNTED,
        (EVENTS,),
        run(**SEVERAL),
        of("subject", _updates),
        about="subject",
        core_only=True,
        stated=Stated("n_envs updates per stepping tick", 3, 3),
    ),
    Claim(
        "core-phase",
        "Tick max(S div n, T) is the last random one.",
        Equals(0, "ticks from that"),
        COUNTED,
        (EVENTS,),
        _PHASES,
        of("subject", _phase),
        about="subject",
        core_only=True,
        stated=Stated("a seed phase ... of their own", 0, 0),
    ),
    Claim(
        "core-burst",
        "With it come all S updates, and none before.",
        Equals(0, "updates from that"),
        COUNTED,
        (EVENTS,),
        _PHASES,
        of("subject", _burst),
        about="subject",
        core_only=True,
        stated=Stated("a burst rule of their own", 0, 0),
    ),
    Claim(
        "core-memory",
        "Each environment's plan starts from the mean that its own last plan left, or from zeros "
        "where its own episode begins, though the episodes of three begin at different ticks.",
        Equals(0, "plans otherwise"),
        COUNTED + " What a plan leaves is its number, in the place of its mean.",
        (EVENTS,),
        run(**APART),
        of("subject", _foreign),
        about="subject",
        core_only=True,
        stated=Stated("per-environment t0 and warm-start mean", 0, 0),
    ),
    Claim(
        "core-replay",
        "Three environments share a replay: each episode of each of them is sampled as often as "
        "any other, from any of its rows but the last three.",
        AtMost(5, "σ"),
        several.CHANCE,
        (several.SHARED,),
        several.rounds,
        several.shares,
        about="subject",
        core_only=True,
    ),
)

ROW = Entry(
    id="T7",
    agent="TD-MPC2",
    kind="deviation",
    title="More than one environment",
    reference="A single environment.",
    subject=(
        "n_envs > 1: per-environment t0 and warm-start mean, n_envs updates per stepping tick, and "
        "a seed phase and a burst rule of their own."
    ),
    consequence="A generalisation; exact for n_envs = 1.",
    sources=(
        Source("tdmpc2-b67b21c", "tdmpc2/trainer/online_trainer.py", "93-115"),
        Source("tdmpc2-5f6fade", "tdmpc2/trainer/online_trainer.py", "93-115"),
        Source("tdmpc2-eece801", "tdmpc2/trainer/online_trainer.py", "103-125"),
        Source("tdmpc2-e9f5932", "tdmpc2/trainer/online_trainer.py", "103-125"),
        Source("tdmpc2-b67b21c", "tdmpc2/tdmpc2.py", "128-129"),
        Source("tdmpc2-5f6fade", "tdmpc2/tdmpc2.py", "132-133"),
        Source("tdmpc2-eece801", "tdmpc2/tdmpc2.py", "166-167"),
        Source("tdmpc2-e9f5932", "tdmpc2/tdmpc2.py", "166-167"),
    ),
    pins=PINS,
    claims=CLAIMS,
)
