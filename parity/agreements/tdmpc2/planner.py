"""Planning: one fit to the elites, and whole plans."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from parity.agreements.measures import compare_outputs, fixed, truths, uniform
from parity.agreements.tdmpc2 import case_inputs as draw
from parity.agreements.tdmpc2.entries import Lines, agreement
from parity.claims import AtMost, Equals, Measurement, measure_errors
from parity.comparisons import EPSILON, Scale, gap, in_epsilon, worst_of
from parity.implementations import Implementation
from parity.operations import Inputs
from parity.registry import Claim, Entry

FIT, PLAN = "tdmpc2.fit", "tdmpc2.plan"
H, I, P, S, E = 3, 3, 4, 16, 6  # noqa: E741
N = P + S
STDS = {"min_std": 0.05, "max_std": 2.0}


def _fit_cases(rng: np.random.Generator) -> Inputs:
    """Values far apart and close together; actions that agree so much that the least std shows."""
    actions = uniform(rng, H, N, draw.A, within=1.0)
    actions[0, :, 0] = np.float32(0.25) + actions[0, :, 0] / 64
    values = uniform(rng, N, within=4.0)
    close = (3 + uniform(rng, N, within=2.0**-3)).astype(np.float32)
    settings = {"elites": E, "temperature": 0.5, **STDS}
    return {
        "variants": [
            {"actions": actions, "values": values, **settings},
            {"actions": actions, "values": close, **settings},
            {"actions": actions, "values": values, **settings, "temperature": 2.0},
        ]
    }


def _two_elites(rng: np.random.Generator) -> Inputs:
    """Elites of the values 2 and 0 at the actions 1 and 0: the mean is the first one's weight."""
    del rng
    return {
        "actions": np.asarray([[[0], [1], [0.5]]], np.float32),
        "values": np.asarray([0, 2, -5], np.float32),
        **{"elites": 2, "temperature": 0.5, **STDS},
    }


def fitted(inputs: Inputs) -> dict[str, np.ndarray]:
    """The fit in float64, from the formula."""
    order = np.argsort(-inputs["values"].astype(np.float64), kind="stable")[: inputs["elites"]]
    best = inputs["values"].astype(np.float64)[order]
    weights = np.exp(inputs["temperature"] * (best - best.max()))
    weights = (weights / weights.sum())[None, :, None]
    actions = inputs["actions"].astype(np.float64)[:, order]
    mean = np.sum(weights * actions, axis=1)
    std = np.sqrt(np.sum(weights * (actions - mean[:, None]) ** 2, axis=1))
    return {"mean": mean, "std": np.clip(std, inputs["min_std"], inputs["max_std"])}


FIT_SCALES: dict[str, Scale] = dict.fromkeys(("mean", "std"), in_epsilon)


