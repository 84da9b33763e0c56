"""T8: what the first planned step starts from."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from deviations.tdmpc2_runs import (
    AT_ZERO,
    COUNTED,
    EVENTS,
    LATER,
    OF_EVALUATION,
    PAPER,
    PINS,
    between,
    differing,
    first_plan,
    of,
    run,
    ticks,
)
from parity.agreements.measures import uniform
from parity.agreements.tdmpc2 import case_inputs as draw
from parity.claims import AtMost, Equals, Measurement, Stated
from parity.implementations import Implementation
from parity.operations import Answer, Inputs
from parity.registry import Claim, Entry, Source

PLAN = "tdmpc2.plan"
NO_MEAN = 3  # as in `tdmpc2.run_events`
DRAWS = 12
H, ITERATIONS, POLICIES, SAMPLED, ELITES = 3, 6, 2, 30, 8


def _from_evaluation(answer: Answer, asked: Inputs) -> float:
    """Plans of training that start from an evaluation's mean, if the first one does."""
    del asked
    found = np.flatnonzero(answer["before"][:, 0] == OF_EVALUATION)
    return float(len(found)) if first_plan(answer) in found[:1] else np.nan


def _place(answer: Answer, asked: Inputs) -> np.ndarray:
    """Steps of its episode before the first planned one, which the planner is not told of."""
    del asked
    first = first_plan(answer)
    told = answer["t0"][first : first + 1, 0] != 0
    return np.where(told, np.nan, answer["step"][first : first + 1, 0])


def _without(answer: Answer, asked: Inputs) -> float:
    """Steps that are planned without an evaluation before, until the planner fails."""
    del asked
    return float(answer["planned"].sum()) if answer["error"] == NO_MEAN else np.nan


def _not_from_zeros(answer: Answer, asked: Inputs) -> np.ndarray:
    """Whether the first plan starts from anything but zeros, within an episode."""
    del asked
    first = first_plan(answer)
    within = answer["step"][first : first + 1] > 0
    wrong = (answer["before"][first : first + 1] != AT_ZERO).astype(float)
    return np.where(within, wrong, np.nan).ravel()


def _of_core(answer: Answer, asked: Inputs) -> np.ndarray:
    """The same, if there was an evaluation before."""
    before = answer["evaluated"] <= first_plan(answer)
    return _not_from_zeros(answer, asked) if before.any() else np.full(1, np.nan)


def _differ(theirs: Answer, ours: Answer, asked: Inputs) -> float:
    """Plans that start from another mean."""
    del asked
    return differing(theirs, ours, "before") if first_plan(ours) < ticks(ours) else np.nan


def _plans(era: str) -> Callable[[np.random.Generator], Inputs]:
    """One state of random networks, and noise of several plans from each of two means."""

    def make(rng: np.random.Generator) -> Inputs:
        total = POLICIES + SAMPLED
        fixed = {
            "observation": uniform(rng, draw.OBS, within=4.0),
            **{"t0": False, "explore": True, "mask": np.ones(draw.A, np.float32)},
            **draw.parameters(rng, PLAN),
            **{"scale": np.ones((), np.float32), "elites": ELITES, "temperature": 0.5},
            **{"min_std": 0.05, "max_std": 2.0, "dropout": 0.25, "discount": 0.99},
            **{"simnorm_dim": draw.V, "limit": draw.LIMIT, "era": era},
        }
        leftover = uniform(rng, H, draw.A, within=1.0)
        variants = []
        for _ in range(DRAWS):
            members = [rng.permutation(draw.M)[:2] for _ in range(ITERATIONS)]
            noise = {
                "policy_noise": draw.normal(rng, H, POLICIES, draw.A),
                "samples": draw.normal(rng, ITERATIONS, H, SAMPLED, draw.A),
                "value_noise": draw.normal(rng, ITERATIONS, total, draw.A),
                "members": np.asarray(members, np.int64),
                "keep": draw.keep(rng, ITERATIONS, 2, total),
                "gumbel": uniform(rng, ELITES, within=2.0),
                "action_noise": draw.normal(rng, draw.A),
            }
            for previous in (leftover, np.zeros_like(leftover)):
                variants.append({"previous": previous, **noise, **fixed})
        return {"variants": variants}

    return make


