"""The numerics that every DreamerV3 network shares.

Each is measured against the reference on random and extreme inputs. The two sides run on
different versions of XLA, whose elementary functions may part in the last bits: the
tolerances say how far, and why not further.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from parity import cases
from parity.agreements.dreamerv3.entries import agreement, in_both_modes, prefixed
from parity.claims import AtMost
from parity.comparisons import (
    EPSILON,
    against_truth,
    compare,
    gap,
    in_epsilon,
    in_epsilon_nats,
    in_epsilon_of_expectation,
    in_epsilon_of_loss,
    in_ulp,
    in_ulp_of_exact,
)
from parity.operations import Inputs
from parity.registry import Claim

EXTREMES = cases.EXTREME_SCALARS
LOSS_UNIT = "ε · (ln N + max|logit| + loss)"
LOSS_REASON = (
    "On each side exp and its sum put 2 ε into the log-sum-exp, its logarithm 1.2 ULP, the "
    "subtraction, two products and their sum half a ULP each, all of terms of that size: about "
    "2.5 of them."
)


def _symlog64(inputs: Inputs) -> np.ndarray:
    x = inputs["x"].astype(np.float64)
    return np.sign(x) * np.log1p(np.abs(x))


def _symexp64(inputs: Inputs) -> np.ndarray:
    x = inputs["x"].astype(np.float64)
    with np.errstate(over="ignore"):
        return np.sign(x) * np.expm1(np.abs(x))


def _elementaryin_both_modes(
    operation: str,
    name: str,
    domain: str,
    exponents: int,
    limit: float,
    truth: Callable[[Inputs], np.ndarray],
    own: AtMost,
    apart: AtMost,
) -> tuple[Claim, ...]:
    """How exact the reference's function is, and how far ours is from it."""

    def draw(rng: np.random.Generator) -> Inputs:
        spread = cases.scalars(rng, 4096, -149, exponents)
        return {"x": np.concatenate([spread, cases.scalars(rng, 4096, -12, 5), EXTREMES])}

    exactness = Claim(
        "reference-exactness",
        f"The reference's {name} is nearly exact, {domain}.",
        own,
        f"XLA's polynomials, measured on every 61st float32: {name} within {own.bound} ULP, with "
        "jaxlib 0.4.26 as with 0.10.2. It is what the tolerance of the other claims rests on.",
        (operation,),
        draw,
        against_truth(operation, "y", truth, in_ulp_of_exact, side="reference"),
        about="reference",
    )
    agreement = in_both_modes(
        operation,
        f"{name} is the reference's, {domain}.",
        apart,
        f"The reference is up to {own.bound} ULP from exact (claim `reference-exactness`); a "
        "port that is exact to 1 ULP passes, and so does one with the same polynomials.",
        compare(operation, "y", in_ulp),
        draw,
        lambda: cases.search_scalars(limit).map(lambda x: {"x": x}),
    )
    return (exactness, *agreement)


def _log_probin_both_modes(operation: str) -> tuple[Claim, ...]:
    return in_both_modes(
        operation,
        "the log-probabilities after unimix are the reference's.",
        AtMost(6, "ε · max(1, |log p|)"),
        "Each side's exp is within 1 ε, its sum, quotient and mixture within 1 ε more; the "
        "logarithm turns that relative error of p into the same absolute one of log p, and is "
        "within 1.2 ULP itself: about 3 ε · max(1, |log p|) a side.",
        compare(operation, "log_probs", in_epsilon_nats),
        _unimix_cases,
        lambda: cases.search_logits(64, 32).map(lambda x: {"logits": x, "unimix": 0.01}),
    )


def _unimix_cases(rng: np.random.Generator) -> Inputs:
    """The classes and the share that DreamerV3 has, and others, so that both are seen."""
    return {
        "variants": [
            {"logits": cases.logits(rng, 512, classes, -6, 8), "unimix": unimix}
            for classes, unimix in ((32, 0.01), (5, 0.1))
        ]
    }


