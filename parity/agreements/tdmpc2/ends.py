"""Ends of episodes that TD-MPC2 predicts in its episodic mode: the head, its loss, and plans."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from parity.agreements.dreamerv3.latent_measures import against_reference, shown
from parity.agreements.measures import fixed, uniform
from parity.agreements.tdmpc2 import case_inputs as draw
from parity.agreements.tdmpc2.entries import BETWEEN, HEAD, agreement
from parity.agreements.tdmpc2.networks import ROWS, bound, why
from parity.agreements.tdmpc2.planner import STDS, E, H, N, compare, fit_claims, in_values, noises
from parity.claims import AtMost, Equals, Measurement, Within, measure_errors
from parity.comparisons import EPSILON, gap, in_epsilon, in_epsilon_nats, questions, worst_of
from parity.implementations import Implementation
from parity.operations import Inputs
from parity.registry import Claim

LOGITS, LOSS, PLAN, FRESH, PLANNED = (
    f"tdmpc2.{name}"
    for name in (
        "termination_logits",
        "termination_loss",
        "episodic_plan",
        "fresh_termination",
        "planned_values",
    )
)
B = 7
DISCOUNT = 0.9375  # a sum of powers of two, as all numbers of `_at_the_threshold` are


def _head(rng: np.random.Generator) -> Inputs:
    return {"latent": draw.simplices(rng, ROWS), **draw.parameters(rng, LOGITS)}


def _losses(rng: np.random.Generator) -> Inputs:
    """Ends that are predicted and missed, in every step another share; two coefficients."""
    shares = np.asarray([0.2, 0.5, 0.4])[:, None]
    given = {
        "latents": draw.simplices(rng, H + 1, B),
        "terminated": (rng.random((H, B)) < shares).astype(np.float32),
        **draw.parameters(rng, LOSS),
    }
    return {"variants": [{**given, "coefficient": c} for c in (1.0, 0.25)]}


def _plan(rng: np.random.Generator) -> Inputs:
    """A head whose logits are on either side of 0 in each step, and not close to it."""
    drawn = {name: value for name, value in noises(rng).items() if name not in ("keep", "scale")}
    parameters = draw.parameters(rng, PLAN)
    parameters["term_out_kernel"] *= np.float32(4)
    parameters["term_out_bias"][:] = -6
    return {
        "observation": uniform(rng, draw.OBS, within=4.0),
        "previous": uniform(rng, H, draw.A, within=0.75),
        **drawn,
        **parameters,
        **{"elites": E, "temperature": 0.5, **STDS},
        **{"discount": 0.95, "simnorm_dim": draw.V, "limit": draw.LIMIT},
    }


def _at_the_threshold(rng: np.random.Generator) -> Inputs:
    """Probabilities of a half, and a little to either side of it, in each step."""
    del rng
    close = np.asarray([0.5, 0.5 - 2.0**-7, 0.5 + 2.0**-7], np.float32)
    ends = np.full((3, 9), 0.25, np.float32)
    for step in range(3):
        ends[step, 3 * step : 3 * step + 3] = close
    return {
        "rewards": np.ldexp(np.float32(1), np.arange(27).reshape(3, 9) % 4 - 2),
        "ends": ends,
        "values": np.full(9, 8, np.float32),
        "discount": DISCOUNT,
        "episodic": True,
    }


def _in_losses(left: np.ndarray, right: np.ndarray, inputs: Inputs) -> np.ndarray:
    """The gap over ε times the largest number of an array, or times 1 where that is smaller."""
    del inputs
    return gap(left, right) / (EPSILON * max(1.0, float(np.abs(right.astype(np.float64)).max())))


def _of_largest(left: np.ndarray, right: np.ndarray, inputs: Inputs) -> np.ndarray:
    """The gap over ε times the largest number of an array."""
    del inputs
    return gap(left, right) / (EPSILON * float(np.abs(right.astype(np.float64)).max()))


def _outputs(**scales: Callable[..., np.ndarray]) -> Callable[..., Measurement]:
    """Subject against reference in some outputs of the loss; parameters are not shown."""

    def measure(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
        found = []
        for question in questions(LOSS, inputs):
            theirs, ours = (side(LOSS, **question) for side in (reference, subject))
            if any(ours[name].shape != theirs[name].shape for name in scales):
                # How many numbers a gradient has, the inputs do not say.
                return Measurement(np.inf, np.inf, 1, note="arrays of other lengths")
            found += [
                measure_errors(
                    scale(ours[name], theirs[name], question),
                    shown(question),
                    answers=(ours[name], theirs[name]),
                )
                for name, scale in scales.items()
            ]
        return worst_of(found)

    return measure


def _stopped(side: Implementation, inputs: Inputs) -> np.ndarray:
    """Which sequences of the first iteration a plan gives another value than without ends."""
    never = {**inputs, "term_out_bias": inputs["term_out_bias"] - np.float32(1e3)}
    with_ends, without = (side(PLAN, **given)["values"][0] for given in (inputs, never))
    return ~(gap(with_ends, without) <= 1e-4)


def _ends(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    """Sequences that one side alone stops; none, or all, is no answer of the reference."""
    theirs, ours = (_stopped(side, inputs) for side in (reference, subject))
    if not 0.1 * N < theirs.sum() < 0.9 * N:
        return Measurement(np.nan, np.nan, N, note=f"{theirs.sum()} of {N} stop")
    apart = float(np.count_nonzero(theirs != ours))
    return Measurement(apart, apart, N, note=f"{theirs.sum()} of {N} stop in the reference")


def threshold_values(inputs: Inputs) -> np.ndarray:
    """The values in float64, where a probability above a half is an end."""
    alive, total = np.ones(inputs["rewards"].shape[1]), np.zeros(inputs["rewards"].shape[1])
    for t, (paid, end) in enumerate(zip(inputs["rewards"], inputs["ends"], strict=True)):
        total += inputs["discount"] ** t * alive * paid
        alive = alive * (end <= 0.5)
    return total + inputs["discount"] ** len(inputs["rewards"]) * alive * inputs["values"]


def _thresholds(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    """Trajectories that one of the sides values otherwise."""
    exact, wrong = threshold_values(inputs), 0
    for side in (reference, subject):
        found = side(PLANNED, **inputs)["planned"]
        wrong += int(np.count_nonzero(~(gap(found, exact) <= 1e-5)))
    return Measurement(wrong, wrong, 2 * len(exact), inputs)


def _fresh(rng: np.random.Generator) -> Inputs:
    del rng
    return {"observation_size": 24, "action_size": 6, "seed": 7}


def _spread(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    found = np.concatenate([side(FRESH, **inputs)["kernel_std"] for side in (reference, subject)])
    return Measurement(float(found.min()) / 0.02, float(found.max()) / 0.02, found.size)


def _starts(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    wrong = 0
    for side in (reference, subject):
        answer = side(FRESH, **inputs)
        wrong += int(answer["alike"]) + int(np.count_nonzero(~(answer["kernel_std"] > 0)))
        for figure in ("bias_peak", "scale_error", "offset_peak"):
            wrong += int(np.count_nonzero(answer[figure]))
    return Measurement(wrong, wrong, 2 * (1 + 4 * 3), inputs)


_AGENT, _MODEL = "tdmpc2.py", "common/world_model.py"
PINS = (HEAD, BETWEEN)

AGREEMENTS = (
    agreement(
        "termination-head",
        "Termination head",
        "Two hidden layers on the latent state, then an affine map to one logit",
        {_MODEL: (None, None, "132-141", "132-141")},
        (
            Claim(
                "equal",
                "Logits of an end are the reference's, at given parameters.",
                AtMost(bound(3), "ε · max(1, |value|)"),
                why(3),
                (LOGITS,),
                _head,
                against_reference(LOGITS, "logits", in_epsilon_nats),
            ),
        ),
        "Ends are predicted from the same features.",
        pins=PINS,
    ),
    agreement(
        "termination-init",
        "Initial termination head",
        "Kernels normal with the standard deviation 0.02, that of the output included; biases 0",
        {
            "common/init.py": (None, None, "4-16", "4-12"),
            _MODEL: (None, None, "28-32", "28-32"),
        },
        (
            Claim(
                "kernels",
                "All of its kernels start with a standard deviation of 0.02.",
                Within(0.8, 1.2, "of 0.02"),
                "The standard deviation of 384 draws, those of the output kernel, is known to "
                "3.6 %: five and a half.",
                (FRESH,),
                _fresh,
                _spread,
            ),
            Claim(
                "starts",
                "Biases and offsets are 0, scales 1; no kernel is 0, or begins as one of another "
                "network.",
                Equals(0, "layers that differ"),
                "Constants are exact, and sixteen equal draws in a row no accident.",
                (FRESH,),
                _fresh,
                _starts,
            ),
        ),
        "The first predictions of an end are undecided, and those of the other heads are 0.",
        pins=PINS,
    ),
    agreement(
        "termination-loss",
        "Loss of predicted ends",
        "Mean cross entropy of the head's probabilities in all rolled-out states but the first, "
        "over steps and sequences alike; in the total with a coefficient of 1",
        {
            _AGENT: (None, None, "282-303", "282-304"),
            "config.yaml": (None, None, "17-21", "17-21"),
        },
        (
            Claim(
                "loss",
                "The loss is the reference's, unweighted by ρ and without its coefficient.",
                AtMost(bound(3), "ε · max(1, |loss|)"),
                f"Logits of both sides are within {bound(3)} ε (claim "
                "tdmpc2-termination-head/equal), and the slope of a cross entropy in its logit is "
                "1 at most.",
                (LOSS,),
                fixed(_losses),
                _outputs(loss=_in_losses),
            ),
            Claim(
                "gradients",
                "The gradient of the total in the states of the rollout and in the head's "
                "parameters is the reference's, at two coefficients; none reaches the first state.",
                AtMost(48, "ε · largest"),
                "Backwards the chain of the claim `loss` is gone through once more, and the "
                "Jacobians of its norms multiply what came in: 3 times its 16.",
                (LOSS,),
                fixed(_losses),
                _outputs(latents_gradient=_of_largest, head_gradient=_of_largest),
            ),
            Claim(
                "scores",
                "So are the share of ends and the score of the predictions, in the last step.",
                AtMost(4, "ε"),
                "Quotients of whole numbers.",
                (LOSS,),
                fixed(_losses),
                _outputs(rate=in_epsilon, f1=in_epsilon),
            ),
        ),
        "The model learns to predict ends as the reference does.",
        pins=PINS,
    ),
    agreement(
        "plan-episodic",
        "Plans in the episodic mode",
        "Σ γᵗ · alive · reward + γᴴ · alive · Q; alive until a step leads to a state to which the "
        "head gives a probability above 0.5, and not after it",
        {_AGENT: (None, None, "123-136", "123-136")},
        (
            Claim(
                "values",
                "The values of all sequences are the reference's in every iteration.",
                AtMost(1, "ε · limit · e^limit · (1 + H)"),
                "As for tdmpc2-plan-head/values; no logit of an end is within rounding of 0.",
                (PLAN,),
                fixed(_plan),
                compare(PLAN, values=in_values),
            ),
            *fit_claims(fixed(_plan), PLAN),
            Claim(
                "ends",
                "A head that predicts no ends gives the same sequences other values on both sides.",
                Equals(0, "sequences"),
                "What follows an end is worth more than 1e-4, or nothing.",
                (PLAN,),
                fixed(_plan),
                _ends,
            ),
            Claim(
                "threshold",
                "A probability of 1/2 is no end, and one of 1/2 + 1/128 is, in every step: on both "
                "sides, the step's own reward counts, and nothing that follows.",
                Equals(0, "trajectories"),
                "Rewards of 1/4 and more; sums of 4 terms are known to 1e-5.",
                (PLANNED,),
                _at_the_threshold,
                _thresholds,
            ),
        ),
        "Plans stop at the same ends.",
        pins=PINS,
    ),
)
