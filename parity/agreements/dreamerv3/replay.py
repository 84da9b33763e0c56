"""The replay: which sequences are trained on, in which context, and what is written back."""

from __future__ import annotations

import dataclasses

from parity.agreements.dreamerv3.entries import PINS, agreement
from parity.agreements.dreamerv3.replay_measures import (
    REPLAY,
    Cases,
    Judge,
    contexts,
    evenness,
    full_rings,
    growing_queue,
    many_draws,
    of_side,
    online_values,
    per_variant,
    stock_sizes,
    stored_columns,
    support,
    variants,
)
from parity.claims import AtMost, Equals, Tolerance
from parity.comparisons import Measure
from parity.registry import Claim

COPIES = "Rows and latents are copied, never computed with."


def _both_sides(claim: Claim, judge: Judge) -> tuple[Claim, ...]:
    """The claim about the subject, and the same about the reference."""
    theirs = dataclasses.replace(
        claim,
        id=f"reference-{claim.id}",
        statement=f"In the reference: {claim.statement[0].lower()}{claim.statement[1:]}",
        about="reference",
        measure=of_side("reference", judge),
    )
    return dataclasses.replace(claim, about="subject", measure=of_side("subject", judge)), theirs


def _claim(
    name: str,
    statement: str,
    tolerance: Tolerance,
    reason: str,
    cases: Cases,
    measure: Measure = online_values,
) -> Claim:
    return Claim(name, statement, tolerance, reason, (REPLAY,), cases, per_variant(measure))


NONE_WRONG = Equals(0, "values that differ")

AGREEMENTS = (
    agreement(
        "replay-queue",
        "New rows first",
        "Runs of 65 rows wait in one queue of all environments, and are trained on once",
        (("embodied/replay/replay.py", "130-145", "130-145"),),
        (
            _claim(
                "order",
                "The same sequences come from the queue as in the reference, in the same order and "
                "on the same places of a batch, whether it grows, is emptied, or the rings are "
                "full.",
                NONE_WRONG,
                COPIES,
                variants(growing_queue, full_rings),
            ),
            _claim(
                "stock",
                "At the sizes of the paper the queue is empty with 65 rows of each of 16 "
                "environments, and the first sequences begin with rows 1, 66 and 131.",
                NONE_WRONG,
                COPIES,
                variants(stock_sizes),
            ),
            *_both_sides(
                _claim(
                    "columns",
                    "Every drawn row has the action, reward and flags that it was added with.",
                    NONE_WRONG,
                    COPIES,
                    variants(growing_queue, full_rings),
                ),
                stored_columns,
            ),
        ),
        "All experience is trained on soon, and once at least.",
    ),
    agreement(
        "replay-uniform",
        "Uniform draws",
        "With replacement, from all runs of 65 rows that the replay holds",
        (
            ("embodied/replay/replay.py", "170-191", "170-191"),
            ("embodied/replay/selectors.py", "27-46", "27-46"),
        ),
        (
            _claim(
                "support",
                "From full rings the same starts are drawn as in the reference, from the oldest "
                "row that is left to the newest that a whole sequence follows, and every drawn "
                "sequence is whole: none crosses the place where the ring is written.",
                Equals(0, "starts or sequences"),
                "2,000 draws miss one of 14 starts once in 10^63 runs.",
                variants(many_draws),
                support,
            ),
            *_both_sides(
                _claim(
                    "evenness",
                    "All starts are drawn equally often.",
                    AtMost(4.6, "χ² per degree of freedom"),
                    "χ² with 13 degrees of freedom exceeds 13 · 4.6 once in 20 million samples of "
                    "a uniform distribution.",
                    variants(many_draws),
                ),
                evenness,
            ),
        ),
        "No experience is favoured but the newest.",
    ),
    agreement(
        "replay-context",
        "Latents of the context row, and their write-back",
        "A sequence starts from the stored latent of the row before it, which is what training "
        "last inferred there, or acting if it was never trained on",
        (
            ("embodied/replay/replay.py", "147-168", "147-168"),
            ("dreamerv3/agent.py", "172-202", "188-218"),
        ),
        _both_sides(
            _claim(
                "latents",
                "The context of every sequence is the latent of the row before it, in the same "
                "environment, as the last update that trained on that row has left it.",
                Equals(0, "contexts"),
                COPIES,
                variants(growing_queue, full_rings),
            ),
            contexts(("deter", "stoch")),
        ),
        "Sequences start from states that follow the model as it learns.",
    ),
    dataclasses.replace(
        agreement(
            "replay-context-action",
            "Action of the context row",
            "The first trained row's previous action is the action stored with the row of context. "
            "(At 2411f7d it was the last action of the batch before: an error that 29eb964 mends.)",
            (("dreamerv3/agent.py", "180-181", "197"),),
            _both_sides(
                _claim(
                    "action",
                    "The action of the context is the one stored with the row before the sequence.",
                    Equals(0, "contexts"),
                    COPIES,
                    variants(growing_queue, full_rings),
                ),
                contexts(("action",)),
            ),
            "The first step of every sequence follows the action that led to it.",
        ),
        pins=PINS[:1],
    ),
)