def _effect(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    """How much the leftover changes an action, over how much other noise does."""
    del subject
    actions = [reference(PLAN, **asked)["action"] for asked in inputs["variants"]]
    left, zeros = (np.asarray(actions[i::2], np.float64) for i in (0, 1))
    changed = np.abs(left - zeros).mean()
    pairs = np.abs(zeros[:, None] - zeros[None]).mean() * DRAWS / (DRAWS - 1)
    note = f"by {changed:.2g} on average, of actions in ±1; other noise by {pairs:.2g}"
    ratio = float(changed / pairs)
    return Measurement(ratio, ratio, DRAWS, note=note)


def _effect_at(name: str, era: str, pins: tuple[str, ...]) -> Claim:
    return Claim(
        name,
        "A mean that another plan left, up to ±1 in every number, changes the first action less "
        "than another draw of the planner's noise does: measured on random networks, with plans "
        f"of the {era} era.",
        AtMost(1, "of what other noise does"),
        "The action is one of the elites, drawn at random, with noise on it: what changes it less "
        "than another draw can not be told from one.",
        (PLAN,),
        _plans(era),
        _effect,
        about="reference",
        pins=pins,
        stated=Stated("Negligible", 0, 1),
    )


CLAIMS = (
    Claim(
        "reference",
        "In the reference one plan of training starts from the mean that an evaluation has left: "
        "the first one, long after the evaluation at step 0.",
        Equals(1, "plans"),
        COUNTED + " A plan's first mean is held against those that the plans before have left.",
        (EVENTS,),
        run(),
        of("reference", _from_evaluation),
        about="reference",
        stated=Stated("warm-starts from the leftover mean of the evaluation", 1, 1),
    ),
    Claim(
        "reference-place",
        "That plan is for the second step of an episode, so that nothing tells the planner to "
        "begin anew: S + 1 actions are random, and S is a number of whole episodes.",
        Equals(1, "steps into the episode"),
        COUNTED,
        (EVENTS,),
        run(),
        of("reference", _place),
        about="reference",
    ),
    Claim(
        "reference-without",
        "In the paper's era, without an evaluation before it, it fails: there is no mean.",
        Equals(0, "steps planned"),
        COUNTED,
        (EVENTS,),
        run(eval_episodes=0),
        of("reference", _without),
        about="reference",
        pins=PAPER,
    ),
    Claim(
        "reference-without-later",
        "From eece801 on it then starts from zeros, as the core does.",
        Equals(0, "plans otherwise"),
        COUNTED,
        (EVENTS,),
        run(eval_episodes=0),
        of("reference", _not_from_zeros),
        about="reference",
        pins=LATER,
    ),
    Claim(
        "core",
        "The core's first plan starts from zeros, though there were evaluations before it.",
        Equals(0, "plans otherwise"),
        COUNTED,
        (EVENTS,),
        run(eval_every=5),
        of("subject", _of_core),
        about="subject",
        core_only=True,
        stated=Stated("Zeros", 0, 0),
    ),
    Claim(
        "one",
        "Of all plans of a run, it is the only one that starts from another mean than the core's.",
        Equals(1, "plans otherwise"),
        COUNTED,
        (EVENTS,),
        run(),
        between(_differ),
        core_only=True,
    ),
    _effect_at("effect", "paper", PAPER),
    # At eece801 a plan heeds a termination head that is random here.
    _effect_at("effect-later", "head", LATER[1:]),
)

ROW = Entry(
    id="T8",
    agent="TD-MPC2",
    kind="deviation",
    title="Warm start of the first planned step",
    reference=(
        "The first planned step after seeding warm-starts from the leftover mean of the evaluation "
        "at step 0."
    ),
    subject="Zeros.",
    consequence="Negligible.",
    sources=(
        Source("tdmpc2-b67b21c", "tdmpc2/trainer/online_trainer.py", "97-98"),
        Source("tdmpc2-5f6fade", "tdmpc2/trainer/online_trainer.py", "97-98"),
        Source("tdmpc2-eece801", "tdmpc2/trainer/online_trainer.py", "107-108"),
        Source("tdmpc2-e9f5932", "tdmpc2/trainer/online_trainer.py", "107-108"),
        Source("tdmpc2-b67b21c", "tdmpc2/tdmpc2.py", "128-129"),
        Source("tdmpc2-5f6fade", "tdmpc2/tdmpc2.py", "132-133"),
        Source("tdmpc2-eece801", "tdmpc2/tdmpc2.py", "166-167"),
        Source("tdmpc2-e9f5932", "tdmpc2/tdmpc2.py", "166-167"),
    ),
    status="reference bug",
    pins=PINS,
    claims=CLAIMS,
)
