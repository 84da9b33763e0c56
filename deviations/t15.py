"""T15: whether evaluation writes the task embedding."""

from __future__ import annotations

import numpy as np

from deviations.eras import (
    ALL,
    BETWEEN,
    FIRST,
    HEAD,
    PAPER,
    SERVED,
    SERVED_REASON,
    served,
    served_cases,
)
from parity.claims import AtMost, Equals, Measurement, Stated
from parity.comparisons import compare, in_epsilon
from parity.implementations import Implementation
from parity.operations import Inputs
from parity.registry import Claim, Entry, Source

EVALUATED = "tdmpc2.evaluated_task"
_PLANNING = (FIRST, PAPER, HEAD)
ACTING = 1
_ROUNDED = 5e-7  # of a norm: see `reference-length`
_NORMS = np.asarray([2, 1.5, 3])


def _long_vectors(rng: np.random.Generator) -> Inputs:
    """Three vectors that are all too long; the second task acts."""
    table = rng.uniform(0.25, 1, (3, 5))
    table *= _NORMS[:, None] / np.sqrt((table * table).sum(-1, keepdims=True))
    return {"table": table.astype(np.float32), "task": ACTING}


def _written(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    """The vectors of the reference's table that the action changed, if the one that acted is."""
    del subject
    after = reference(EVALUATED, **inputs)["table"]
    rows = np.flatnonzero((after != inputs["table"]).any(-1))
    count = float(len(rows)) if ACTING in rows else np.nan
    norms = ", ".join(f"{norm:.7g}" for norm in np.linalg.norm(after.astype(float), axis=-1))
    return Measurement(count, count, len(after), inputs, f"norms after it: {norms}")


def _length(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    """How far from 1 the reference leaves the norm of the vector that was read."""
    del subject
    after = reference(EVALUATED, **inputs)["table"][ACTING].astype(np.float64)
    error = abs(float(np.sqrt(after @ after)) - 1)
    return Measurement(error, error, 1, inputs)


def _kept(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    """Numbers of the core's table that the action changed, if it read a vector of norm 1."""
    del reference
    answer = subject(EVALUATED, **inputs)
    after, read = answer["table"], answer["read"].astype(np.float64)
    shortened = abs(float(np.sqrt(np.sum(read * read))) - 1) < _ROUNDED
    changed = float(np.count_nonzero(after != inputs["table"])) if shortened else np.nan
    return Measurement(changed, changed, after.size, inputs)


CLAIMS = (
    Claim(
        "reference-written",
        "One action of an evaluation shortens the acting task's vector in the reference's table, "
        "and no other.",
        Equals(1, "of 3 vectors"),
        "A vector is written or it is not. All three are longer than 1.",
        (EVALUATED,),
        _long_vectors,
        _written,
        about="reference",
        stated=Stated("persisted in place", 1, 1),
        pins=_PLANNING,
    ),
    Claim(
        "reference-length",
        "What it leaves there has the norm 1.",
        AtMost(_ROUNDED, "from 1"),
        "1e-7 is added to the norm of 1.5 that is divided by; the norm, the quotient and the "
        "products are rounded by half an ε each, and the norm's five squares as well.",
        (EVALUATED,),
        _long_vectors,
        _length,
        about="reference",
        pins=_PLANNING,
    ),
    Claim(
        "core",
        "Planning writes nothing to the core's table.",
        Equals(0, "numbers"),
        "An array is written to or it is not. It is one that can be written to.",
        (EVALUATED,),
        _long_vectors,
        _kept,
        about="subject",
        core_only=True,
        stated=Stated("not persisted at evaluation", 0, 0),
    ),
    Claim(
        "read",
        "The networks are given the same shortened vector.",
        AtMost(4, "ε"),
        "Numbers below 1, from a norm, a quotient and a product that are rounded by each side.",
        (EVALUATED,),
        _long_vectors,
        compare(EVALUATED, "read", in_epsilon),
        stated=Stated("The renormalisation is applied", 0, 4),
        pins=_PLANNING,
    ),
    Claim(
        "reference-between",
        "At eece801 an agent of several tasks can not plan, and so not be evaluated: its "
        "termination head asserts that there is one task.",
        Equals(0, "of 1 plan"),
        SERVED_REASON,
        (SERVED,),
        served_cases,
        served("planned"),
        about="reference",
        pins=(BETWEEN,),
        otherwise=True,
    ),
    Claim(
        "reference-elsewhere",
        "At the other commits it can.",
        Equals(1, "of 1 plan"),
        SERVED_REASON,
        (SERVED,),
        served_cases,
        served("planned"),
        about="reference",
        pins=_PLANNING,
    ),
)

ROW = Entry(
    id="T15",
    agent="TD-MPC2",
    kind="deviation",
    title="Multi-task: renormalised task embedding",
    reference="The renormalisation of the embedding is persisted in place at evaluation time.",
    subject="The renormalisation is applied but not persisted at evaluation.",
    consequence="Evaluation cannot write parameters.",
    sources=(
        Source("tdmpc2-b67b21c", "tdmpc2/common/world_model.py", "20"),
        Source("tdmpc2-b67b21c", "tdmpc2/common/world_model.py", "90"),
        Source("tdmpc2-5f6fade", "tdmpc2/common/world_model.py", "20"),
        Source("tdmpc2-5f6fade", "tdmpc2/common/world_model.py", "86"),
        Source("tdmpc2-eece801", "tdmpc2/common/world_model.py", "21"),
        Source("tdmpc2-e9f5932", "tdmpc2/common/world_model.py", "21"),
        Source("tdmpc2-eece801", "tdmpc2/common/world_model.py", "96"),
        Source("tdmpc2-e9f5932", "tdmpc2/common/world_model.py", "96"),
    ),
    pins=ALL,
    status="reference bug",
    claims=CLAIMS,
)
