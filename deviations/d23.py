"""D23: the constant that corrects the initial kernels for their truncation."""

from __future__ import annotations

import numpy as np

from parity.claims import AtMost, Measurement, Stated, Within, measure_errors
from parity.comparisons import EPSILON
from parity.implementations import Implementation
from parity.operations import Answer, Inputs
from parity.registry import Claim, Entry, Source

# Standard deviation of a standard normal truncated to [−2, 2]: 1 − 4 φ(2) / (2 Φ(2) − 1),
# rooted. The reference divides by its own rounding of it.
TRUNCATED_STD = 0.8796256610342398
REFERENCE_FACTOR = 1.1368
FACTOR = REFERENCE_FACTOR * TRUNCATED_STD

DENSE, BLOCK = "dreamerv3.kernel_init", "dreamerv3.block_kernel_init"

# (inputs, outputs, outscale): a hidden layer, the image of a small observation, and a
# layer with a scaled output.
DENSE_SHAPES = ((256, 64, 1.0), (4, 64, 1.0), (64, 256, 0.1))


def _dense_questions(inputs: Inputs) -> list[Inputs]:
    return [
        {"fan_in": i, "fan_out": o, "outscale": scale, "seed": inputs["seed"] + n}
        for n, (i, o, scale) in enumerate(DENSE_SHAPES)
    ]


def _block_question(inputs: Inputs) -> Inputs:
    return {"blocks": 8, "fan_in": 16, "fan_out": 128, "outscale": 1.0, "seed": inputs["seed"]}


def _cases(rng: np.random.Generator) -> Inputs:
    return {"seed": int(rng.integers(2**30))}


def _ratio(theirs: Answer, ours: Answer) -> np.ndarray:
    return theirs["kernel"].astype(np.float64) / ours["kernel"].astype(np.float64)


def _factor(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    ratios = [_ratio(reference(DENSE, **q), subject(DENSE, **q)) for q in _dense_questions(inputs)]
    off = [float(abs(np.mean(ratio) - 1)) for ratio in ratios]
    return Measurement(min(off), max(off), sum(ratio.size for ratio in ratios))


def _same_draws(operation: str):
    def measure(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
        dense = operation == DENSE
        questions = _dense_questions(inputs) if dense else [_block_question(inputs)]
        errors, shapes = [], []
        for question in questions:
            ratio = _ratio(reference(operation, **question), subject(operation, **question))
            errors.append(np.max(np.abs(ratio / FACTOR - 1)) / EPSILON)
            shapes.append(f"fan_in {question['fan_in']}, outscale {question['outscale']}")
        worst = measure_errors(np.asarray(errors), {"layer": np.asarray(shapes), **inputs})
        return worst

    return measure


def _standard_deviation(who: str, operation: str):
    """Sample standard deviation over outscale / sqrt(fan-in), over all the layers' weights."""

    def measure(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
        side = subject if who == "subject" else reference
        if operation == BLOCK:
            question = _block_question(inputs)
            unit = np.sqrt(question["blocks"] * question["fan_in"])
            values = [side(BLOCK, **question)["kernel"].ravel() * unit]
        else:
            values = [
                side(DENSE, **q)["kernel"].ravel() * np.sqrt(q["fan_in"]) / q["outscale"]
                for q in _dense_questions(inputs)
                if q["fan_in"] * q["fan_out"] > 10_000
            ]
        stds = [float(value.astype(np.float64).std()) for value in values]
        return Measurement(min(stds), max(stds), sum(value.size for value in values))

    return measure


STD_REASON = (
    "The relative error of a standard deviation estimated from 16,384 draws of a truncated "
    "normal (excess kurtosis −0.63) is 0.46 %: five of them. A wrong fan or a missing "
    "correction for the truncation (0.88) is far outside."
)

ROW = Entry(
    id="D23",
    agent="DreamerV3",
    kind="deviation",
    title="Constant of the kernel initialiser",
    reference="Kernels start as 1.1368 · sqrt(1/fan_in) · TruncatedNormal(−2, 2).",
    subject=(
        "Kernels start as variance_scaling(outscale², 'fan_in', 'truncated_normal'), i.e. with "
        "the exact factor 1/0.87962566."
    ),
    consequence="The same draws up to a constant factor: 4.16e-5 relative.",
    sources=(
        Source("dreamerv3-29eb964", "dreamerv3/nets.py", "846-849"),
        Source("dreamerv3-29eb964", "dreamerv3/nets.py", "874-885"),
        Source("dreamerv3-2411f7d", "dreamerv3/nets.py", "842-848"),
        Source("dreamerv3-2411f7d", "dreamerv3/nets.py", "873-884"),
        Source("dreamerv3-e3f0224", "embodied/jax/nets.py", "168-170"),
    ),
    pins=("dreamerv3-29eb964", "dreamerv3-2411f7d"),
    claims=(
        Claim(
            "factor",
            "From the same random bits, the kernels differ by one constant factor.",
            Within(4.14e-5, 4.17e-5, "|ratio − 1|"),
            f"1.1368 · 0.87962566 = 1 − {(1 - FACTOR) * 1e5:.4f}e-5; the float32 rounding of the "
            "two factors and of their roots moves it by at most 1.2e-7.",
            (DENSE,),
            _cases,
            _factor,
            stated=Stated("4.16e-5", 4.15e-5, 4.17e-5),
        ),
        Claim(
            "draws",
            "But for that factor, every weight is the same draw.",
            AtMost(8, "ε relative"),
            "Both sides scale one float32 draw by one or two float32 factors; erf-inverse of two "
            "versions of XLA may part by 2 ULP.",
            (DENSE,),
            _cases,
            _same_draws(DENSE),
        ),
        Claim(
            "block-draws",
            "The same holds for a block-diagonal kernel: its fan-in is the width of all blocks.",
            AtMost(8, "ε relative"),
            "As for `draws`.",
            (BLOCK,),
            _cases,
            _same_draws(BLOCK),
        ),
        Claim(
            "std",
            "The core's kernels have the standard deviation outscale / sqrt(fan-in).",
            Within(0.977, 1.023, "outscale / sqrt(fan-in)"),
            STD_REASON,
            (DENSE,),
            _cases,
            _standard_deviation("subject", DENSE),
            about="subject",
        ),
        Claim(
            "block-std",
            "So have its block-diagonal kernels, with the full width as fan-in.",
            Within(0.977, 1.023, "outscale / sqrt(fan-in)"),
            STD_REASON,
            (BLOCK,),
            _cases,
            _standard_deviation("subject", BLOCK),
            about="subject",
        ),
        Claim(
            "reference-block-std",
            "The reference takes the full width as a block kernel's fan-in.",
            Within(0.977, 1.023, "outscale / sqrt(fan-in)"),
            STD_REASON,
            (BLOCK,),
            _cases,
            _standard_deviation("reference", BLOCK),
            about="reference",
        ),
    ),
)
