"""D5: how many heads decode a vector observation."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from deviations.d3 import HEAD
from parity.agreements.dreamerv3.entries import PINS
from parity.claims import AtMost, Equals, Measurement, Stated, Within, measure_range
from parity.comparisons import EPSILON
from parity.implementations import Implementation
from parity.operations import Answer, Inputs
from parity.registry import Claim, Entry, Source

GRADIENT = "dreamerv3.decoder_gradient"

WIDTH = 64  # of the protocol's size
DRAWS = 4


def _uniform(rng: np.random.Generator, *shape: int, scale: float = 1.0) -> np.ndarray:
    return (rng.uniform(-1, 1, shape) * scale).astype(np.float32)


def _cases(*scales: float) -> Callable[[np.random.Generator], Inputs]:
    """Freshly initialised decoders of two keys, whose components have these magnitudes.

    A kernel has the standard deviation that the initialiser gives it: 1 / sqrt(fan-in), and a
    tenth of that in the output layers.
    """

    def draw(rng: np.random.Generator) -> Inputs:
        def one() -> Inputs:
            keys = [_uniform(rng, 16, 16, 2, scale=scale) for scale in scales]
            spread = float(np.sqrt(3 / WIDTH))
            return {
                "features": _uniform(rng, 16, 16, WIDTH),
                "observation": np.concatenate(keys, -1),
                "hidden": _uniform(rng, WIDTH, WIDTH, scale=spread),
                "kernel": _uniform(rng, WIDTH, 4, scale=spread / 10),
                "bias": np.zeros(4, np.float32),
            }

        return {"variants": [one() for _ in range(DRAWS)]}

    return draw


# CartPole's positions and angles stay within 0.2 or so, its velocities are about 1.
cartpole, alike = _cases(0.2, 1.0), _cases(1.0, 1.0)


def _output_layer(answer: Answer) -> np.ndarray:
    return np.concatenate([answer["kernel"], answer["bias"][None]]).astype(np.float64)


def _heads(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    del subject
    heads = [int(reference(GRADIENT, **v, first=2)["heads"]) for v in inputs["variants"]]
    return measure_range(heads)


def _one_head(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    """The core's heads, if what they compute depends on the batch."""
    del reference
    answers = [subject(GRADIENT, **v, first=0) for v in inputs["variants"]]
    if len({float(answer["loss"]) for answer in answers}) != len(answers):
        return Measurement(np.nan, np.nan, len(answers))
    heads = [int(answer["heads"]) for answer in answers]
    return measure_range(heads)


