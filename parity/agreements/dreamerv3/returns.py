"""Returns, advantages and the losses of actor and critic, on given numbers."""

from __future__ import annotations

import numpy as np

from parity.agreements.dreamerv3.entries import agreement
from parity.agreements.dreamerv3.imagined import IMAGINATION
from parity.agreements.dreamerv3.replayed import REPLAYED
from parity.agreements.dreamerv3.sizes import GAMMA, RETURN_ROUNDINGS, lambda_returns
from parity.agreements.measures import (
    compare_outputs,
    fixed,
    flags,
    over,
    truths,
    uniform,
)
from parity.claims import AtMost, Measurement, measure_errors
from parity.comparisons import EPSILON, in_epsilon
from parity.implementations import Implementation
from parity.operations import Inputs
from parity.registry import Claim

RETURNS, ACTOR = "dreamerv3.imagined_returns", "dreamerv3.actor_loss"
N, H = 7, 5


def _continues(rng: np.random.Generator, n: int, horizon: int) -> np.ndarray:
    """Starts that are terminal and such that are not; predictions up to γ, some of them 0."""
    continues = rng.random((n, horizon + 1)) * GAMMA
    continues[:, 1:] = np.where(flags(rng, n, horizon, share=0.1), 0.0, np.sqrt(continues[:, 1:]))
    continues[:, 1:] = np.minimum(continues[:, 1:], GAMMA)
    continues[:, 0] = np.arange(n) % 3 != 2
    return continues.astype(np.float32)


def _numbers(rng: np.random.Generator, size: float, normaliser: tuple[float, float]) -> Inputs:
    return {
        "rewards": uniform(rng, N, H + 1, within=size),
        "continues": _continues(rng, N, H),
        "values": uniform(rng, N, H + 1, within=4 * size),
        "normaliser": np.asarray(normaliser, np.float32),
        "horizon": H,
    }


def _return_cases(rng: np.random.Generator) -> Inputs:
    """Large returns under a wide normaliser, and small ones under its limit."""
    return {"variants": [_numbers(rng, 8.0, (-3.0, 40.0)), _numbers(rng, 0.25, (0.0, 0.5))]}


def _episode(rng: np.random.Generator) -> Inputs:
    """Three steps into a terminal state."""
    del rng
    return {
        "rewards": np.asarray([[100, 1, 2, 3]], np.float32),
        "continues": np.asarray([[1, GAMMA, GAMMA, 0]], np.float32),
        "values": np.asarray([[1000, 10, 20, 30]], np.float32),
        "normaliser": np.zeros(2, np.float32),
        "horizon": 3,
    }


def _return_size(inputs: Inputs) -> np.ndarray:
    return lambda_returns(np.abs(inputs["rewards"]), inputs["continues"], np.abs(inputs["values"]))


def _advantage_size(inputs: Inputs) -> np.ndarray:
    return _return_size(inputs) + np.abs(inputs["values"][:, :-1])


def _largest_return(inputs: Inputs) -> float:
    return float(max(_return_size(inputs).max(), np.abs(inputs["normaliser"]).max()))


def _weights(inputs: Inputs) -> np.ndarray:
    return np.cumprod(inputs["continues"].astype(np.float64), axis=1)


def _loss_cases(rng: np.random.Generator) -> Inputs:
    return {
        **_numbers(rng, 8.0, (-3.0, 4.0)),
        "log_probs": uniform(rng, N, H + 1, within=4.0),
        "entropies": uniform(rng, N, H + 1, within=2.0),
        "actent": 2.0**-3,
    }


def _loss_size(inputs: Inputs) -> np.ndarray:
    scored = np.abs(inputs["log_probs"][:, :-1]) * _advantage_size(inputs)
    bonus = inputs["actent"] * np.abs(inputs["entropies"][:, :-1])
    return _weights(inputs)[:, :-1] * (scored + bonus)


def _score_size(inputs: Inputs) -> np.ndarray:
    size = _weights(inputs)[:, :-1] * _advantage_size(inputs) / (N * H)
    return np.pad(size, ((0, 0), (0, 1)))


def _bonus_size(inputs: Inputs) -> np.ndarray:
    return np.pad(_weights(inputs)[:, :-1], ((0, 0), (0, 1))) * inputs["actent"] / (N * H)


