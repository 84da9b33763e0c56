"""Acting in one row: what the policy sees, remembers and draws."""

from __future__ import annotations

import numpy as np

from parity.agreements.dreamerv3 import (
    latent_cases,
)
from parity.agreements.dreamerv3.entries import agreement
from parity.agreements.dreamerv3.latent import EXACT, OBSERVE, confident, drawn, state_after
from parity.agreements.dreamerv3.latent_measures import (
    NOTHING,
    against_reference,
    apart,
    bound,
    chained,
    changed,
    least_probability,
    of_both,
    onehot,
    untouched,
    why,
)
from parity.claims import AtMost, Equals, Measurement, Within
from parity.comparisons import gap, in_epsilon_nats, worst_of
from parity.implementations import Implementation
from parity.operations import Answer, Inputs
from parity.registry import Claim

ACT = "dreamerv3.act"
# Up to deter 4, to the posterior 2, and from the state 4 to the policy.
LAYERS = 8


def _acted(output: str, what: str) -> Claim:
    return Claim(
        output,
        f"{what} are the reference's, in rows that start an episode and rows that do not.",
        AtMost(bound(LAYERS), "ε · max(1, |value|)"),
        why(LAYERS),
        (ACT,),
        latent_cases.act,
        against_reference(ACT, output, in_epsilon_nats),
    )


def _another_state(inputs: Inputs) -> tuple[Inputs, np.ndarray, np.ndarray]:
    first = inputs["is_first"]
    stoch = np.roll(inputs["stoch"], 1, axis=-1)
    return {**inputs, "deter": -inputs["deter"], "stoch": stoch}, first, ~first


def _another_action(inputs: Inputs) -> tuple[Inputs, np.ndarray, np.ndarray]:
    first = inputs["is_first"]
    action = (inputs["previous_action"] + 1) % np.int32(latent_cases.A)
    return {**inputs, "previous_action": action}, first, ~first


def _policy_moves(
    subject: Implementation, reference: Implementation, inputs: Inputs
) -> Measurement:
    """How far another observation moves the policy, over how far it moves the reference's."""
    other = {**inputs, "observation": -inputs["observation"] / 2, "noise": -inputs["noise"]}
    moved = [
        gap(side(ACT, **inputs)["policy"], side(ACT, **other)["policy"]).max(axis=-1)
        for side in (subject, reference)
    ]
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = moved[0] / moved[1]
    return Measurement(float(ratio.min()), float(ratio.max()), ratio.size)


# How the inputs of acting are called when observing; B alone becomes B and one row.
_COLUMNS = ("observation", "is_first", "noise")


def _two_rows(rng: np.random.Generator) -> Inputs:
    """Two rows in a row: each once as acting takes it and once as observing takes it."""
    acting, sequence = latent_cases.act(rng), latent_cases.observe(rng, 2)
    shared = {name for name in acting if name in sequence} - {*_COLUMNS}
    sequence = {**sequence, **{name: acting[name] for name in shared}}
    actions = rng.integers(0, latent_cases.A, (latent_cases.B, 2)).astype(np.int32)
    sequence["previous_action"] = np.eye(latent_cases.A, dtype=np.float32)[actions]
    return {"acting": acting, "sequence": sequence, "actions": actions}


def _same_features(side: Implementation, inputs: Inputs) -> Measurement:
    """The states of two rows, by acting in one after the other and by observing them."""
    sequence = inputs["sequence"]
    rows, columns = [], []
    for t in range(2):
        row = {name: sequence[name][:, t] for name in _COLUMNS}
        rows.append({**inputs["acting"], **row, "previous_action": inputs["actions"][:, t]})
        now = {name: sequence[name][:, t : t + 1] for name in (*_COLUMNS, "previous_action")}
        columns.append({**sequence, **now})

    def carry(answer: Answer) -> Inputs:
        return {
            "deter": answer["deter_now"],
            "stoch": onehot(answer["classes"], latent_cases.C),
        }

    acted = chained(side, ACT, rows, carry)
    observed = chained(side, OBSERVE, columns, state_after)
    moved = changed(acted[0], acted[1], 1, "deter_now") | sequence["is_first"][:, 1]
    proper = all(np.isin(row["classes"], range(latent_cases.C)).all() for row in acted)
    figures = [Measurement(0, 0, 1) if moved.all() and proper else NOTHING]
    for one, other in zip(acted, observed, strict=True):
        figures.append(apart(one["deter_now"], other["deters"][:, 0]))
        figures.append(apart(one["classes"], other["classes"][:, 0]))
    return worst_of(figures)


AGREEMENTS = (
    agreement(
        "acting",
        "Acting in one row",
        "encode, observe from the carried state and action, and draw from the policy of the new "
        "state",
        (("dreamerv3/agent.py", "129-164", "145-180"),),
        (
            _acted("policy", "The log-probabilities of the policy"),
            _acted("deter_now", "The new recurrent states"),
            drawn(
                ACT,
                "classes",
                "From the same noise, the new classes are the reference's.",
                latent_cases.act,
            ),
            drawn(
                ACT,
                "action",
                "From the same noise, the actions are the reference's.",
                latent_cases.act,
            ),
            Claim(
                "reset-state",
                "What a row that starts an episode leads to does not depend on the carried "
                "state; what any other leads to does.",
                Equals(0, "rows on the wrong side"),
                EXACT,
                (ACT,),
                latent_cases.act,
                of_both(untouched(ACT, 1, _another_state, "deter_now")),
            ),
            Claim(
                "reset-action",
                "Nor does it depend on the carried action, as that of any other row does.",
                Equals(0, "rows on the wrong side"),
                EXACT,
                (ACT,),
                latent_cases.act,
                of_both(untouched(ACT, 1, _another_action, "deter_now")),
            ),
            Claim(
                "sees",
                "Another observation moves the policy, as far as it moves the reference's.",
                Within(0.999, 1.001, "of the reference's"),
                "Each side's log-probabilities are within 24 ε, 3e-6; the least that these "
                "observations move the policy by is above 0.01: 3e-4 a side.",
                (ACT,),
                latent_cases.act,
                _policy_moves,
            ),
            Claim(
                "same-features",
                "Two rows have the same states whether one acts in them or observes them.",
                AtMost(bound(4 * 2), "ε · max(1, |value|)"),
                why(4 * 2),
                (ACT, OBSERVE),
                _two_rows,
                of_both(_same_features),
            ),
            Claim(
                "unimix",
                "Where the policy is sure of one action, every other has a probability of 0.01 / "
                "3.",
                Within(1 - 1e-5, 1 + 1e-5, "of 0.01 / actions"),
                "A log-probability of −5.7 is rounded to 4.8e-7, and its exponential is as far "
                "off relatively; 0.99 · 0 + 0.01 / 3 and its logarithm add 3 ε · 6 at most.",
                (ACT,),
                lambda rng: confident(ACT, latent_cases.act(rng), "actor_out"),
                of_both(least_probability(ACT, {"policy": 0.01 / latent_cases.A})),
            ),
        ),
        "What the agent collects is what the reference's policy would have collected.",
    ),
)
