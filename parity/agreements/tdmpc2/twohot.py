"""Two-hot regression of rewards and values, in whatever form: row T24 has the core's own."""

from __future__ import annotations

import numpy as np

from parity import cases
from parity.agreements.tdmpc2.entries import agreement
from parity.claims import AtMost
from parity.comparisons import EPSILON, compare, gap, softmax64
from parity.operations import Inputs
from parity.registry import Claim

COUNT, LIMIT = 101, 10.0
ENCODE, DECODE, LOSS = (f"tdmpc2.twohot_{name}" for name in ("encode", "decode", "loss"))


def exact_bins(inputs: Inputs) -> np.ndarray:
    """The support, in float64."""
    count = inputs["count"] if "count" in inputs else inputs["logits"].shape[-1]
    return np.linspace(-inputs["limit"], inputs["limit"], count)


def symlog64(x: np.ndarray) -> np.ndarray:
    """sign(x) · ln(1 + |x|), in float64."""
    return np.sign(x) * np.log1p(np.abs(x.astype(np.float64)))


def expected_size(inputs: Inputs) -> np.ndarray:
    """1 + 6 · E|b| under softmax(logits): what an expectation of bins is known to, over ε."""
    return 1 + 6 * softmax64(inputs["logits"]) @ np.abs(exact_bins(inputs))


def in_symlog_space(left: np.ndarray, right: np.ndarray, inputs: Inputs) -> np.ndarray:
    """The gap between decoded values, in symlog space, over ε · (1 + 6 · E|b|)."""
    return gap(symlog64(left), symlog64(right)) / (EPSILON * expected_size(inputs))


def values(rng: np.random.Generator, count: int) -> np.ndarray:
    """Values of either sign and every size, 0, and such beyond the support."""
    beyond = np.asarray([0.0, -0.0, 3e4, -3e4, 3e38, -3e38], np.float32)
    return np.concatenate([cases.scalars(rng, count, -20, 16), beyond])


def decode_cases(rng: np.random.Generator) -> Inputs:
    """Flat, tilted and peaked distributions, on the support of training and on a small one."""
    return {
        "variants": [
            {
                "logits": np.concatenate(
                    [cases.logits(rng, 192, n, -6, 6), cases.tilted_logits(rng, 192, n)]
                ),
                "limit": limit,
            }
            for n, limit in ((COUNT, LIMIT), (11, 3.0))
        ]
    }


def _encode_cases(rng: np.random.Generator) -> Inputs:
    return {
        "variants": [
            {"value": values(rng, 192), "count": n, "limit": limit}
            for n, limit in ((COUNT, LIMIT), (11, 3.0))
        ]
    }


def _loss_cases(rng: np.random.Generator) -> Inputs:
    value = values(rng, 384)
    return {"logits": cases.logits(rng, len(value), COUNT), "value": value, "limit": LIMIT}


def _in_position_epsilon(left: np.ndarray, right: np.ndarray, inputs: Inputs) -> np.ndarray:
    """The gap between weights over ε times the number of bins, which positions count."""
    return gap(left, right) / (EPSILON * inputs["count"])


def _in_epsilon_of_loss(left: np.ndarray, right: np.ndarray, inputs: Inputs) -> np.ndarray:
    """The gap between losses over ε · (ln N + max|logit| + loss + N · largest step of logits).

    The last is what the position of the target, known to N ε, makes of it.
    """
    logits = inputs["logits"].astype(np.float64)
    count = logits.shape[-1]
    steps = np.abs(np.diff(logits, axis=-1)).max(axis=-1)
    largest = np.abs(logits).max(axis=-1)
    size = np.log(count) + largest + np.abs(right.astype(np.float64)) + count * steps
    return gap(left, right) / (EPSILON * size)


POSITION = (
    "A target's position among the bins is a number up to 100, made of a symlog that is known to "
    "2 ULP of 10, a sum and a quotient: within 1.2 ε of 101 a side for the reference, 0.6 for the "
    "core, whose error is that of the symlog."
)

_MATH = "common/math.py"

AGREEMENTS = (
    agreement(
        "twohot-encode",
        "Two-hot targets",
        "Linear interpolation between the two bins around symlog(value), clipped to the support",
        {_MATH: ("66-78", "66-78", "59-72", "58-71")},
        (
            Claim(
                "equal",
                "Two-hot weights are the reference's, on two supports.",
                AtMost(2, "ε · bins"),
                POSITION,
                (ENCODE,),
                _encode_cases,
                compare(ENCODE, "weights", _in_position_epsilon),
            ),
        ),
        "Rewards and values are learned on the reference's targets.",
    ),
    agreement(
        "twohot-decode",
        "Two-hot prediction",
        "symexp of the expectation of the bins under softmax(logits)",
        {_MATH: ("81-95", "81-95", "75-84", "74-83")},
        (
            Claim(
                "equal",
                "Decoded values are the reference's, on two supports.",
                AtMost(3, "ε · (1 + 6 · E|b|), in symlog space"),
                "A sum of 101 products rounds 100 times, by half an ε of what it has come to: as "
                "a random walk 5 ε of E|b|, and the softmax adds 2, on each side; the symexp is "
                "known to an ε of 1 + |value|, which is an ε in symlog space. A naive sum of "
                "all bins from left to right, the worst order, needs up to 2 of them.",
                (DECODE,),
                decode_cases,
                compare(DECODE, "value", in_symlog_space),
            ),
        ),
        "Rewards and values are predicted on the reference's scale.",
    ),
    agreement(
        "twohot-loss",
        "Two-hot loss",
        "−Σ weight · log_softmax(logits)",
        {_MATH: ("5-9", "5-9", "6-10", "5-9")},
        (
            Claim(
                "equal",
                "The two-hot loss is the reference's.",
                AtMost(4, "ε · (ln N + max|logit| + loss + N · step)"),
                "The log-sum-exp of each side is known to 2.5 ε of the size of its terms. "
                + POSITION,
                (LOSS,),
                _loss_cases,
                compare(LOSS, "loss", _in_epsilon_of_loss),
            ),
        ),
        "Reward head and Q networks descend the reference's loss.",
    ),
)
