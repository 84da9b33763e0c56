"""Imagination, and what a training step makes of actions and draws."""

from __future__ import annotations

import numpy as np

from parity import cases
from parity.agreements.dreamerv3 import (
    latent_cases,
)
from parity.agreements.dreamerv3.entries import agreement
from parity.agreements.dreamerv3.latent import EXACT, LAYERS, drawn
from parity.agreements.dreamerv3.latent_measures import (
    against_reference,
    bound,
    count,
    of_both,
    untouched,
    why,
)
from parity.claims import AtMost, Equals, Measurement
from parity.comparisons import EPSILON, gap, in_epsilon, in_epsilon_nats
from parity.implementations import Implementation
from parity.operations import Inputs
from parity.registry import Claim

IMAGINE = "dreamerv3.imagine"
COUNTS = "dreamerv3.imagined_counts"
PREVIOUS_ACTIONS = "dreamerv3.previous_actions"
STRAIGHT_THROUGH = "dreamerv3.straight_through"


def imagined(output: str, what: str) -> Claim:
    """A claim that an output of imagining is the reference's."""
    return Claim(
        output,
        f"{what} are the reference's, over 15 imagined steps.",
        AtMost(bound(LAYERS), "ε · max(1, |value|)"),
        why(LAYERS),
        (IMAGINE,),
        latent_cases.imagine,
        against_reference(IMAGINE, output, in_epsilon_nats),
    )


def _feeds_back(inputs: Inputs) -> tuple[Inputs, np.ndarray, np.ndarray]:
    """Other classes at the first imagined state: known only from the second deter on."""
    noise = inputs["prior_noise"].copy()
    noise[0] = -noise[0]
    steps, rows = len(noise) + 1, noise.shape[1]
    step = np.broadcast_to(np.arange(steps)[:, None], (steps, rows))
    return {**inputs, "prior_noise": noise}, step < 1, step >= 2


def _counts(side: Implementation, inputs: Inputs) -> Measurement:
    answer = side(COUNTS, **inputs)
    starts = inputs["batch"] * inputs["length"]
    expected = {"trajectories": starts, "states": 16, "scored": 15}
    wrong = {f"{what} is not {n}": answer[what] != n for what, n in expected.items()}
    return count(wrong, inputs, 3)


def _straight_cases(rng: np.random.Generator) -> Inputs:
    return {
        "log_probs": cases.logits(rng, 64, 5, -2, 2),
        "noise": latent_cases.noise(rng, 64, 5),
        "weights": (4 * rng.random((64, 5)) - 2).astype(np.float32),
    }


def _of_weights(ours: np.ndarray, theirs: np.ndarray, inputs: Inputs) -> np.ndarray:
    return gap(ours, theirs) / (EPSILON * np.abs(inputs["weights"]).max(-1, keepdims=True))


AGREEMENTS = (
    agreement(
        "imagining",
        "Imagined trajectories",
        "H + 1 states from each replayed one: the policy acts in every state, the prior draws "
        "the next; the actions of the first H are scored where they were drawn",
        (
            ("dreamerv3/agent.py", "251-283", "267-299"),
            ("dreamerv3/agent.py", "317-320", "333-341"),
        ),
        (
            imagined("deters", "Recurrent states"),
            imagined("scores", "The log-probabilities of the scored actions"),
            drawn(
                IMAGINE,
                "classes",
                "From the same noise, the imagined classes are the reference's.",
                latent_cases.imagine,
            ),
            drawn(
                IMAGINE,
                "actions",
                "From the same noise, the imagined actions are the reference's.",
                latent_cases.imagine,
            ),
            Claim(
                "feeds-back",
                "Other noise at the first imagined draw leaves the start as it is, and changes "
                "every recurrent state from the second step on.",
                Equals(0, "states on the wrong side"),
                EXACT,
                (IMAGINE,),
                latent_cases.imagine,
                of_both(untouched(IMAGINE, 2, _feeds_back, "deters")),
            ),
            Claim(
                "counts",
                "At the default horizon, every one of B · T rows starts a trajectory of 16 "
                "states, of which the actions of 15 are scored.",
                Equals(0, "counts that differ"),
                "Counts are integers.",
                (COUNTS,),
                lambda rng: {"batch": 3, "length": 5},
                of_both(_counts),
            ),
        ),
        "Actor and critic learn from the reference's imagination.",
    ),
    agreement(
        "previous-actions",
        "The action before each row",
        "That of the row before; for the first row, that of the context row",
        (("dreamerv3/agent.py", "228-233", "244-249"),),
        (
            drawn(
                PREVIOUS_ACTIONS,
                "vectors",
                "Each row of a training sequence is told the action of the row before it.",
                lambda rng: {
                    "context_action": rng.integers(0, 5, 4).astype(np.int32),
                    "action": rng.integers(0, 5, (4, 9)).astype(np.int32),
                    "actions": 5,
                },
            ),
        ),
        "The model learns what an action leads to, and not what follows a state.",
    ),
    agreement(
        "straight-through",
        "The gradient of a draw",
        "The value is the one-hot draw, the gradient that of the probabilities",
        (("dreamerv3/jaxutils.py", "103-121", "103-121"),),
        (
            Claim(
                "draw",
                "From the same noise, a draw is the reference's one-hot vector.",
                AtMost(1, "ε"),
                "draw + (p − p) is exact; a port that adds p before it subtracts p rounds once.",
                (STRAIGHT_THROUGH,),
                _straight_cases,
                against_reference(STRAIGHT_THROUGH, "draw", in_epsilon),
            ),
            Claim(
                "gradient",
                "The gradient of a weighted draw is the reference's.",
                AtMost(8, "ε · max|weight|"),
                "p · (w − Σ p w): softmax and sum are within 2 ε a side, the difference and the "
                "product round once each, of terms of that size.",
                (STRAIGHT_THROUGH,),
                _straight_cases,
                against_reference(STRAIGHT_THROUGH, "gradient", _of_weights),
            ),
        ),
        "The representation learns through its discrete states.",
    ),
)