def noises(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Everything random of a plan, and the running scale."""
    return {
        "policy_noise": draw.normal(rng, H, P, draw.A),
        "samples": draw.normal(rng, I, H, S, draw.A),
        "value_noise": draw.normal(rng, I, N, draw.A),
        "members": np.asarray([[0, 2], [3, 1], [1, 0]], np.int64),
        "keep": draw.keep(rng, I, 2, N),
        "gumbel": uniform(rng, E, within=2.0),
        "action_noise": draw.normal(rng, draw.A),
        "scale": np.full((), 1.5, np.float32),
    }


def _plan(era: str, *, t0: bool, explore: bool, masked: bool = False) -> Callable[..., Inputs]:
    def make(rng: np.random.Generator) -> Inputs:
        return {
            "observation": uniform(rng, draw.OBS, within=4.0),
            "previous": uniform(rng, H, draw.A, within=0.75),
            "t0": t0,
            "explore": explore,
            **noises(rng),
            "mask": np.asarray([1, 1, 0 if masked else 1], np.float32),
            **draw.parameters(rng, PLAN),
            **{"elites": E, "temperature": 0.5, **STDS, "dropout": 0.25},
            **{"discount": 0.95, "simnorm_dim": draw.V, "limit": draw.LIMIT, "era": era},
        }

    return fixed(make)


def in_values(left: np.ndarray, right: np.ndarray, inputs: Inputs) -> np.ndarray:
    """The gap between values over ε · limit · e^limit · (1 + H)."""
    size = inputs["limit"] * np.exp(inputs["limit"]) * (1 + len(inputs["previous"]))
    return gap(left, right) / (EPSILON * size)


def compare(operation: str, **scales: Callable[..., np.ndarray]) -> Callable[..., Measurement]:
    """Subject against reference in some outputs of a plan; parameters are not shown."""

    def measure(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
        theirs, ours = (side(operation, **inputs) for side in (reference, subject))
        return worst_of(
            measure_errors(
                scale(ours[name], theirs[name], inputs), {}, answers=(ours[name], theirs[name])
            )
            for name, scale in scales.items()
        )

    return measure


def _evaluation(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    """Numbers that an evaluation changes, and means that it leaves otherwise, on either side."""
    theirs, ours = (side(PLAN, **inputs) for side in (reference, subject))
    moved = ~(gap(ours["mean"], theirs["mean"]) <= 1e-3)
    wrong = int(theirs["changed"]) + int(ours["changed"]) + int(np.count_nonzero(moved))
    return Measurement(wrong, wrong, 2 + moved.size)


def _masked(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    """As `mean` and `action`; a masked number that is not 0 is infinitely wrong, on either side."""
    found = [compare(PLAN, mean=in_epsilon, action=in_epsilon)(subject, reference, inputs)]
    absent = inputs["mask"] == 0
    for side in (reference, subject):
        answer = side(PLAN, **inputs)
        still = np.concatenate([answer["mean"][:, absent].ravel(), answer["action"][absent]])
        found.append(measure_errors(np.where(still == 0, 0.0, np.inf), {}))
    return worst_of(found)


SHIFT = (
    "A value of a few units is known to about 20 ε a side, half of which moves the logarithms of "
    "the elites' weights; 6 elites and their agreement, which is within 1, leave a third of it in "
    "a fit. Each of the 3 iterations passes its error on to the next."
)


def fit_claims(
    cases: Callable[[np.random.Generator], Inputs], operation: str = PLAN
) -> tuple[Claim, ...]:
    """That iterations are fitted alike, and so the same action is taken."""
    return (
        Claim(
            "fits",
            "So is what each iteration draws with, and the last fit.",
            AtMost(32, "ε"),
            SHIFT,
            (operation,),
            cases,
            compare(operation, means=in_epsilon, stds=in_epsilon, mean=in_epsilon),
        ),
        Claim(
            "action",
            "The action of the drawn elite, with exploration, is the reference's.",
            AtMost(48, "ε"),
            SHIFT + " The noise adds a std twice as wide.",
            (operation,),
            cases,
            compare(operation, action=in_epsilon),
        ),
    )


def _plans(name: str, era: str, title: str, lines: Lines, pins: tuple[str, ...]) -> Entry:
    first, later = _plan(era, t0=True, explore=True), _plan(era, t0=False, explore=True)
    evaluated = _plan(era, t0=False, explore=False)
    return agreement(
        name,
        title,
        "6 iterations of sampling, rolling out and fitting; the action of a drawn elite",
        {"tdmpc2.py": lines},
        (
            Claim(
                "values",
                "The values of all sequences are the reference's in every iteration, at the start "
                "of an episode.",
                AtMost(1, "ε · limit · e^limit · (1 + H)"),
                "Logits are known to 8 ε (claim tdmpc2-reward-head/equal), and the expectation "
                "over the bins averages their errors: a few ε of the limit, times e^x where the "
                "value is symexp(x), and x is well below the limit.",
                (PLAN,),
                first,
                compare(PLAN, values=in_values),
            ),
            *fit_claims(first),
            Claim(
                "warm-start",
                "Within an episode, a plan starts from the previous mean a step later.",
                AtMost(32, "ε"),
                SHIFT,
                (PLAN,),
                later,
                compare(PLAN, means=in_epsilon, stds=in_epsilon, mean=in_epsilon),
            ),
            Claim(
                "evaluation-action",
                "In an evaluation too an elite is drawn, and its action taken as it is.",
                AtMost(32, "ε"),
                SHIFT,
                (PLAN,),
                evaluated,
                compare(PLAN, action=in_epsilon),
            ),
            Claim(
                "evaluation",
                "An evaluation changes no parameter and not the running scale, and leaves its mean "
                "for the next plan, as the reference does.",
                Equals(0, "numbers"),
                "Whether a number changes is a matter of yes or no; a mean that is not the "
                "plan's differs by far more than 1e-3.",
                (PLAN,),
                evaluated,
                _evaluation,
            ),
            Claim(
                "masked",
                "Actions that a task lacks are exactly 0 in mean and action, and everything else "
                "is the reference's.",
                AtMost(48, "ε"),
                SHIFT,
                (PLAN,),
                _plan(era, t0=True, explore=False, masked=True),
                _masked,
            ),
        ),
        "The agent acts as the reference's would with the same draws.",
        pins=pins,
    )


AGREEMENTS = (
    agreement(
        "fit",
        "Fit to the elites",
        "Weights softmax(0.5 · value) of the best; their mean, and their std within [0.05, 2]",
        {"tdmpc2.py": ("145-155", "149-159", "184-194", "184-194")},
        (
            Claim(
                "equal",
                "Mean and standard deviation are the reference's, for values near and far.",
                AtMost(16, "ε"),
                "Weights are known to 4 ε a side; sums of 6 products of numbers below 1 round 6 "
                "times half an ε. A variance of ε² rounds to a deviation of ε.",
                (FIT,),
                fixed(_fit_cases),
                compare_outputs(FIT, FIT_SCALES),
            ),
            Claim(
                "formula",
                "Those of both sides are the formula's.",
                AtMost(12, "ε"),
                "As for `equal`, of one side.",
                (FIT,),
                fixed(_fit_cases),
                truths(
                    FIT,
                    {
                        "mean": (lambda i: fitted(i)["mean"], in_epsilon),
                        "std": (lambda i: fitted(i)["std"], in_epsilon),
                    },
                ),
            ),
            Claim(
                "figures",
                "Elites of the values 2 and 0 weigh 0.7311 and 0.2689 at a temperature of 0.5.",
                AtMost(8, "ε"),
                "One exponential, a sum and a quotient.",
                (FIT,),
                fixed(_two_elites),
                truths(FIT, {"mean": (lambda i: 1 / (1 + np.exp([[-1.0]])), in_epsilon)}),
            ),
        ),
        "Plans move towards the reference's elites.",
    ),
    _plans(
        "plan-paper",
        "paper",
        "Plans of the paper's era",
        ("69-167", "70-171", None, None),
        ("tdmpc2-5f6fade",),
    ),
    _plans(
        "plan-head",
        "head",
        "Plans of later commits",
        (None, None, None, "97-206"),
        ("tdmpc2-e9f5932",),
    ),
)