def _antisymmetric_bins(rng: np.random.Generator, count: int) -> np.ndarray:
    positive = np.unique(np.abs(cases.scalars(rng, 4 * count, -6, 9)))[1 : count // 2 + 1]
    return np.concatenate([-positive[::-1], np.zeros(1, np.float32), positive])


def _decode_cases(rng: np.random.Generator) -> Inputs:
    return {
        "logits": cases.tilted_logits(rng, 1024, 41),
        "bins": _antisymmetric_bins(rng, 41),
    }


def _rms_cases(rng: np.random.Generator) -> Inputs:
    # Mean squares from 1e-12 to 1e12, with many near ε = 1e-4, where ε shows.
    wide = cases.logits(rng, 256, 64, -20, 20)
    near = cases.logits(rng, 256, 64, -9, -3)
    scale = (0.5 + rng.random(64)).astype(np.float32)
    return {"x": np.concatenate([wide, near]), "scale": scale}


def _return_cases(rng: np.random.Generator) -> Inputs:
    """Large returns, and returns so small that the scale stands at its limit of 1."""
    large = {
        "returns": cases.logits(rng, 32, 1023, 2, 4),
        "initial": np.asarray([-1.5, 40.0], np.float32),
    }
    small = {"returns": cases.logits(rng, 32, 257, -6, -3), "initial": np.zeros(2, np.float32)}
    return {"variants": [large, small]}


def _relative(ours: np.ndarray, theirs: np.ndarray, inputs: Inputs) -> np.ndarray:
    """The gap over the reference's value; at a value of 0 any gap is infinite."""
    del inputs
    with np.errstate(divide="ignore", invalid="ignore"):
        apart = gap(ours, theirs)
        return np.where(apart, apart / np.abs(theirs.astype(np.float64)), 0.0)


def _of_largest_return(ours: np.ndarray, theirs: np.ndarray, inputs: Inputs) -> np.ndarray:
    largest = np.maximum(np.abs(inputs["returns"]).max(), np.abs(inputs["initial"]).max())
    return gap(ours, theirs) / (EPSILON * float(largest))


AGREEMENTS = (
    agreement(
        "symlog",
        "Symmetric logarithm",
        "sign(x) · log1p(|x|)",
        (("dreamerv3/jaxutils.py", "76-77", "76-77"),),
        _elementaryin_both_modes(
            "dreamerv3.symlog",
            "symlog",
            "from subnormals to 3e38",
            128,
            3.4e38,
            _symlog64,
            AtMost(3, "ULP"),
            AtMost(4, "ULP"),
        ),
        "Observations and reconstruction targets are on the reference's scale.",
    ),
    agreement(
        "symexp",
        "Symmetric exponential",
        "sign(x) · expm1(|x|)",
        (("dreamerv3/jaxutils.py", "80-81", "80-81"),),
        _elementaryin_both_modes(
            "dreamerv3.symexp",
            "symexp",
            "up to where float32 overflows",
            7,
            100.0,
            _symexp64,
            AtMost(6, "ULP"),
            AtMost(7, "ULP"),
        ),
        "Decoded observations are on the reference's scale.",
    ),
    agreement(
        "latent-unimix",
        "Unimix of the latents",
        "log((1 − 0.01) · softmax(logits) + 0.01 / classes), for prior and posterior",
        (("dreamerv3/nets.py", "207-217", "207-217"),),
        _log_probin_both_modes("dreamerv3.latent_log_probs"),
        "KL terms stay finite, and no latent class dies.",
    ),
    agreement(
        "actor-unimix",
        "Unimix of the discrete policy",
        "log((1 − 0.01) · softmax(logits) + 0.01 / actions)",
        (("dreamerv3/nets.py", "523-530", "518-525"),),
        _log_probin_both_modes("dreamerv3.actor_log_probs"),
        "Every action keeps a probability of at least 0.01 / actions.",
    ),
    agreement(
        "twohot-encode",
        "Two-hot targets",
        "Linear interpolation between the two bins around a value; all weight on the outermost "
        "bin beyond the support",
        (("dreamerv3/jaxutils.py", "255-270", "255-270"),),
        in_both_modes(
            "dreamerv3.twohot_encode",
            "two-hot weights are the reference's on any ascending bins.",
            AtMost(4, "ε"),
            "There is more than one right formula, w and 1 − w among them. Each rounds a "
            "difference, a sum and a quotient of numbers below 1: at most 2 ε a side.",
            compare("dreamerv3.twohot_encode", "weights", in_epsilon),
            lambda rng: {
                "value": cases.scalars(rng, 1024, -10, 8),
                "bins": np.unique(cases.scalars(rng, 41, -6, 7)),
            },
        ),
        "Rewards and values are learned on the reference's targets.",
    ),
    agreement(
        "twohot-bins",
        "Two-hot bins",
        "symexp of an even grid on [−20, 20], in float32",
        (("dreamerv3/nets.py", "467-475", "462-470"),),
        in_both_modes(
            "dreamerv3.twohot_bins",
            "the bins are the reference's, whatever their number.",
            AtMost(3e-6, "relative"),
            "symexp turns the half ULP of its float32 argument near 20 into 9.5e-7 relative, and "
            "expm1 adds 3.5e-7: 1.3e-6 a side, for a port that rounds as the reference does.",
            compare("dreamerv3.twohot_bins", "bins", _relative),
            lambda rng: {"variants": [{"count": count} for count in (255, 41)]},
        ),
        "Rewards and values are learned on the reference's support.",
    ),
    agreement(
        "twohot-decode",
        "Two-hot expectation",
        "Expectation of the bins under softmax(logits)",
        (("dreamerv3/jaxutils.py", "226-250", "226-250"),),
        in_both_modes(
            "dreamerv3.twohot_decode",
            "the expectation is the reference's on any antisymmetric bins.",
            AtMost(24, "ε·E_p|b|"),
            "A sum of 41 products from left to right rounds 40 times, by half an ε of at most "
            "E_p|b|: 20 at the very worst; the softmaxes part by 4 more.",
            compare("dreamerv3.twohot_decode", "value", in_epsilon_of_expectation),
            _decode_cases,
        ),
        "Rewards and values are predicted on the reference's scale.",
    ),
    agreement(
        "twohot-loss",
        "Two-hot loss",
        "Cross entropy of the two-hot target under softmax(logits)",
        (("dreamerv3/jaxutils.py", "255-274", "255-274"),),
        in_both_modes(
            "dreamerv3.twohot_loss",
            "the two-hot loss is the reference's on any ascending bins.",
            AtMost(5, LOSS_UNIT),
            LOSS_REASON,
            compare("dreamerv3.twohot_loss", "loss", in_epsilon_of_loss),
            lambda rng: {
                "logits": cases.logits(rng, 1024, 41),
                "value": cases.scalars(rng, 1024, -10, 8),
                "bins": np.sort(cases.scalars(rng, 41, -6, 7)),
            },
        ),
        "Reward head and critic descend the reference's loss.",
    ),
    agreement(
        "rms-norm",
        "RMS normalisation",
        "x · scale / sqrt(mean(x²) + 1e-4)",
        (("dreamerv3/nets.py", "758-763", "753-758"),),
        in_both_modes(
            "dreamerv3.rms_norm",
            "RMS normalisation is the reference's, with its ε of 1e-4.",
            AtMost(16, "ULP"),
            "A vectorised sum of 64 squares is a chain of at most 16 additions: 16 half ULP, "
            "which the root halves to 4; the reciprocal root is within 1.8 ULP, the square and "
            "two products add 1.3: under 8 ULP a side. A wrong ε is off by percents.",
            compare("dreamerv3.rms_norm", "y", in_ulp),
            _rms_cases,
            lambda: cases.search_logits(48, 64).map(
                lambda x: {"x": x, "scale": np.ones(64, np.float32)}
            ),
        ),
        "Activations keep the reference's scale, also where they are tiny.",
    ),
    agreement(
        "return-normaliser",
        "Percentile return normaliser",
        "low ← 0.99 · low + 0.01 · P5, high likewise with P95, scale = max(1, high − low)",
        (("dreamerv3/jaxutils.py", "301-386", "301-386"),),
        tuple(
            claim
            for output in ("low", "high", "scale")
            for claim in prefixed(
                output,
                in_both_modes(
                    "dreamerv3.return_normaliser",
                    f"`{output}` is the reference's after each of 32 updates.",
                    AtMost(8, "ε · max|return|"),
                    "The moving average is rounded twice per update, half a ULP each time; over "
                    "32 updates these wander by √64 · ε/2 = 4 ε a side. The percentiles enter "
                    "with a weight of 0.01.",
                    compare("dreamerv3.return_normaliser", output, _of_largest_return),
                    _return_cases,
                ),
            )
        ),
        "Advantages are on the reference's scale, whatever the scale of the rewards.",
    ),
)
