"""Targets and losses of TD-MPC2, on given predictions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from parity import cases
from parity.agreements.measures import compare_outputs, fixed, over, truths, uniform
from parity.agreements.tdmpc2 import case_inputs as draw
from parity.agreements.tdmpc2.entries import agreement
from parity.agreements.tdmpc2.twohot import symlog64
from parity.claims import AtMost
from parity.comparisons import EPSILON, gap
from parity.operations import Inputs
from parity.registry import Claim

TARGETS, MODEL, POLICY = (f"tdmpc2.{name}" for name in ("td_targets", "model_loss", "policy_loss"))
H, B = 3, 5
LIMIT = draw.LIMIT
DISCOUNT = 0.99


def _target_cases(terminated: bool) -> Callable[[np.random.Generator], Inputs]:
    def make(rng: np.random.Generator) -> Inputs:
        ends = rng.random((H, B)) < (0.4 if terminated else 0.0)
        return {
            "q_logits": uniform(rng, draw.M, H, B, draw.N, within=3.0),
            "members": np.asarray([2, 0], np.int64),
            "reward": uniform(rng, H, B, within=4.0),
            "terminated": ends.astype(np.float32),
            "discount": DISCOUNT,
            "limit": LIMIT,
        }

    return make


def _sized_by_limit(inputs: Inputs) -> np.ndarray:
    """|reward| + γ · the largest value: what a target adds up."""
    return np.abs(inputs["reward"]) + inputs["discount"] * np.expm1(inputs["limit"])


def _known(rng: np.random.Generator) -> Inputs:
    """Rewards of 1 and values of 10, the last step terminating: 10.9, 10.9 and 1."""
    del rng
    logits = np.full((2, 3, 1, 3), -200.0, np.float32)
    logits[..., 2] = 200.0
    return {
        "q_logits": logits,
        "members": np.asarray([0, 1], np.int64),
        "reward": np.ones((3, 1), np.float32),
        "terminated": np.asarray([[0], [0], [1]], np.float32),
        "discount": DISCOUNT,
        "limit": float(np.log1p(10.0)),
    }


def _predictions(rng: np.random.Generator) -> Inputs:
    """Errors, logits and targets that differ in every step, network and sequence."""
    size = np.ldexp(1.0, np.arange(H))[:, None, None]
    return {
        "latents": draw.simplices(rng, H, B),
        "next_latents": (draw.simplices(rng, H, B) / size).astype(np.float32),
        "reward_logits": cases.logits(rng, H * B, draw.N, -2, 3).reshape(H, B, draw.N),
        "reward": uniform(rng, H, B, within=12.0),
        "q_logits": uniform(rng, draw.M, H, B, draw.N, within=3.0),
        "returns": uniform(rng, H, B, within=12.0),
        "limit": LIMIT,
    }


def _model_cases(rng: np.random.Generator) -> Inputs:
    return {
        **_predictions(rng),
        **{"rho": 0.5, "consistency_coef": 20.0, "reward_coef": 0.1, "value_coef": 0.1},
    }


def _other_weights(rng: np.random.Generator) -> Inputs:
    return {
        **_predictions(rng),
        **{"rho": 0.75, "consistency_coef": 2.0, "reward_coef": 0.5, "value_coef": 0.25},
    }


def _both_weights(rng: np.random.Generator) -> Inputs:
    return {"variants": [_model_cases(rng), _other_weights(rng)]}


def _weights(inputs: Inputs) -> np.ndarray:
    steps = np.arange(len(inputs["returns"]))
    return inputs["rho"] ** steps / len(steps)


def _cross_entropy(logits: np.ndarray, value: np.ndarray, limit: float) -> np.ndarray:
    count = logits.shape[-1]
    place = (np.clip(symlog64(value), -limit, limit) + limit) / (2 * limit / (count - 1))
    target = np.maximum(0.0, 1 - np.abs(place[..., None] - np.arange(count)))
    wide = logits.astype(np.float64)
    top = wide.max(axis=-1, keepdims=True)
    log_probs = wide - top - np.log(np.exp(wide - top).sum(axis=-1, keepdims=True))
    return -np.sum(target * log_probs, axis=-1)


def model_losses(inputs: Inputs) -> dict[str, np.ndarray]:
    """The losses in float64, from the formula."""
    error = inputs["latents"].astype(np.float64) - inputs["next_latents"]
    reward = _cross_entropy(inputs["reward_logits"], inputs["reward"], inputs["limit"])
    value = _cross_entropy(inputs["q_logits"], inputs["returns"], inputs["limit"])
    found = {
        "consistency": _weights(inputs) @ np.mean(error**2, axis=(1, 2)),
        "reward": _weights(inputs) @ reward.mean(axis=1),
        "value": _weights(inputs) @ value.mean(axis=(0, 2)),
    }
    weighted = [inputs[f"{name}_coef"] * loss for name, loss in found.items()]
    return {name: np.asarray(x) for name, x in {**found, "total": sum(weighted)}.items()}


def _loss_size(name: str) -> Callable[[Inputs], float]:
    """What a loss adds up: itself, and the size of the logits that it is a difference of."""

    def size(inputs: Inputs) -> float:
        losses = model_losses(inputs)
        logits = {"reward": "reward_logits", "value": "q_logits"}
        sizes = {"consistency": float(losses["consistency"])}
        for loss, among in logits.items():
            largest = np.abs(inputs[among]).max() + np.log(inputs[among].shape[-1])
            sizes[loss] = float(_weights(inputs).sum() * largest + losses[loss])
        sizes["total"] = sum(inputs[f"{loss}_coef"] * known for loss, known in sizes.items())
        return sizes[name]

    return size


LOSSES = ("consistency", "reward", "value", "total")
GRADIENTS = ("latents_gradient", "reward_gradient", "value_gradient")
_SCALES = {name: over(_loss_size(name)) for name in LOSSES}


def of_largest(left: np.ndarray, right: np.ndarray, inputs: Inputs) -> np.ndarray:
    """The gap over ε times the largest number of an array."""
    del inputs
    return gap(left, right) / (EPSILON * float(np.abs(right.astype(np.float64)).max()))


def relative_to_one(left: np.ndarray, right: np.ndarray, inputs: Inputs) -> np.ndarray:
    """The gap over ε · max(1, |right|)."""
    del inputs
    return gap(left, right) / (EPSILON * np.maximum(1.0, np.abs(right.astype(np.float64))))


def _policy_cases(rng: np.random.Generator) -> Inputs:
    """Values of another scale in each step; scales that rise, and one that stays at 1."""
    size = np.asarray([4, 1, 0.25, 2], np.float32)[:, None, None]
    logits = uniform(rng, draw.M, H + 1, 2 * B, draw.N, within=2.0)
    # A slope that differs from sequence to sequence spreads the values of the first step.
    tilt = uniform(rng, H + 1, 2 * B, 1, within=1.0) * np.linspace(-2, 2, draw.N).astype(np.float32)
    given = {
        "q_logits": (logits + tilt * size).astype(np.float32),
        "members": np.asarray([3, 1], np.int64),
        "entropies": uniform(rng, H + 1, 2 * B, within=8.0),
        "rho": 0.5,
        "tau": 0.01,
        "limit": LIMIT,
    }
    return {
        "variants": [
            {**given, "scale": np.full((), 2.5, np.float32), "entropy_coef": 1e-4},
            {**given, "scale": np.ones((), np.float32), "entropy_coef": 0.25},
        ]
    }


def _policy_size(inputs: Inputs) -> float:
    """The mean size of the values and entropies that the loss adds up."""
    weights = inputs["rho"] ** np.arange(len(inputs["entropies"]))
    entropies = inputs["entropy_coef"] * np.abs(inputs["entropies"]).mean(axis=1)
    return float(np.mean(weights * (entropies + np.expm1(inputs["limit"]))))


_AGENT = "tdmpc2.py"

AGREEMENTS = (
    agreement(
        "td-targets",
        "Targets of the values",
        "reward + γ · min of two drawn target networks",
        {_AGENT: ("197-212", "201-216", "241-257", "241-257")},
        (
            Claim(
                "equal",
                "Targets are the reference's, from given logits of all target networks.",
                AtMost(4, "ε · (|reward| + γ · largest value)"),
                "A decoded value is known to 3 ε of the largest (claim tdmpc2-twohot-decode/equal, "
                "whose unit e^|x| turns into values); a product and a sum round once each.",
                (TARGETS,),
                _target_cases(terminated=False),
                compare_outputs(TARGETS, {"returns": over(_sized_by_limit)}),
            ),
        ),
        "Values are learned towards the reference's targets.",
    ),
    agreement(
        "td-targets-terminated",
        "Targets of episodes that end by themselves",
        "reward + γ · (1 − terminated) · min of two drawn target networks, from eece801 on",
        {_AGENT: (None, None, "241-257", "241-257")},
        (
            Claim(
                "equal",
                "Targets are the reference's, where some steps terminate.",
                AtMost(4, "ε · (|reward| + γ · largest value)"),
                "As for tdmpc2-td-targets/equal; a product with 0 or 1 is exact.",
                (TARGETS,),
                _target_cases(terminated=True),
                compare_outputs(TARGETS, {"returns": over(_sized_by_limit)}),
            ),
            Claim(
                "figures",
                "Rewards of 1 and values of 10 under γ = 0.99, the last of three steps "
                "terminating, give 10.9, 10.9 and 1.",
                AtMost(4, "ε · (|reward| + γ · largest value)"),
                "As for `equal`.",
                (TARGETS,),
                _known,
                truths(
                    TARGETS,
                    {
                        "returns": (
                            lambda i: np.asarray([[10.9], [10.9], [1.0]]),
                            over(_sized_by_limit),
                        )
                    },
                ),
            ),
        ),
        "Nothing is expected after an end, and everything before it.",
        pins=("tdmpc2-e9f5932", "tdmpc2-eece801"),
    ),
    agreement(
        "model-loss",
        "Losses of the model",
        "20 · consistency + 0.1 · reward + 0.1 · value, each a mean weighted by 0.5ᵗ",
        {
            _AGENT: ("239-263", "243-267", "272-303", "272-304"),
            "config.yaml": ("15-18", "16-19", "17-21", "17-21"),
        },
        (
            Claim(
                "losses",
                "The losses and their total are the reference's, at two sets of weights.",
                AtMost(8, "ε · size of what is added up"),
                "A cross entropy is known to 4 ε of its terms a side; means over 15 to 60 of them "
                "average the errors, and three sums and products follow.",
                (MODEL,),
                fixed(_both_weights),
                compare_outputs(MODEL, _SCALES),
            ),
            Claim(
                "gradients",
                "So are the gradients of the total in everything predicted.",
                AtMost(16, "ε · largest"),
                "A softmax known to 4 ε a side, times weights known to 2; targets are known to "
                "about N ε where their weights are small.",
                (MODEL,),
                fixed(_both_weights),
                compare_outputs(MODEL, dict.fromkeys(GRADIENTS, of_largest)),
            ),
            Claim(
                "formula",
                "At 20, 0.1, 0.1 and ρ = 0.5, the losses of both sides are the formula's.",
                AtMost(8, "ε · size of what is added up"),
                "As for `losses`, of one side.",
                (MODEL,),
                fixed(_model_cases),
                truths(
                    MODEL,
                    {
                        name: (lambda i, name=name: model_losses(i)[name], _SCALES[name])
                        for name in LOSSES
                    },
                ),
            ),
        ),
        "The model learns from the same errors in the same proportions.",
    ),
    agreement(
        "policy-loss",
        "Loss of the policy",
        "−(1e-4 · entropy + mean of two drawn values / S), weighted by 0.5ᵗ; S moves with the "
        "values of the first step",
        {_AGENT: ("169-195", "173-199", "208-239", "208-239")},
        (
            Claim(
                "loss",
                "The loss is the reference's, at two scales and coefficients.",
                AtMost(8, "ε · size of what is added up"),
                "A decoded value is known to 3 ε of the largest a side; quotient, sums and means "
                "add less than 2.",
                (POLICY,),
                fixed(_policy_cases),
                compare_outputs(POLICY, {"loss": over(_policy_size)}),
            ),
            Claim(
                "scale",
                "The running scale is the reference's: moved by the values of the first step.",
                AtMost(4, "ε · max(1, |S|)"),
                "Percentiles with a weight of 0.01, a product and a sum.",
                (POLICY,),
                fixed(_policy_cases),
                compare_outputs(POLICY, {"scale": relative_to_one}),
            ),
            Claim(
                "gradients",
                "The gradients in entropies and in the values' logits are the reference's; none "
                "flows through the scale, or into networks that were not drawn.",
                AtMost(16, "ε · largest"),
                "Softmax, expectation and the derivative of symexp, each known to 4 ε of the "
                "largest a side.",
                (POLICY,),
                fixed(_policy_cases),
                compare_outputs(
                    POLICY, dict.fromkeys(("entropy_gradient", "value_gradient"), of_largest)
                ),
            ),
        ),
        "The policy weighs values against entropy as the reference's does.",
    ),
)
