"""The latent dynamics of DreamerV3: the recurrent step, observing and imagining."""

from __future__ import annotations

import numpy as np

from parity.agreements.dreamerv3 import (
    latent_cases,
)
from parity.agreements.dreamerv3.entries import agreement
from parity.agreements.dreamerv3.latent_measures import (
    NOTHING,
    against_reference,
    apart,
    bound,
    chained,
    changed,
    count,
    least_probability,
    of_both,
    of_subject,
    onehot,
    same_draws,
    untouched,
    why,
)
from parity.claims import AtMost, BitIdentical, Equals, Measurement, Within
from parity.comparisons import (
    in_epsilon,
    in_epsilon_nats,
    worst_of,
)
from parity.implementations import Implementation
from parity.operations import Answer, Inputs
from parity.registry import Claim

RECURRENT_STEP = "dreamerv3.recurrent_step"
OBSERVE = "dreamerv3.observe"
IMAGINE = "dreamerv3.imagine"
COUNTS = "dreamerv3.imagined_counts"
PREVIOUS_ACTIONS = "dreamerv3.previous_actions"
STRAIGHT_THROUGH = "dreamerv3.straight_through"

# A step has 4 layers up to deter, and 2 to 4 more to what is read off it. What a step leaves of
# the state before is 1 − u, about 0.7, and of its error as much: the squares of all steps add up
# to that of two.
LAYERS = 2 * 4 + 4

EXACT = "What does not depend on something does not change with it in any bit."
DRAWN = (
    "No draw of these inputs is decided by less than 1e-4, a hundred times what rounding moves a "
    "log-probability by."
)


def observed(output: str, what: str) -> Claim:
    """A claim that an output of observing is the reference's."""
    return Claim(
        output,
        f"{what} are the reference's, along sequences with resets anywhere in them.",
        AtMost(bound(LAYERS), "ε · max(1, |value|)"),
        why(LAYERS),
        (OBSERVE,),
        latent_cases.observe,
        against_reference(OBSERVE, output, in_epsilon_nats),
    )


def drawn(operation: str, output: str, statement: str, draw) -> Claim:
    """A claim that what is drawn from given noise is what the reference draws."""
    measure = same_draws(operation, output)
    return Claim(output, statement, BitIdentical(), DRAWN, (operation,), draw, measure)


def confident(operation: str, inputs: Inputs, *layers: str) -> Inputs:
    """The inputs with output layers that leave one class of each variable all the weight."""
    biases = {}
    for name in (f"{layer}_bias" for layer in layers):
        classes = latent_cases.A if "actor" in name else latent_cases.C
        bias = np.zeros_like(inputs[name]).reshape(-1, classes)
        bias[np.arange(len(bias)), np.arange(len(bias)) % classes] = 200.0
        biases[name] = bias.reshape(-1)
    return {**inputs, **biases}


def _first_rows(inputs: Inputs) -> np.ndarray:
    """Rows at or after the last reset of their sequence, [B, T]; none if it has no reset."""
    resets = inputs["is_first"]
    return np.cumsum(resets, axis=1) == np.maximum(resets.sum(axis=1, keepdims=True), 1)


def _another_past(inputs: Inputs) -> tuple[Inputs, np.ndarray, np.ndarray]:
    """Everything before the last reset of each sequence, and the state before it, changed."""
    after = _first_rows(inputs)
    before = ~after[..., None]
    other = {
        **inputs,
        "deter": -inputs["deter"],
        "stoch": np.roll(inputs["stoch"], 1, axis=-1),
        "observation": np.where(before, -inputs["observation"], inputs["observation"]),
        "previous_action": np.where(
            before, inputs["previous_action"] / 2, inputs["previous_action"]
        ),
        "noise": np.where(before[..., None], inputs["noise"][..., ::-1], inputs["noise"]),
    }
    return other, after, ~after & ~inputs["is_first"]


def _other_actions_at_resets(inputs: Inputs) -> tuple[Inputs, np.ndarray, np.ndarray]:
    """The previous actions of rows that start an episode, and those of one other row."""
    resets = inputs["is_first"]
    without = ~resets.any(axis=1, keepdims=True)
    elsewhere = without & (np.arange(resets.shape[1]) >= 2)
    at = resets | (without & (np.arange(resets.shape[1]) == 2))
    action = np.where(at[..., None], -1 - inputs["previous_action"] / 4, inputs["previous_action"])
    return {**inputs, "previous_action": action}, ~elsewhere, elsewhere


def _prior_is_blind(side: Implementation, inputs: Inputs) -> Measurement:
    """The last observation reaches the posterior of its row, and neither deter nor prior."""
    seen = inputs["observation"].copy()
    seen[:, -1] = -seen[:, -1] / 2
    before, after = side(OBSERVE, **inputs), side(OBSERVE, **{**inputs, "observation": seen})
    last = {name: before[name][:, -1] != after[name][:, -1] for name in before}
    rows = last["posterior"].any(axis=(1, 2))
    wrong = {
        "values of deter or prior change": np.concatenate(
            [last["deters"].ravel(), last["prior"].ravel()]
        ),
        "posteriors do not change": ~rows,
    }
    return count(wrong, inputs, last["deters"].size + last["prior"].size + rows.size)


