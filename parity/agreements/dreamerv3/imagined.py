"""The losses of actor and critic, from what the heads put out in imagined states."""

from __future__ import annotations

import numpy as np

from parity.agreements.dreamerv3.entries import agreement
from parity.agreements.dreamerv3.policies import density_terms, deviation_of
from parity.agreements.dreamerv3.sizes import (
    bin_expectation,
    bins_of,
    cross_entropy_size,
    lambda_returns,
)
from parity.agreements.measures import (
    compare_outputs,
    fixed,
    flags,
    over,
    slopes,
    uniform,
)
from parity.claims import AtMost
from parity.operations import Inputs
from parity.registry import Claim, Entry

OPERATION = "dreamerv3.imagination_losses"
N, H, K, ACTIONS, SIZE = 5, 4, 11, 3, 2
PREDICTED = 48  # ε·E|b| between two decoded predictions: see `_claims`
STEP = 2.0**-5


def _cases(kind: str):
    def make(rng: np.random.Generator) -> Inputs:
        """Logits of heads that know roughly what they predict; half of the starts terminal."""
        slope = -5 * np.abs(np.arange(K) - K // 2)
        shape = (N, H + 1)
        if kind == "discrete":
            outputs = uniform(rng, *shape, ACTIONS)
            actions = np.eye(ACTIONS, dtype=np.float32)[rng.integers(0, ACTIONS, shape)]
        else:
            outputs = uniform(rng, *shape, 2 * SIZE)
            actions = uniform(rng, *shape, SIZE)
        heads = ("reward_logits", "critic_logits", "slow_logits")
        terminal = flags(rng, N)
        terminal[:2] = False, True
        return {
            "kind": kind,
            "horizon": H,
            "start_reward": uniform(rng, N),
            "is_terminal": terminal,
            "continue_logits": uniform(rng, *shape) + np.float32(2),
            "actor_outputs": outputs,
            "actions": actions,
            "normaliser": np.asarray([-0.5, 1.5], np.float32),
            **{head: (uniform(rng, *shape, K) + slope).astype(np.float32) for head in heads},
        }

    return fixed(make)


def _rewards(inputs: Inputs) -> np.ndarray:
    size = bin_expectation(inputs["reward_logits"])
    size[:, 0] = np.abs(inputs["start_reward"])
    return size


def _values(inputs: Inputs) -> np.ndarray:
    return bin_expectation(inputs["critic_logits"])


def _continues(inputs: Inputs) -> np.ndarray:
    predicted = 1 / (1 + np.exp(-inputs["continue_logits"].astype(np.float64)))
    predicted[:, 0] = 1 - inputs["is_terminal"]
    return predicted


def _weights(inputs: Inputs) -> np.ndarray:
    return np.cumprod(_continues(inputs), 1)


def _returns(inputs: Inputs) -> np.ndarray:
    return lambda_returns(_rewards(inputs), _continues(inputs), _values(inputs))


def _advantages(inputs: Inputs) -> np.ndarray:
    return _returns(inputs) + _values(inputs)[:, :-1]


def _log_probs(inputs: Inputs) -> np.ndarray:
    if inputs["kind"] == "discrete":
        return np.full((N, H + 1), 1 - np.log(0.01 / ACTIONS))
    outputs, actions = inputs["actor_outputs"], inputs["actions"]
    return density_terms(outputs[..., :SIZE], outputs[..., SIZE:], actions).sum(-1)


def _actor(inputs: Inputs) -> np.ndarray:
    return _weights(inputs)[:, :-1] * _log_probs(inputs)[:, :-1] * (1 + _advantages(inputs))


def _actor_slopes(inputs: Inputs) -> np.ndarray:
    slope = _log_probs(inputs)[:, :-1]
    if inputs["kind"] == "continuous":
        slope = slope / deviation_of(inputs["actor_outputs"][..., SIZE:]).min(-1)[:, :-1]
    size = _weights(inputs)[:, :-1] * slope * (1 + _advantages(inputs)) / (N * H)
    return np.pad(size, ((0, 0), (0, 1)))[..., None]


def _shifted(inputs: Inputs) -> np.ndarray:
    """By how many ε the weight of a bin may be off, for a return and for a decoded target."""
    width = np.diff(bins_of(K)).min()
    slow = bin_expectation(inputs["slow_logits"])[:, :-1]
    return (80 * _returns(inputs) + PREDICTED * slow) / width


def _critic(inputs: Inputs) -> np.ndarray:
    logits = inputs["critic_logits"][:, :-1]
    span = np.ptp(logits.astype(np.float64), axis=-1)
    size = 2 * cross_entropy_size(logits) + span * _shifted(inputs)
    return _weights(inputs)[:, :-1] * size


def _critic_slopes(inputs: Inputs) -> np.ndarray:
    size = 2 * _weights(inputs)[:, :-1] * (1 + _shifted(inputs)) / (N * H)
    return np.pad(size, ((0, 0), (0, 1)))[..., None]


def _claims(kind: str) -> tuple[Claim, ...]:
    outputs = 2 * SIZE if kind == "continuous" else ACTIONS

    def claim(name: str, statement: str, tolerance: AtMost, reason: str, measure, **more) -> Claim:
        return Claim(
            f"{kind}-{name}",
            f"With {kind} actions, {statement}",
            tolerance,
            reason,
            (OPERATION,),
            _cases(kind),
            measure,
            **more,
        )

    return (
        claim(
            "returns",
            "rewards and values are decoded, continues are probabilities, and weights, returns "
            "and advantages are made of them as in the reference.",
            AtMost(80, "ε · size of the terms"),
            "Two decoded predictions are within 24 ε·E|b| (agreement `twohot-decode`), and the "
            "bins are within 1.3e-6 = 11 ε of each other on each side: 48. A sigmoid is within "
            "2 ε and 4 of them discount a return, whose own roundings are 12 a side.",
            compare_outputs(
                OPERATION,
                {
                    "rewards": over(_rewards),
                    "values": over(_values),
                    "weights": over(_weights),
                    "returns": over(_returns),
                    "advantages": over(_advantages),
                },
            ),
        ),
        claim(
            "actor-loss",
            "the loss of every action is the reference's, scored in the state that it was taken "
            "in.",
            AtMost(120, "ε · weight · terms of ln π · (1 + size of the advantage)"),
            "An advantage within 80, a weight within 10, a log-probability within 20 of its terms.",
            compare_outputs(OPERATION, {"actor_loss": over(_actor)}),
        ),
        claim(
            "actor-gradient",
            "the actor learns by the score function alone, as in the reference; nothing of its "
            "loss reaches the critic.",
            AtMost(120, "ε · weight · slope of ln π · (1 + size of the advantage) / elements"),
            "The factors of claim `actor-loss`, with the slope of ln π for itself. What does not "
            "reach the critic is exactly 0.",
            compare_outputs(
                OPERATION,
                {
                    "actor_gradient": over(_actor_slopes),
                    "actor_to_critic": lambda a, b, _: np.where(a == b, 0.0, np.inf),
                },
            ),
        ),
        claim(
            "score",
            "the actor's gradient is the difference quotient of its loss for fixed actions.",
            AtMost(2e-3, "of the largest quotient"),
            "A central difference with the step 1/32 errs by a sixth of its square, 1.6e-4, times "
            "a third derivative of a few times the size of the slopes.",
            slopes(
                OPERATION,
                "actor_loss",
                "actor_gradient",
                {"actor_outputs": outputs * (H + 1)},
                STEP,
            ),
            about="subject",
        ),
        claim(
            "critic-loss",
            "the critic's loss is the reference's, towards the return and the slow critic.",
            AtMost(8, "ε · weight · (cross entropies, + what a shifted target is worth)"),
            "A cross entropy is within 5 of its terms (agreement `twohot-loss`), and there are "
            "two; the targets move by what the returns and the decoded values do.",
            compare_outputs(OPERATION, {"critic_loss": over(_critic)}),
        ),
        claim(
            "critic-gradient",
            "its gradient in the critic's logits is the reference's; none flows through targets.",
            AtMost(8, "ε · weight · (1 + error of a target's weight) / elements"),
            "Twice softmax minus target, each below 1 and within 2 ε, and a weight within 10 of "
            "which the sum of both is 2.",
            compare_outputs(OPERATION, {"critic_gradient": over(_critic_slopes)}),
        ),
    )


IMAGINATION: tuple[Entry, ...] = (
    agreement(
        "imagination-losses",
        "Actor and critic losses in imagination",
        "Score function for both kinds of actions; two-hot loss of the return and of the slow "
        "critic's prediction",
        (("dreamerv3/agent.py", "276-329", "292-350"),),
        (*_claims("discrete"), *_claims("continuous")),
        "Actor and critic descend the reference's losses.",
    ),
)
