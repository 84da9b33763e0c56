"""T28: how many updates run per environment step."""

from __future__ import annotations

import re

import numpy as np

from deviations.tdmpc2_runs import (
    APART,
    COUNTED,
    EARLY,
    EVENTS,
    MIXED,
    PINS,
    SEED_STEPS,
    between,
    differing,
    first_plan,
    of,
    run,
    runs,
    ticks,
)
from parity.claims import Equals, Measurement, Stated
from parity.comparisons import Measure
from parity.implementations import Implementation
from parity.operations import Answer, Inputs
from parity.registry import Claim, Entry, Source

# Two and a half updates, which are rounded to two; a quarter, of which one is made; one and a
# half, rounded to two.
_RATIOS = runs(
    {"updates_per_step": 2.5, "eval_episodes": 0},
    {"updates_per_step": 0.25, "eval_episodes": 0},
    EARLY,
)


def _after_the_burst(answer: Answer, asked: Inputs) -> np.ndarray | float:
    """Updates of every tick whose actions are planned, if some before had random ones."""
    del asked
    first = first_plan(answer)
    return answer["updates"][first:] if first else np.nan


def _burst(answer: Answer, asked: Inputs) -> np.ndarray:
    """Updates of the last random tick."""
    del asked
    return answer["updates"][first_plan(answer) - 1 : first_plan(answer)]


def _burst_apart(answer: Answer, asked: Inputs) -> float:
    return float(np.abs(_burst(answer, asked) - asked["seed_steps"]).sum())


def _more_steps(answer: Answer, asked: Inputs) -> float:
    """Steps of a run that acts at random first, and then by plans."""
    both = len(np.unique(answer["planned"])) == 2
    return float(ticks(answer) - asked["steps"]) if both else np.nan


def _of_so_many(stepped: int, asked: Inputs) -> int:
    return max(1, round(stepped * asked["updates_per_step"])) if stepped else 0


def _wrong(answer: Answer, asked: Inputs) -> float:
    """Ticks after the burst with other updates than those of the environments that stepped."""
    first = int(np.argmax(answer["updates"] > 0)) + 1
    stepped, updates = (answer[name][first:].tolist() for name in ("stepped", "updates"))
    # In the episodic mode every number is to occur; 0 does so where there is one environment.
    every = set(range(0 if asked["envs"] == 1 else 1, asked["envs"] + 1))
    if asked["episodic"] and not every <= set(stepped):
        return np.nan
    expected = [_of_so_many(m, asked) for m in stepped]
    return float(np.count_nonzero(np.subtract(updates, expected))) if updates else np.nan


def _different(theirs: Answer, ours: Answer, asked: Inputs) -> float:
    del asked
    return differing(theirs, ours, "updates")


OPTIONS = "tdmpc2.run_options"
# What an option is called in any re-implementation that says how many updates follow a step.
_OF_RATIOS = re.compile(r"updat|utd|(^|_)ratio|per_step|train_(every|freq)|grad(ient)?_steps")
_SURELY = {"steps", "batch_size", "seed_steps", "horizon"}


def _nothing(rng: np.random.Generator) -> Inputs:
    del rng
    return {}


