"""The critic's loss on replayed rows."""

from __future__ import annotations

import numpy as np

from parity.agreements.dreamerv3.entries import agreement
from parity.agreements.dreamerv3.sizes import (
    GAMMA,
    LAMBDA,
    RETURN_ROUNDINGS,
    bin_expectation,
    bins_of,
    cross_entropy_size,
    lambda_returns,
)
from parity.agreements.measures import compare_outputs, fixed, flags, over, uniform
from parity.claims import AtMost
from parity.operations import Inputs
from parity.registry import Claim

REPLAY = "dreamerv3.replay_critic_loss"
B, T, K = 3, 6, 11


def _replay_cases(rng: np.random.Generator) -> Inputs:
    """Episodes that end in the middle of sequences, by themselves and by a time limit."""
    terminal = flags(rng, B, T, share=0.15)
    last = terminal | flags(rng, B, T, share=0.2)
    terminal[0, 3] = last[0, 3] = last[1, 2] = True
    terminal[1, 2] = False
    bootstrap = uniform(rng, B, T, within=40.0)
    # Far from a value the weights of its two bins are smooth, so a return is put there.
    slope = -5 * np.abs(np.arange(K) - K // 2)
    return {
        "critic_logits": (uniform(rng, B, T, K) + slope).astype(np.float32),
        "slow_logits": (uniform(rng, B, T, K) + slope).astype(np.float32),
        "reward": uniform(rng, B, T, within=9.0),
        "is_terminal": terminal,
        "is_last": last,
        "bootstrap": bootstrap,
        "followed": T - 1,
    }


def _replay_return_size(inputs: Inputs) -> np.ndarray:
    rewards, values = np.abs(inputs["reward"]), np.abs(inputs["bootstrap"])
    live = GAMMA * (1.0 - inputs["is_terminal"])
    trace = LAMBDA * (1.0 - inputs["is_last"])
    return lambda_returns(rewards, live, values, trace)


def _replay_target_size(inputs: Inputs) -> np.ndarray:
    """By how many ε the weight of a bin may be off, for a return and for a decoded target."""
    width = np.diff(bins_of(K)).min()
    decoded = bin_expectation(inputs["slow_logits"])[:, :-1]
    return (16 * _replay_return_size(inputs) + 48 * decoded) / width


def _replay_loss_size(inputs: Inputs) -> np.ndarray:
    logits = inputs["critic_logits"][:, :-1]
    span = np.ptp(logits.astype(np.float64), axis=-1)
    return 2 * cross_entropy_size(logits) + span * _replay_target_size(inputs)


def _replay_slope_size(inputs: Inputs) -> np.ndarray:
    size = 2 * (1 + _replay_target_size(inputs)) / (B * (T - 1))
    return np.pad(size, ((0, 0), (0, 1)))[..., None]


REPLAYED = (
    agreement(
        "replay-critic-loss",
        "The critic's loss on replayed rows",
        "λ-returns of replayed rewards that bootstrap with imagined returns, and stop at is_last",
        (("dreamerv3/agent.py", "331-352", "352-373"),),
        (
            Claim(
                "returns",
                "The returns of replayed rows are the reference's.",
                AtMost(15, "ε · return of |r| and |b|"),
                RETURN_ROUNDINGS,
                (REPLAY,),
                fixed(_replay_cases),
                compare_outputs(REPLAY, {"returns": over(_replay_return_size)}),
            ),
            Claim(
                "loss",
                "The loss of every row is the reference's, and 0 on the last row of an episode.",
                AtMost(8, "ε · (cross entropies, + what a shifted target is worth)"),
                "A cross entropy is within 5 of its terms (agreement `twohot-loss`), and there "
                "are two; the targets move by what the returns and the decoded values do.",
                (REPLAY,),
                fixed(_replay_cases),
                compare_outputs(REPLAY, {"loss": over(_replay_loss_size)}),
            ),
            Claim(
                "gradient",
                "Its gradient in the critic's logits is the reference's.",
                AtMost(8, "ε · (1 + error of a target's weight) / rows"),
                "Twice softmax minus target, each below 1 and within 2 ε.",
                (REPLAY,),
                fixed(_replay_cases),
                compare_outputs(REPLAY, {"gradient": over(_replay_slope_size)}),
            ),
        ),
        "The critic is grounded in replayed rewards as in the reference.",
    ),
)
