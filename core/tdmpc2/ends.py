"""Ends of episodes, as the networks predict them in the episodic mode (row T29).

The logit that an episode has ended by itself belongs to the latent state that its last action
leads to: nothing is asked of the state before, or of the action. All steps of a sequence count
alike in the loss, which is the only one that ρ does not weigh.

Source: `tdmpc2.py:126-136,282-297,328-329@e9f5932`; `common/math.py:97-109@e9f5932`.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float


class Ends(NamedTuple):
    """What is predicted of the ends of a batch, and how well.

    Attributes:
        logits: Of every state of the rollout but the first.
        loss: Cross entropy in nats, the mean over steps and sequences, without its coefficient.
        rate: Share of the sequences that end with their last step.
        f1: Of the predictions in that step: the harmonic mean of precision and recall; 0 where
            no end has been predicted that was one.
    """

    logits: Float[Array, "H B"]
    loss: Float[Array, ""]
    rate: Float[Array, ""]
    f1: Float[Array, ""]


def assess(logits: Float[Array, "H B"], terminated: Float[Array, "H B"]) -> Ends:
    """Holds predictions to what happened.

    Args:
        logits: That the episode has ended with each step.
        terminated: 1 where it has.
    """
    # With y · softplus(−x) + (1 − y) · softplus(x), nothing cancels where the logit is large.
    entropy = terminated * jax.nn.softplus(-logits) + (1 - terminated) * jax.nn.softplus(logits)
    guessed, ended = predicted(logits[-1]), terminated[-1]
    hits = jnp.sum(guessed * ended)
    # precision = hits / guesses, recall = hits / ends.
    f1 = 2 * hits / jnp.maximum(jnp.sum(guessed) + jnp.sum(ended), 1.0)
    return Ends(logits, jnp.mean(entropy), jnp.mean(ended), f1)


def predicted(logits: Float[Array, "*batch"]) -> Bool[Array, "*batch"]:
    """Where an end is more likely than not, which a logit of 0 is not."""
    return jax.nn.sigmoid(logits) > 0.5