def _of_updates(side: str) -> Measure:
    """Options of one side whose names say so, of a list that has those it surely has."""

    def measure(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
        asked = reference if side == "reference" else subject
        names = asked(OPTIONS, **inputs)["names"].tobytes().decode(errors="replace").split("\n")
        found = [name for name in names if _OF_RATIOS.search(name)]
        count = float(len(found)) if set(names) >= _SURELY else np.nan
        note = f"of {len(names)} options: {', '.join(found) or 'none'}"
        return Measurement(count, count, len(names), inputs, note)

    return measure


CLAIMS = (
    Claim(
        "reference",
        "The reference makes one update per step once the burst is over.",
        Equals(1, "updates per step"),
        COUNTED,
        (EVENTS,),
        run(),
        of("reference", _after_the_burst),
        about="reference",
        stated=Stated("One update per environment step", 1, 1),
    ),
    Claim(
        "reference-burst",
        "The burst is of S updates, with step S.",
        Equals(SEED_STEPS, "updates"),
        COUNTED,
        (EVENTS,),
        run(),
        of("reference", _burst),
        about="reference",
        stated=Stated("the seed-phase burst", SEED_STEPS, SEED_STEPS),
    ),
    Claim(
        "reference-steps",
        "It makes one step more than it is asked for, with its update: it counts from 0 and stops "
        "after `steps`.",
        Equals(1, "steps more"),
        COUNTED,
        (EVENTS,),
        run(),
        of("reference", _more_steps),
        about="reference",
    ),
    Claim(
        "reference-options",
        "Its config.yaml has no option for another number of updates.",
        Equals(0, "options"),
        "Names are read, and held against what such an option is called elsewhere.",
        (OPTIONS,),
        _nothing,
        _of_updates("reference"),
        about="reference",
        stated=Stated("config.yaml has no update-to-data option", 0, 0),
    ),
    Claim(
        "core-options",
        "The core has one.",
        Equals(1, "options"),
        "As for `reference-options`.",
        (OPTIONS,),
        _nothing,
        _of_updates("subject"),
        about="subject",
        core_only=True,
        stated=Stated("updates_per_step r", 1, 1),
    ),
    Claim(
        "exact",
        "With r = 1 the core makes as many updates with every step.",
        Equals(0, "steps otherwise"),
        COUNTED,
        (EVENTS,),
        run(),
        between(_different),
        stated=Stated("r = 1 is the reference exactly", 0, 0),
    ),
    Claim(
        "core-ratio",
        "With r = 5/2, r = 1/4, and r = 1/2 of three environments, max(1, round(n_envs·r)) updates "
        "follow every tick after the burst: 2, 1 and 2, halves being rounded to even.",
        Equals(0, "ticks otherwise"),
        COUNTED,
        (EVENTS,),
        _RATIOS,
        of("subject", _wrong),
        about="subject",
        core_only=True,
        stated=Stated("max(1, round(n_envs·r)) updates per stepping tick", 0, 0),
    ),
    Claim(
        "core-burst",
        "The burst is S updates with all of them.",
        Equals(0, "updates from that"),
        COUNTED,
        (EVENTS,),
        _RATIOS,
        of("subject", _burst_apart),
        about="subject",
        core_only=True,
        stated=Stated("which stays seed_steps updates", 0, 0),
    ),
    Claim(
        "core-episodic",
        "In the episodic mode max(1, round(m·r)) updates follow a tick that m of three "
        "environments took, for r = 4/5 and m = 1, 2 and 3, and none where the only one did not "
        "step.",
        Equals(0, "ticks otherwise"),
        COUNTED + " An environment does not step while it shows an episode's last row.",
        (EVENTS,),
        runs(
            APART,
            {**MIXED, "episodic": True, "eval_episodes": 0},
        ),
        of("subject", _wrong),
        about="subject",
        core_only=True,
        stated=Stated("max(1, round(m·r)) on a tick that stepped m > 0 environments", 0, 0),
    ),
)

ROW = Entry(
    id="T28",
    agent="TD-MPC2",
    kind="deviation",
    title="Updates per environment step",
    reference=(
        "One update per environment step after the seed-phase burst (online_trainer.py:105-112); "
        "config.yaml has no update-to-data option."
    ),
    subject=(
        "updates_per_step r (default 1): max(1, round(n_envs·r)) updates per stepping tick after "
        "the burst, which stays seed_steps updates; in the episodic mode (T29) max(1, round(m·r)) "
        "on a tick that stepped m > 0 environments."
    ),
    consequence="An opt-in generalisation; r = 1 is the reference exactly (and T7 for n_envs > 1).",
    sources=(
        Source("tdmpc2-b67b21c", "tdmpc2/trainer/online_trainer.py", "105-112"),
        Source("tdmpc2-5f6fade", "tdmpc2/trainer/online_trainer.py", "105-112"),
        Source("tdmpc2-eece801", "tdmpc2/trainer/online_trainer.py", "115-122"),
        Source("tdmpc2-e9f5932", "tdmpc2/trainer/online_trainer.py", "115-122"),
    ),
    pins=PINS,
    claims=CLAIMS,
)
