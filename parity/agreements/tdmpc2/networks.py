"""The networks of TD-MPC2: what they compute, where they drop, what they hold."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from parity.agreements.dreamerv3.latent_measures import against_reference
from parity.agreements.measures import uniform
from parity.agreements.tdmpc2 import case_inputs as draw
from parity.agreements.tdmpc2.entries import agreement
from parity.agreements.tdmpc2.twohot import symlog64
from parity.claims import AtMost, Equals, Measurement, measure_errors
from parity.comparisons import EPSILON, gap, in_epsilon_nats
from parity.implementations import Implementation
from parity.operations import Inputs
from parity.registry import Claim

ROWS = 24
SIZES = (1, 5, 19, 48, 317)


def bound(layers: int) -> int:
    """How far two sides may part after a chain of layers, in ε · max(1, |value|)."""
    return 8 * math.ceil(math.sqrt(layers))


def why(layers: int) -> str:
    """Where `bound` comes from."""
    return (
        f"A layer's sums of up to 18 products, its norm and its Mish put about 1 ε, root mean "
        f"square, on an activation of the size 1. Over {layers} layers these add up as a random "
        f"walk to √{layers}; the worst of a thousand values is at 4 times that, and there are two "
        f"sides: {4 * math.sqrt(2 * layers):.0f}, below {bound(layers)}."
    )


def in_symlog_epsilon(left: np.ndarray, right: np.ndarray, inputs: Inputs) -> np.ndarray:
    """The gap between values in symlog space, over ε · limit."""
    return gap(symlog64(left), symlog64(right)) / (EPSILON * inputs["limit"])


def _network(
    operation: str, output: str, layers: int, what: str, make: Callable[..., Inputs]
) -> Claim:
    def cases(rng: np.random.Generator) -> Inputs:
        return {**make(rng), **draw.parameters(rng, operation)}

    return Claim(
        "equal",
        f"{what} the reference's, at given parameters.",
        AtMost(bound(layers), "ε · max(1, |value|)"),
        why(layers),
        (operation,),
        cases,
        against_reference(operation, output, in_epsilon_nats),
    )


def _with_masks(rng: np.random.Generator) -> Inputs:
    rate = 0.25
    masks = draw.keep(rng, draw.M, ROWS, rate=rate)
    return {**draw.states(rng, ROWS), "keep": masks, "dropout": rate}


def _q_value(reduction: str) -> Claim:
    def cases(rng: np.random.Generator) -> Inputs:
        return {
            **draw.states(rng, ROWS),
            "members": np.asarray([3, 1], np.int64),
            "keep": draw.keep(rng, 2, ROWS),
            "dropout": 0.25,
            "limit": draw.LIMIT,
            "reduction": reduction,
            **draw.parameters(rng, "tdmpc2.q_value"),
        }

    return Claim(
        reduction,
        f"The {'smaller' if reduction == 'min' else 'mean'} value of two drawn networks is the "
        "reference's, with dropout in each.",
        AtMost(bound(3), "ε · limit, in symlog space"),
        why(3) + " The two-hot expectation averages the errors of logits with weights of the "
        "size of the limit.",
        ("tdmpc2.q_value",),
        cases,
        against_reference("tdmpc2.q_value", "value", in_symlog_epsilon),
    )


def dropout_cases(era: str) -> Callable[[np.random.Generator], Inputs]:
    """The same states at a rate of 0 and of 0.5."""

    def cases(rng: np.random.Generator) -> Inputs:
        del rng
        drawn = np.random.default_rng(3)
        given = {
            **draw.states(drawn, 4),
            "limit": draw.LIMIT,
            "era": era,
            "draws": 64,
            "seed": 5,
            **draw.parameters(drawn, "tdmpc2.dropout_in_use"),
        }
        return {"rates": [{**given, "dropout": rate} for rate in (0.0, 0.5)]}

    return cases


def _dropout(dropping: tuple[str, ...]) -> Callable[..., Measurement]:
    """Uses of the Q networks that drop and should not, or should and do not, on either side.

    One drops where values scatter at a rate of 0.5, and by no more than twice or half of what they
    do in the value loss of the reference; at a rate of 0 nothing may scatter.
    """

    def measure(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
        off, on = inputs["rates"]
        scale = float(reference("tdmpc2.dropout_in_use", **on)["loss"])
        wrong, compared = [], 0
        for side in (reference, subject):
            without = side("tdmpc2.dropout_in_use", **off)
            answer = side("tdmpc2.dropout_in_use", **on)
            for use, found in answer.items():
                ratio = float(found) / scale
                right = 0.5 < ratio < 2 if use in dropping else ratio == 0
                compared += 1
                if not right or not float(without[use]) <= 1e-5 * scale:
                    wrong.append(f"{use} of {side.name}: {ratio:.3g} of the reference's")
        return Measurement(len(wrong), len(wrong), compared, inputs, "; ".join(wrong))

    return measure


def _size_cases(rng: np.random.Generator) -> Inputs:
    del rng
    return {
        "sizes": [{"size": size, "observation_size": 24, "action_size": 6} for size in SIZES]
        + [{"size": 1, "observation_size": 5, "action_size": 1}]
    }


def _counts(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    found = []
    for question in inputs["sizes"]:
        ours, theirs = (
            side("tdmpc2.parameter_counts", **question)["numbers"] for side in (subject, reference)
        )
        found.append(measure_errors(gap(ours, theirs), question, answers=(ours, theirs)))
    worst = max(found, key=lambda m: m.high)
    return Measurement(worst.high, worst.high, 5 * len(found), worst.worst_input)


def _total_cases(rng: np.random.Generator) -> Inputs:
    del rng
    return {"size": 5, "observation_size": 24, "action_size": 6}


def _total(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    totals = [
        int(side("tdmpc2.parameter_counts", **inputs)["numbers"].sum())
        for side in (reference, subject)
    ]
    return Measurement(min(totals), max(totals), 2)


_LAYERS, _MODEL = "common/layers.py", "common/world_model.py"
_MLP = ("85-97", "110-122", "121-133", "121-133")

AGREEMENTS = (
    agreement(
        "encoder",
        "Encoder of vectors",
        "Normed layers with Mish, then a normed layer with simplices",
        {_LAYERS: ("75-82", "142-153", "153-164", "153-164")},
        (
            _network(
                "tdmpc2.encode",
                "latent",
                2,
                "Latent states are",
                lambda rng: {
                    "observation": uniform(rng, ROWS, draw.OBS, within=8.0),
                    "simnorm_dim": 4,
                },
            ),
        ),
        "The model sees what the reference's sees.",
    ),
    agreement(
        "dynamics",
        "Latent dynamics",
        "Two hidden layers on [latent, action], then a normed layer with simplices",
        {_MODEL: ("106-113", "104-111", "114-121", "114-121"), _LAYERS: _MLP},
        (
            _network(
                "tdmpc2.next",
                "next_latent",
                3,
                "The states that actions lead to are",
                lambda rng: {**draw.states(rng, ROWS), "simnorm_dim": 4},
            ),
        ),
        "The model imagines what the reference's imagines.",
    ),
    agreement(
        "reward-head",
        "Reward head",
        "Two hidden layers on [latent, action], then an affine map",
        {_MODEL: ("115-122", "113-120", "123-130", "123-130"), _LAYERS: _MLP},
        (
            _network(
                "tdmpc2.reward_logits",
                "logits",
                3,
                "Logits of the reward are",
                lambda rng: draw.states(rng, ROWS),
            ),
        ),
        "Rewards are predicted from the same features in the same order.",
    ),
    agreement(
        "policy-network",
        "Network of the policy prior",
        "Two hidden layers on the latent state, then an affine map",
        {_MODEL: ("124-134", "122-132", "144-154", "144-154"), _LAYERS: _MLP},
        (
            _network(
                "tdmpc2.policy_outputs",
                "outputs",
                3,
                "Means and raw deviations are",
                lambda rng: {"latent": draw.simplices(rng, ROWS)},
            ),
        ),
        "The policy sees what the reference's sees.",
    ),
    agreement(
        "q-ensemble",
        "Q networks",
        "Hidden layers on [latent, action], dropout in the first, then an affine map; two networks "
        "are drawn, and their smaller value or their mean is taken",
        {_MODEL: ("152-174", "150-172", "186-216", "186-216"), _LAYERS: _MLP},
        (
            _network(
                "tdmpc2.q_logits",
                "logits",
                3,
                "Logits of all Q networks, with given dropout masks, are",
                _with_masks,
            ),
            _q_value("min"),
            _q_value("mean"),
        ),
        "Values are predicted from the same features, and from the networks that were drawn.",
    ),
    agreement(
        "q-dropout-paper",
        "Where the Q networks drop, in the paper's era",
        "The vectorised ensemble keeps the mode that its networks were made in: it drops in every "
        "estimate, those of targets and plans included",
        {_LAYERS: ("7-27", "7-24", None, None)},
        (
            Claim(
                "uses",
                "Values scatter with the dropout in both losses, in targets and in plans, and at "
                "a rate of 0 in none.",
                Equals(0, "uses that differ"),
                "Whether a use drops is a matter of yes or no; the scatter of 64 draws is known "
                "to a tenth, and either side is within a factor of 2 of the other.",
                ("tdmpc2.dropout_in_use",),
                dropout_cases("paper"),
                _dropout(("loss", "policy", "target", "plan")),
            ),
        ),
        "Values of targets and plans are as noisy as in the paper's runs.",
        pins=("tdmpc2-5f6fade", "tdmpc2-b67b21c"),
    ),
    agreement(
        "q-dropout-head",
        "Where the Q networks drop, in later commits",
        "Dropout follows the mode of the model: targets and plans are taken in evaluation mode",
        {
            _LAYERS: (None, None, "8-33", "8-33"),
            _MODEL: (None, None, "74-80", "74-80"),
        },
        (
            Claim(
                "uses",
                "Values scatter with the dropout in both losses, and not in targets and plans.",
                Equals(0, "uses that differ"),
                "As in the paper's era.",
                ("tdmpc2.dropout_in_use",),
                dropout_cases("head"),
                _dropout(("loss", "policy")),
            ),
        ),
        "The later commits' choice is one of the configuration.",
        pins=("tdmpc2-e9f5932", "tdmpc2-eece801"),
    ),
    agreement(
        "parameters",
        "What is trained",
        "Kernel and bias in every affine map, scale and offset in every norm; 4,960,618 numbers at "
        "size 5 for 24 observations and 6 actions",
        {
            "common/__init__.py": ("1-24", "1-24", "1-24", "1-24"),
            _MODEL: ("16-33", "16-33", "17-36", "17-36"),
        },
        (
            Claim(
                "counts",
                "Each network holds as many numbers as the reference's, at all five sizes.",
                Equals(0, "numbers"),
                "Counts are integers.",
                ("tdmpc2.parameter_counts",),
                _size_cases,
                _counts,
            ),
            Claim(
                "total",
                "At size 5, 4,960,618 numbers are trained for 24 observations and 6 actions.",
                Equals(4_960_618, "numbers"),
                "Counts are integers.",
                ("tdmpc2.parameter_counts",),
                _total_cases,
                _total,
            ),
        ),
        "Nothing is learned that the reference does not learn, and nothing is left out.",
    ),
)
