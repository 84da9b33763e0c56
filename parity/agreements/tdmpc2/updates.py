"""Whole updates of TD-MPC2: targets, losses and both steps, put together."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from parity.agreements.measures import fixed, uniform
from parity.agreements.tdmpc2 import case_inputs as draw
from parity.agreements.tdmpc2.entries import agreement
from parity.agreements.tdmpc2.losses import DISCOUNT, LIMIT, B, of_largest, relative_to_one
from parity.claims import AtMost, Measurement, measure_errors
from parity.comparisons import EPSILON, gap, worst_of
from parity.implementations import Implementation
from parity.operations import Inputs
from parity.registry import Claim

UPDATE = "tdmpc2.update"
UPDATE_STEPS = 2  # compiled quickly, and enough for a rollout


def _unsaturated(parameters: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """A policy whose actions stay off ±1, where 1 − action², and its logarithm, lose all digits."""
    kernel = parameters["pi_out_kernel"] / np.float32(4)
    return {**parameters, "pi_out_kernel": kernel}


def update_cases(era: str) -> Callable[[np.random.Generator], Inputs]:
    """A batch for small networks, and everything random of one update."""

    def make(rng: np.random.Generator) -> Inputs:
        steps = UPDATE_STEPS
        ends = rng.random((steps, B)) < (0.0 if era == "paper" else 0.3)
        rate = 0.25
        return {
            "observation": uniform(rng, steps + 1, B, draw.OBS, within=4.0),
            "action": uniform(rng, steps, B, draw.A, within=1.0),
            "reward": uniform(rng, steps, B, within=4.0),
            "terminated": ends.astype(np.float32),
            "scale": np.full((), 1.5, np.float32),
            "target_noise": draw.normal(rng, steps, B, draw.A),
            "target_members": np.asarray([2, 0], np.int64),
            "target_keep": draw.keep(rng, 2, steps, B, rate=rate),
            "q_keep": draw.keep(rng, draw.M, steps, B, rate=rate),
            "policy_noise": draw.normal(rng, steps + 1, B, draw.A),
            "policy_members": np.asarray([1, 3], np.int64),
            "policy_keep": draw.keep(rng, 2, steps + 1, B, rate=rate),
            **_unsaturated(draw.parameters(rng, UPDATE)),
            **{"dropout": rate, "discount": DISCOUNT, "simnorm_dim": draw.V, "limit": LIMIT},
            **{"learning_rate": 2.0**-14, "era": era},
        }

    return fixed(make)


UPDATE_LOSSES = ("consistency", "reward_loss", "value_loss")


def _returns_in_place(left: np.ndarray, right: np.ndarray, inputs: Inputs) -> np.ndarray:
    """The gap between targets over ε · limit · (|reward| + e^limit)."""
    size = inputs["limit"] * (np.abs(inputs["reward"]) + np.exp(inputs["limit"]))
    return gap(left, right) / (EPSILON * size)


def _compare(**scales: Callable[..., np.ndarray]) -> Callable[..., Measurement]:
    """Subject against reference in some outputs of an update; parameters are not shown."""

    def measure(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
        theirs, ours = (side(UPDATE, **inputs) for side in (reference, subject))
        if any(ours[name].shape != theirs[name].shape for name in scales):
            # How many numbers a gradient has, the inputs do not say.
            return Measurement(np.inf, np.inf, 1, note="arrays of other lengths")
        return worst_of(
            measure_errors(
                scale(ours[name], theirs[name], inputs), {}, answers=(ours[name], theirs[name])
            )
            for name, scale in scales.items()
        )

    return measure


def _update_claims(era: str) -> tuple[Claim, ...]:
    cases = update_cases(era)
    return (
        Claim(
            "targets",
            "Targets are the reference's: of the encoded next observations, and with what was "
            "drawn.",
            AtMost(1, "ε · limit · (|reward| + e^limit)"),
            "Logits at the end of a chain of 8 layers (encoder, policy, Q network) are known to "
            "about 12 ε a side, and the expectation over the bins averages their errors: a few ε "
            "of the limit, times e^x where the value is symexp(x), and x is below the limit.",
            (UPDATE,),
            cases,
            _compare(returns=_returns_in_place),
        ),
        Claim(
            "losses",
            "The three losses of the model are the reference's.",
            AtMost(16, "ε · max(1, |loss|)"),
            "At the end of a rollout (encoder, dynamics, a head) logits are known "
            "to about 16 ε a side; means over sequences and steps leave half of that.",
            (UPDATE,),
            cases,
            _compare(**dict.fromkeys(UPDATE_LOSSES, relative_to_one)),
        ),
        Claim(
            "gradient",
            "The gradient of the model's loss is the reference's, leaf by leaf.",
            AtMost(48, "ε · largest"),
            "Backwards the chain of the claim `losses` is gone through once more, and Jacobians of "
            "norms and simplices multiply what came in: 3 times its 16.",
            (UPDATE,),
            cases,
            _compare(model_gradient=of_largest),
        ),
        Claim(
            "policy",
            "The policy's loss, its gradient and the running scale are the reference's, with the "
            "Q networks as the model's step left them.",
            AtMost(256, "ε · max(1, |value|) or largest"),
            "As for `gradient`. Adam's first step is the learning rate, 2⁻¹⁴, times the sign of "
            "each number of the gradient: the few that rounding turns around move a parameter by "
            "2⁻¹³, 1000 ε of a number of the size 1, a tenth of which reaches a mean over "
            "sequences. Without the step, all parameters are off by half of that.",
            (UPDATE,),
            cases,
            _compare(
                policy_loss=relative_to_one, scale=relative_to_one, policy_gradient=of_largest
            ),
        ),
    )


_AGENT = "tdmpc2.py"

AGREEMENTS = (
    agreement(
        "update-paper",
        "A whole update, in the paper's era",
        "Targets, losses, both steps, in this order; dropout in targets",
        {_AGENT: ("214-286", "218-290", None, None)},
        _update_claims("paper"),
        "What the parts compute is put together as in the reference.",
        pins=("tdmpc2-5f6fade", "tdmpc2-b67b21c"),
    ),
    agreement(
        "update-head",
        "A whole update, in later commits",
        "Targets with terminations, losses, both steps, in this order; no dropout in targets",
        {_AGENT: (None, None, "259-330", "259-332")},
        _update_claims("head"),
        "What the parts compute is put together as in the reference.",
        pins=("tdmpc2-e9f5932", "tdmpc2-eece801"),
    ),
)