def _losses(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    """The reference's loss of two keys against the core's of one, over ε times itself."""
    apart = []
    for variant in inputs["variants"]:
        theirs = float(reference(GRADIENT, **variant, first=2)["loss"])
        ours = float(subject(GRADIENT, **variant, first=0)["loss"])
        apart.append(abs(ours - theirs) / (EPSILON * theirs))
    worst = float(np.max(apart))  # NaN, if one is
    return Measurement(worst, worst, len(apart))


def _partition(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    """How far the clipped gradient of the output layer moves when one key becomes two."""
    del subject
    moved, whole = [], []
    for variant in inputs["variants"]:
        one, two = (reference(GRADIENT, **variant, first=first) for first in (0, 2))
        distance = np.linalg.norm(_output_layer(one) - _output_layer(two))
        size = np.linalg.norm(_output_layer(one))
        moved.append(float(distance / size))
        whole.append(float(distance / np.hypot(size, float(one["hidden_norm"]))))
    note = f"{min(whole):.2f} to {max(whole):.2f} of the whole decoder's"
    return measure_range(moved, note=note)


def _clipped(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    """The core's clipped gradient against the reference's for one key."""
    apart = []
    for variant in inputs["variants"]:
        theirs, ours = (
            _output_layer(side(GRADIENT, **variant, first=0)) for side in (reference, subject)
        )
        apart.append(float(np.linalg.norm(theirs - ours) / np.linalg.norm(theirs)))
    worst = float(np.max(apart))  # NaN, if one is
    return Measurement(worst, worst, len(apart))


CLAIMS = (
    Claim(
        "reference-heads",
        "The reference has one output layer per key of the observation.",
        Equals(2, "output layers for 2 keys"),
        "Layers are counted.",
        (GRADIENT,),
        cartpole,
        _heads,
        about="reference",
        stated=Stated("one decoder head per observation key", 2, 2),
    ),
    Claim(
        "core-heads",
        "The core has one for the flat vector.",
        Equals(1, "output layer"),
        "Layers are counted.",
        (GRADIENT,),
        cartpole,
        _one_head,
        about="subject",
        core_only=True,
        stated=Stated("one head", 1, 1),
    ),
    Claim(
        "loss",
        "The reference's loss of two keys is the core's of one vector, within rounding.",
        AtMost(16, "ε·loss"),
        "A sum of means is the mean of the sum. Two compilers sum 64 products and 256 rows in "
        "different orders: a dot product of 64 terms is within 8 ε of the size of its terms when "
        "summed in vectors, and the errors of 1,024 of them average out.",
        (GRADIENT,),
        cartpole,
        _losses,
        stated=Stated("the loss is identical", 0, 16),
    ),
    Claim(
        "partition",
        "At initialisation, with keys of CartPole's magnitudes, the reference's clipped gradient "
        "of the output layer is another one when one key becomes two: the difference is a tenth "
        "to a half of its norm, by chance of the initial kernel.",
        Within(0.1, 0.6, "of its norm"),
        "Each tensor's gradient is cut to 0.3 times the norm of its parameter. Two tensors keep "
        "shares of their parameters' norms, one tensor keeps those of the gradient, in which the "
        "larger errors of the velocities prevail.",
        (GRADIENT,),
        cartpole,
        _partition,
        about="reference",
        stated=Stated("≤ 8 %", 0, 0.08),
    ),
    Claim(
        "partition-alike",
        "With keys of equal magnitudes the difference is small.",
        Within(0.005, 0.15, "of its norm"),
        "The shares of the two keys are then nearly those of their parameters. What the table's "
        "8 % is relative to, and at which state of training, it does not say.",
        (GRADIENT,),
        alike,
        _partition,
        about="reference",
        stated=Stated("≤ 8 %", 0, 0.08),
    ),
    Claim(
        "clipping",
        "For one key the core's clipped gradient is the reference's.",
        AtMost(2e-5, "of its norm"),
        "Rounding of sums over 256 rows and 64 units by two compilers: 2.5e-7 at 29eb964 and "
        "2411f7d, 9.6e-6 at e3f0224, and twice that.",
        (GRADIENT,),
        cartpole,
        _clipped,
    ),
)

ROW = Entry(
    id="D5",
    agent="DreamerV3",
    kind="deviation",
    title="Decoder heads of the observation",
    reference="One decoder head per observation key (dict observations), at e3f0224 as well.",
    subject="One head for the flat observation vector.",
    consequence=(
        "The loss is identical (a sum of means); the per-tensor AGC partition differs (≤ 8 % "
        "clipped-gradient difference, probed)."
    ),
    sources=(
        Source("dreamerv3-29eb964", "dreamerv3/nets.py", "321-326"),
        Source("dreamerv3-29eb964", "dreamerv3/jaxutils.py", "660-674"),
        Source("dreamerv3-2411f7d", "dreamerv3/nets.py", "316-321"),
        Source("dreamerv3-2411f7d", "dreamerv3/jaxutils.py", "659-673"),
        Source("dreamerv3-e3f0224", "dreamerv3/rssm.py", "297-306"),
        Source("dreamerv3-e3f0224", "embodied/jax/heads.py", "57-62"),
        Source("dreamerv3-e3f0224", "embodied/jax/opt.py", "109-123"),
    ),
    pins=(*PINS, HEAD),
    claims=CLAIMS,
)
