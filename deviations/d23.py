"""D23: the constant that corrects the initial kernels for their truncation."""

from __future__ import annotations

import numpy as np

from deviations.d3 import HEAD
from parity.agreements.dreamerv3.entries import PINS
from parity.claims import AtMost, Measurement, Stated, Within, measure_errors, measure_range
from parity.comparisons import EPSILON, worst_of
from parity.implementations import Implementation
from parity.operations import Answer, Inputs
from parity.registry import Claim, Entry, Source

# Standard deviation of a standard normal truncated to [−2, 2]: 1 − 4 φ(2) / (2 Φ(2) − 1),
# rooted. The reference divides by its own rounding of it.
TRUNCATED_STD = 0.8796256610342398
REFERENCE_FACTOR = 1.1368
FACTOR = REFERENCE_FACTOR * TRUNCATED_STD

# (blocks, inputs, outputs, outscale), the inputs and outputs of one block.
BLOCK_SHAPES = ((8, 16, 128, 1.0), (4, 32, 128, 0.5))

DENSE, BLOCK = "dreamerv3.kernel_init", "dreamerv3.block_kernel_init"

# (inputs, outputs, outscale): a hidden layer, the image of a small observation, and a
# layer with a scaled output.
DENSE_SHAPES = ((256, 64, 1.0), (4, 64, 1.0), (64, 256, 0.1))


def _dense_questions(inputs: Inputs) -> list[Inputs]:
    return [
        {"fan_in": i, "fan_out": o, "outscale": scale, "seed": inputs["seed"] + n}
        for n, (i, o, scale) in enumerate(DENSE_SHAPES)
    ]


def _block_questions(inputs: Inputs) -> list[Inputs]:
    return [
        {"blocks": g, "fan_in": i, "fan_out": o, "outscale": scale, "seed": inputs["seed"] + n}
        for n, (g, i, o, scale) in enumerate(BLOCK_SHAPES)
    ]


def _cases(rng: np.random.Generator) -> Inputs:
    return {"seed": int(rng.integers(2**30))}


def _ratio(theirs: Answer, ours: Answer) -> np.ndarray:
    return theirs["kernel"].astype(np.float64) / ours["kernel"].astype(np.float64)


def _factor(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    ratios = [_ratio(reference(DENSE, **q), subject(DENSE, **q)) for q in _dense_questions(inputs)]
    off = [float(abs(np.mean(ratio) - 1)) for ratio in ratios]
    return measure_range(off, sum(ratio.size for ratio in ratios))


def _questions(operation: str, inputs: Inputs) -> list[Inputs]:
    return _dense_questions(inputs) if operation == DENSE else _block_questions(inputs)


def _same_draws(operation: str):
    def measure(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
        questions = _questions(operation, inputs)
        worst = [
            measure_errors(
                np.abs(_ratio(reference(operation, **q), subject(operation, **q)) / FACTOR - 1)
                / EPSILON,
                {f"layer {name}": value for name, value in q.items()},
            )
            for q in questions
        ]
        silent = {**questions[0], "outscale": 0.0}
        kernels = [side(operation, **silent)["kernel"] for side in (subject, reference)]
        off = np.where(np.stack(kernels) == 0, 0.0, np.inf)
        return worst_of([*worst, measure_errors(off, silent)])

    return measure


def _standard_deviation(who: str, operation: str):
    """Sample standard deviation over outscale / sqrt(fan-in), of every large kernel."""

    def measure(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
        side = subject if who == "subject" else reference
        stds, compared = [], 0
        for q in _questions(operation, inputs):
            fan_in = q["fan_in"] * q.get("blocks", 1)
            if fan_in * q["fan_out"] > 10_000:
                kernel = side(operation, **q)["kernel"].astype(np.float64)
                stds.append(float(kernel.std() * np.sqrt(fan_in) / q["outscale"]))
                compared += kernel.size
        return measure_range(stds, compared)

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
    pins=(*PINS, HEAD),
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
            # Half a unit of the last digit, and the 1.2e-7 of the reason.
            stated=Stated("4.16e-5", 4.143e-5, 4.177e-5),
            core_only=True,
        ),
        Claim(
            "draws",
            "But for that factor, every weight is the same draw; an outscale of 0 leaves zeros.",
            AtMost(8, "ε relative"),
            "Both sides scale one float32 draw by one or two float32 factors; erf-inverse of two "
            "versions of XLA may part by 2 ULP.",
            (DENSE,),
            _cases,
            _same_draws(DENSE),
            core_only=True,
        ),
        Claim(
            "block-draws",
            "The same holds for a block-diagonal kernel: its fan-in is the width of all blocks.",
            AtMost(8, "ε relative"),
            "As for `draws`.",
            (BLOCK,),
            _cases,
            _same_draws(BLOCK),
            core_only=True,
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