def row_of(inputs: Inputs, t: int) -> Inputs:
    """The inputs of the sequences' row t alone."""
    columns = ("observation", "is_first", "previous_action", "noise")
    return {**inputs, **{name: inputs[name][:, t : t + 1] for name in columns}}


def state_after(answer: Answer) -> Inputs:
    """The state of the last row, as the next question takes it."""
    stoch = onehot(answer["classes"][:, -1], latent_cases.C)
    return {"deter": answer["deters"][:, -1].copy(), "stoch": stoch}


def _step_by_step(side: Implementation, inputs: Inputs) -> Measurement:
    """A sequence at once, and row after row, each from the state that the one before left."""
    whole = side(OBSERVE, **inputs)
    rows = [row_of(inputs, t) for t in range(latent_cases.T)]
    singles = chained(side, OBSERVE, rows, state_after)
    joined = {name: np.concatenate([row[name] for row in singles], axis=1) for name in whole}
    moved = changed({"x": whole["deters"][:, 1:]}, {"x": whole["deters"][:, :-1]}, 2, "x")
    still = Measurement(0, 0, 1) if (moved | inputs["is_first"][:, 1:]).all() else NOTHING
    return worst_of([still, *(apart(joined[name], whole[name]) for name in whole)])


AGREEMENTS = (
    agreement(
        "recurrent-step",
        "One step of the recurrence",
        "A block-diagonal gated recurrent unit with −1 on the update gate; actions beyond "
        "[−1, 1] are pulled back",
        (("dreamerv3/nets.py", "119-173", "119-173"),),
        (
            Claim(
                "deter",
                "The next recurrent state is the reference's, with actions inside and outside of "
                "[−1, 1].",
                AtMost(bound(4), "ε"),
                why(4),
                (RECURRENT_STEP,),
                latent_cases.recurrent_step,
                against_reference(RECURRENT_STEP, "deter", in_epsilon),
            ),
        ),
        "The state of the model follows the reference's.",
    ),
    agreement(
        "observing",
        "Filtering a sequence",
        "Each row's state from that of the row before, zeroed with its action where an episode "
        "starts; posterior from [deter, embed], prior from deter",
        (("dreamerv3/nets.py", "53-76", "53-76"), ("dreamerv3/nets.py", "207-217", "207-217")),
        (
            observed("deters", "Recurrent states"),
            observed("posterior", "Posterior log-probabilities"),
            observed("prior", "Prior log-probabilities"),
            drawn(
                OBSERVE,
                "classes",
                "From the same noise, the drawn classes are the reference's.",
                latent_cases.observe,
            ),
            Claim(
                "step-by-step",
                "A sequence is what its rows are, one after the other, each from the state that "
                "the one before left; and no row that goes on has the state of the one before.",
                AtMost(bound(LAYERS), "ε · max(1, |value|)"),
                why(LAYERS),
                (OBSERVE,),
                latent_cases.observe,
                of_subject(_step_by_step),
                about="subject",
            ),
            Claim(
                "reset-past",
                "From a row on that starts an episode, nothing depends on the state, the "
                "observations, the draws or the actions before it; every row before it does.",
                Equals(0, "rows on the wrong side"),
                EXACT,
                (OBSERVE,),
                latent_cases.observe,
                of_both(untouched(OBSERVE, 2, _another_past, "deters")),
            ),
            Claim(
                "reset-action",
                "Nothing depends on the previous action of a row that starts an episode; another "
                "row's previous action reaches every later state.",
                Equals(0, "rows on the wrong side"),
                EXACT,
                (OBSERVE,),
                latent_cases.observe,
                of_both(untouched(OBSERVE, 2, _other_actions_at_resets, "deters")),
            ),
            Claim(
                "prior-is-blind",
                "A row's observation changes its posterior, and no bit of its recurrent state or "
                "prior.",
                Equals(0, "values or rows on the wrong side"),
                EXACT,
                (OBSERVE,),
                latent_cases.observe,
                of_both(_prior_is_blind),
            ),
            Claim(
                "unimix",
                "Where prior and posterior are sure of one class, every other has a probability "
                "of 0.01 / 4.",
                Within(1 - 1e-5, 1 + 1e-5, "of 0.01 / classes"),
                "A log-probability of −6 is rounded to 4.8e-7, and its exponential is as far off "
                "relatively; 0.99 · 0 + 0.01 / 4 and its logarithm add 3 ε · 6 at most.",
                (OBSERVE,),
                lambda rng: confident(
                    OBSERVE, latent_cases.observe(rng), "dyn_posterior_out", "dyn_prior_out"
                ),
                of_both(
                    least_probability(
                        OBSERVE,
                        dict.fromkeys(("posterior", "prior"), 0.01 / latent_cases.C),
                    )
                ),
            ),
        ),
        "Latent states, and all that is learned from them, are the reference's.",
    ),
)
