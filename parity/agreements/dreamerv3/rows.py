"""From the environment to the rows of the replay: flags, rewards, actions, targets."""

from __future__ import annotations

import numpy as np

from parity.agreements.dreamerv3.entries import agreement
from parity.claims import AtMost, Equals, Measurement, measure_bits
from parity.comparisons import Measure, compare, in_ulp, worst_of
from parity.implementations import Implementation
from parity.operations import Answer, Inputs
from parity.registry import Claim

ROWS = "dreamerv3.rows"
EXACT = "Flags, counts, copies and sums of multiples of a quarter are exact."
SEED = 20  # every claim of an entry asks the same, so that one recording serves all


def _script(lengths: tuple[int, ...], ticks: int, limit: int, repeat: int) -> Inputs:
    """Environments with these lengths; actions and rewards that are all independent."""
    rng = np.random.default_rng([SEED, ticks, limit, repeat])
    steps = min(max(lengths), limit or max(lengths)) + 8
    rewards = rng.integers(1, 40, (len(lengths), steps)) / 4
    actions = rng.integers(-9, 10, (ticks, len(lengths), 2)) / 4
    return {
        "lengths": np.asarray(lengths, np.int64),
        "rewards": rewards.astype(np.float32),
        "actions": (actions + np.where(actions == 0, 0.125, 0)).astype(np.float32),
        "limit": limit,
        "repeat": repeat,
    }


def _mixed(rng: np.random.Generator) -> Inputs:
    """Ends of every kind: by itself, by the limit, by both on one step, after one step."""
    del rng
    return {"variants": [_script((3, 7, 4, 1), 18, 4, 1)]}


def _repeated(rng: np.random.Generator) -> Inputs:
    """Ends in the middle of a repeat, by themselves and by the limit."""
    del rng
    free, limited = _script((5, 3, 6), 15, 0, 2), _script((4, 9, 5), 16, 5, 2)
    free["rewards"][0] = 1
    return {"variants": [free, limited]}


def _long(rng: np.random.Generator) -> Inputs:
    del rng
    return {"variants": [_script((10_000,), 503, 500, 1)]}


def _episodes(start: np.ndarray) -> np.ndarray:
    """[K, N] starts as counts of the starts seen before in the same environment."""
    fresh = np.ones(start.shape, np.int64)
    fresh[1:] = start[1:] != start[:-1]
    return np.cumsum(fresh, axis=0)


def _columns(answer: Answer, names: tuple[str, ...]) -> np.ndarray:
    """[K, N, columns] of the answer, side by side."""
    answer = {**answer, "start": _episodes(answer["start"])}
    # The reference zeroes by a product, which makes −0 of a negative action: the same number.
    parts = [answer[name].astype(np.float64) + 0.0 for name in names]
    return np.concatenate([part.reshape(*part.shape[:2], -1) for part in parts], axis=-1)