def _coefficient(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    """The loss at the coefficients 1 and 0: their difference is −weight · entropy."""
    del reference
    losses = [subject(ACTOR, **{**inputs, "actent": value})["loss"] for value in (1.0, 0.0)]
    found = losses[0].astype(np.float64) - losses[1]
    expected = -_weights(inputs)[:, :-1] * inputs["entropies"][:, :-1]
    errors = np.abs(found - expected) / EPSILON
    size = _loss_size({**inputs, "actent": 1.0})
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = np.where(errors == 0, 0.0, errors / size)
    return measure_errors(relative, inputs, answers=(found, expected))


AGREEMENTS = (
    agreement(
        "imagined-returns",
        "λ-returns, weights and normalised advantages",
        "R_t = r_{t+1} + c_{t+1} ((1 − λ) v_{t+1} + λ R_{t+1}); weight_t = Π c_k, k ≤ t; "
        "(R − v) / max(1, P95 − P5)",
        (("dreamerv3/agent.py", "285-315", "301-331"),),
        (
            Claim(
                "returns",
                "The λ-returns of imagined trajectories are the reference's.",
                AtMost(15, "ε · return of |r| and |v|"),
                RETURN_ROUNDINGS,
                (RETURNS,),
                fixed(_return_cases),
                compare_outputs(RETURNS, {"returns": over(_return_size)}),
            ),
            Claim(
                "weights",
                "States count as in the reference, from the start's own continue on.",
                AtMost(6, "ε of the weight"),
                "A product of 6 factors rounds 5 times by half an ε, on each side.",
                (RETURNS,),
                fixed(_return_cases),
                compare_outputs(RETURNS, {"weights": over(_weights)}),
            ),
            Claim(
                "normaliser",
                "The normaliser moves as the reference's with these returns.",
                AtMost(16, "ε · largest return"),
                "Percentiles of the returns of claim `returns`, with a weight of 0.01, and two "
                "products and a sum of numbers of the size of the normaliser.",
                (RETURNS,),
                fixed(_return_cases),
                compare_outputs(RETURNS, {"normaliser": over(_largest_return)}),
            ),
            Claim(
                "advantages",
                "Advantages are the reference's, under a wide normaliser and at its limit of 1.",
                AtMost(24, "ε · (return of |r| and |v|, + |v|)"),
                "The returns' 15, a difference and a quotient by a scale of at least 1, which is "
                "known as well as the normaliser.",
                (RETURNS,),
                fixed(_return_cases),
                compare_outputs(RETURNS, {"advantages": over(_advantage_size)}),
            ),
            Claim(
                "figures",
                "Rewards 1, 2, 3 into a terminal state give 7.0284, 5.8384, 3 and weights 1, γ, "
                "γ², 0.",
                AtMost(15, "ε · return of |r| and |v|"),
                RETURN_ROUNDINGS,
                (RETURNS,),
                fixed(_episode),
                truths(
                    RETURNS,
                    {
                        "returns": (
                            lambda i: lambda_returns(i["rewards"], i["continues"], i["values"]),
                            over(_return_size),
                        ),
                        "weights": (_weights, in_epsilon),
                    },
                ),
            ),
        ),
        "Actor and critic look as far ahead, and as little past an end, as in the reference.",
    ),
    agreement(
        "actor-loss",
        "The actor's loss",
        "−weight · (ln π · advantage + η · entropy), of one and the same state",
        (("dreamerv3/agent.py", "312-321", "328-342"),),
        (
            Claim(
                "values",
                "The loss of every state is the reference's.",
                AtMost(
                    30, "ε · weight · (|ln π| · (return of |r| and |v|, + |v|) + η · |entropy|)"
                ),
                "An advantage within 24, a weight within 3, and four roundings.",
                (ACTOR,),
                fixed(_loss_cases),
                compare_outputs(ACTOR, {"loss": over(_loss_size)}),
            ),
            Claim(
                "gradients",
                "Its gradients in log-probabilities and entropies are the reference's, and 0 in "
                "the last state.",
                AtMost(30, "ε · weight · (return of |r| and |v|, + |v|), or · η, / elements"),
                "An advantage within 24, a weight within 3, and three roundings.",
                (ACTOR,),
                fixed(_loss_cases),
                compare_outputs(
                    ACTOR,
                    {"to_log_probs": over(_score_size), "to_entropies": over(_bonus_size)},
                ),
            ),
            Claim(
                "entropy-coefficient",
                "One unit of the entropy coefficient is worth one weight times one entropy.",
                AtMost(8, "ε · size of the loss"),
                "The difference of two losses, each of which rounds a product with the weight, a "
                "sum and another product; the weight is within 3.",
                (ACTOR,),
                fixed(_loss_cases),
                _coefficient,
                about="subject",
            ),
        ),
        "Actions are reinforced as much, and explored as much, as in the reference.",
    ),
    *REPLAYED,
    *IMAGINATION,
)
