"""What DreamerV3 optimises: its parameters, and how the output layers start."""

from __future__ import annotations

import numpy as np

from parity.agreements.dreamerv3.entries import agreement
from parity.agreements.dreamerv3.latent_measures import count
from parity.claims import Equals, Measurement, Within
from parity.comparisons import worst_of
from parity.implementations import Implementation
from parity.operations import Inputs
from parity.registry import Claim
from parity.trace.dreamerv3.names import match
from parity.trace.sides import NameMapError

# CartPole at the size 1m.
CARTPOLE = {
    **{"observation_size": 4, "actions": 2, "units": 64, "hidden": 64, "deter": 512},
    **{"stoch": 32, "classes": 4, "blocks": 8, "bins": 255},
}
NETWORKS = ("enc", "dyn", "dec", "rew", "con", "actor", "critic")


def _counts(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    """Entries of the table network × leaf that are not as they must be."""
    operation = "dreamerv3.parameter_counts"
    ours, theirs = subject(operation, **inputs), reference(operation, **inputs)
    padding = np.zeros((7, 3), np.int64)
    # One column for each two-hot head: a weight per unit, and a bias.
    padding[[NETWORKS.index("rew"), NETWORKS.index("critic")]] = inputs["units"], 1, 0
    wrong = {
        "kinds of leaf are not as many": ours["leaves"] != theirs["leaves"],
        "kinds hold another number": ours["numbers"] + padding != theirs["numbers"],
    }
    return count(wrong, inputs, 42)


def _total(side: str):
    def measure(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
        asked = subject if side == "subject" else reference
        total = int(asked("dreamerv3.parameter_counts", **inputs)["numbers"].sum())
        return Measurement(total, total, 1)

    return measure


def _leaves(side: Implementation, inputs: Inputs) -> dict[str, tuple[int, ...]]:
    text = side("dreamerv3.parameter_names", **inputs)["text"].tobytes().decode()
    lines = [line.partition(" ") for line in text.splitlines()]
    return {name: tuple(map(int, shape.split("x"))) for name, _, shape in lines}


def _names(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    """How many leaves have no counterpart."""
    ours, theirs = _leaves(subject, inputs), _leaves(reference, inputs)
    try:
        match(ours, theirs)
    except NameMapError as error:
        problems = len(str(error).split("; "))
        return Measurement(problems, problems, len(theirs), inputs, str(error)[:200])
    return Measurement(0, 0, len(theirs))


def _fresh_cases(rng: np.random.Generator) -> Inputs:
    return {
        "features": (2 * rng.random((3, 96)) - 1).astype(np.float32),
        "shift": (2 * rng.random(255) - 1).astype(np.float32),
        "seed": int(rng.integers(0, 2**31)),
    }


# Of dec, con, actor, prior and posterior, and where they stand in the answer.
_OUTSCALE = np.asarray([0.1, 1.0, 0.01, 1.0, 1.0])
_DRAWN = [0, 2, 3, 5, 6]


def _outscales(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    figures = [
        side("dreamerv3.fresh_outputs", **inputs)["outscale"][_DRAWN] / _OUTSCALE
        for side in (reference, subject)
    ]
    ratios = np.concatenate(figures)
    return Measurement(float(ratios.min()), float(ratios.max()), ratios.size)


def _first_logits(subject: Implementation, reference: Implementation, inputs: Inputs):
    names = ("reward_logits", "critic_logits", "slow_critic_logits")
    found = []
    for side in (reference, subject):
        answer = side("dreamerv3.fresh_outputs", **inputs)
        wrong = {f"{name} are not the biases": answer[name] != inputs["shift"] for name in names}
        wrong["biases are not 0"] = answer["biases"] != 0
        found.append(count(wrong, inputs, 3 * answer["reward_logits"].size + 7))
    return worst_of(found)


AGREEMENTS = (
    agreement(
        "parameters",
        "What is optimised",
        "Kernel and bias in every affine map, a scale and no offset in every norm: 637,511 "
        "numbers for CartPole at the size 1m, 130 of them in two padding columns",
        (("dreamerv3/agent.py", "89-91", "101-103"), ("dreamerv3/nets.py", "599-706", "594-701")),
        (
            Claim(
                "counts",
                "Each network has the reference's number of kernels, biases and scales, which "
                "hold as many numbers, but for the column that pads 255 bins to 256.",
                Equals(0, "entries that differ"),
                "Counts are integers.",
                ("dreamerv3.parameter_counts",),
                lambda rng: dict(CARTPOLE),
                _counts,
            ),
            Claim(
                "total",
                "For CartPole at the size 1m, 637,381 numbers are optimised.",
                Equals(637_381, "numbers"),
                "Counts are integers.",
                ("dreamerv3.parameter_counts",),
                lambda rng: dict(CARTPOLE),
                _total("subject"),
                about="subject",
            ),
            Claim(
                "reference-total",
                "The reference optimises 637,511.",
                Equals(637_511, "numbers"),
                "Counts are integers.",
                ("dreamerv3.parameter_counts",),
                lambda rng: dict(CARTPOLE),
                _total("reference"),
                about="reference",
            ),
            Claim(
                "names",
                "Every leaf of the core is one leaf of the reference, of the same shape but for "
                "the padding column, and the other way round.",
                Equals(0, "leaves without a counterpart"),
                "The map between the names must be a bijection.",
                ("dreamerv3.parameter_names",),
                lambda rng: dict(CARTPOLE),
                _names,
                core_only=True,
            ),
        ),
        "Nothing is learned that the reference does not learn, and nothing is left out.",
    ),
    agreement(
        "fresh-outputs",
        "Output layers of a fresh agent",
        "outscale 0 for reward head and critic, 0.1 for the decoder, 0.01 for the actor, 1 for "
        "the continue head, the prior and the posterior; biases 0",
        (
            ("dreamerv3/configs.yaml", "122-129", "122-129"),
            ("dreamerv3/nets.py", "411-437", "406-432"),
        ),
        (
            Claim(
                "first-logits",
                "Reward head, critic and slow critic start without weights or biases: once a "
                "bias is set, it is their output, whatever the features.",
                Equals(0, "logits and biases that differ"),
                "A sum of zeros is exact.",
                ("dreamerv3.fresh_outputs",),
                _fresh_cases,
                _first_logits,
            ),
            Claim(
                "outscales",
                "The other output layers start with their standard deviation: decoder 0.1, "
                "continue head 1, actor 0.01, prior and posterior 1, each over sqrt(inputs).",
                Within(0.7, 1.3, "of the outscale"),
                "The standard deviation of n draws from the truncated normal is off by 0.58/√n, "
                "7.3 % for the 64 weights of the continue head: 4 times that.",
                ("dreamerv3.fresh_outputs",),
                _fresh_cases,
                _outscales,
            ),
        ),
        "First predictions are 0, and the first policy is nearly uniform.",
    ),
)