def _same(*names: str) -> Measure:
    """How many values of these outputs differ between the two sides."""

    def measure(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
        def one(variant: Inputs) -> Measurement:
            theirs = _columns(reference(ROWS, **variant), names)
            ours = _columns(subject(ROWS, **variant), names)
            return measure_bits(ours, theirs, variant)

        return worst_of(map(one, inputs["variants"]))

    return measure


def _begun_alike(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    """Episodes that begin like another, and rows that show another start than their episode."""
    del reference
    counted = []
    for variant in inputs["variants"]:
        answer = subject(ROWS, **variant)
        start, first = answer["start"], answer["is_first"]
        _, place, times = np.unique(start[first], return_inverse=True, return_counts=True)
        alike = times[place] > 1
        wandered = (start[1:] != start[:-1]) & ~first[1:]
        wrong = float(alike.sum() + wandered.sum())
        counted.append(Measurement(wrong, wrong, alike.size, variant))
    return worst_of(counted)


def _identical(name: str, statement: str, names: tuple[str, ...], cases=_mixed) -> Claim:
    return Claim(
        name, statement, Equals(0, "values that differ"), EXACT, (ROWS,), cases, _same(*names)
    )


FLAGS = ("is_first", "is_last", "is_terminal")

_CLAIMS = (
    _identical(
        "flags",
        "An episode of L steps has L + 1 rows, and its flags stand where the reference's stand, "
        "whether it ends by itself, by the time limit, or by both.",
        FLAGS,
    ),
    _identical(
        "observations",
        "Every row shows the step, the action that led to it, and the episode that the "
        "reference's shows: the end of an episode is held for one row, and a reset follows.",
        ("start", "step", "taken"),
    ),
    _identical(
        "stored-actions",
        "The action that is stored with a row is the one chosen on it, and zeros on a last row.",
        ("action",),
    ),
    _identical(
        "rewards",
        "A row's reward is the one for getting there, and 0 on the row of a reset.",
        ("reward",),
    ),
    Claim(
        "fresh-starts",
        "No two episodes begin from the same draw, in one environment or in two.",
        Equals(0, "episodes that begin like another"),
        "Two of 20 draws from 2^24 numbers are equal once in 90,000 runs.",
        (ROWS,),
        _mixed,
        _begun_alike,
        about="subject",
    ),
    _identical(
        "time-limit",
        "An episode that is cut off after 500 steps is last at row 500, is not terminal, and row "
        "501 is a reset, as the reference's.",
        (*FLAGS, "step", "reward"),
        _long,
    ),
    _identical(
        "action-repeat",
        "With an action repeat of 2 and a reward of 1 per step, rows are rewarded 2, 2 and, where "
        "an episode of 5 steps ends in the middle of a repeat, 1; in every episode, by itself and "
        "by a time limit, as the reference's.",
        (*FLAGS, "start", "step", "taken", "reward"),
        _repeated,
    ),
)


def _flag_cases(rng: np.random.Generator) -> Inputs:
    """Flags in every combination, more rows than sequences."""
    first, last, terminal = (rng.random((3, 3, 11)) < 0.4).astype(bool)
    return {"is_first": first, "is_last": last, "is_terminal": terminal}


def _action_cases(rng: np.random.Generator) -> Inputs:
    infinity = np.inf
    return {
        "action": (rng.integers(-24, 25, (48, 5)) / 16).astype(np.float32),
        "low": np.asarray([-2, 0.25, -infinity, -8, 1], np.float32),
        "high": np.asarray([2, 0.75, infinity, 3, infinity], np.float32),
    }


def _kept(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    """The gap over the width of the range, after a question that leaves its arrays alone."""

    def errors(ours: np.ndarray, theirs: np.ndarray, asked: Inputs) -> np.ndarray:
        low, high = (np.where(np.isfinite(x), x, 1.0) for x in (asked["low"], asked["high"]))
        size = np.maximum(np.abs(low), np.abs(high)).astype(np.float32)
        return np.abs(ours.astype(np.float64) - theirs) / np.spacing(size)

    return compare("dreamerv3.environment_action", "received", errors)(subject, reference, inputs)


AGREEMENTS = (
    agreement(
        "rows",
        "Rows of episodes",
        "L + 1 rows per episode; hold on the last one, its action zeroed; then a fresh reset",
        (
            ("embodied/core/driver.py", "55-86", "55-86"),
            ("embodied/core/wrappers.py", "10-36", "10-36"),
            ("embodied/core/wrappers.py", "39-55", "39-55"),
        ),
        _CLAIMS,
        "Model, critic and actor are trained on the reference's rows.",
    ),
    agreement(
        "continue-target",
        "Target of the continue head",
        "(1 − is_terminal) · (1 − 1/333); neither is_last nor is_first enters",
        (("dreamerv3/agent.py", "241-245", "257-261"), ("dreamerv3/agent.py", "472", "472")),
        (
            Claim(
                "target",
                "The target is γ wherever the episode did not end by itself, on the last row of "
                "one that a time limit cut off too, and 0 on terminal rows.",
                AtMost(1, "ULP"),
                "γ = 1 − 1/333 may be computed in float64 and rounded, or in float32: half a ULP "
                "and one and a half; the reference does the former.",
                ("dreamerv3.continue_target",),
                _flag_cases,
                compare("dreamerv3.continue_target", "target", in_ulp),
            ),
        ),
        "Returns go on past a time limit, and stop at a termination.",
    ),
    agreement(
        "environment-action",
        "Actions as environments receive them",
        "Clipped to [−1, 1], then stretched to the environment's bounds where it has them",
        (
            ("embodied/core/wrappers.py", "58-91", "58-91"),
            ("dreamerv3/main.py", "228-247", "202-221"),
        ),
        (
            Claim(
                "received",
                "Environments receive the action that the reference's wrappers pass on, and the "
                "array of the policy's actions is as it was.",
                AtMost(4, "ULP of the bounds"),
                "A sum, a difference, a product and a quotient by 2 of numbers no larger than the "
                "range are rounded: at most 2 ULP of the larger bound a side.",
                ("dreamerv3.environment_action",),
                _action_cases,
                _kept,
            ),
        ),
        "A policy that saturates drives the environment as the reference's does, and what is "
        "stored is what was chosen.",
    ),
)
