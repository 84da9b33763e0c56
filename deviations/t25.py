"""T25: how the running scale takes its percentiles and moves."""

from __future__ import annotations

import numpy as np

from deviations.eras import ALL
from parity.agreements.measures import compare_outputs
from parity.agreements.tdmpc2.numerics import PERCENTILE_REASON, percentile_cases
from parity.agreements.tdmpc2.numerics import PERCENTILES as SIZES
from parity.claims import AtMost, Measurement, Stated, measure_errors
from parity.comparisons import compare, gap
from parity.implementations import Implementation
from parity.operations import Inputs
from parity.registry import Claim, Entry, Source

SCALE, PERCENTILES = "tdmpc2.running_scale", "tdmpc2.percentiles"
UPDATES = 30


def _relative(left: np.ndarray, right: np.ndarray, inputs: Inputs) -> np.ndarray:
    del inputs
    return gap(left, right) / np.abs(right.astype(np.float64))


def _scale_cases(rng: np.random.Generator) -> Inputs:
    """Batches of every scale, so that it rises and falls, with and without the limit of 1."""
    size = np.ldexp(1.0, rng.integers(-3, 7, (UPDATES, 1)).astype(np.int32))
    values = (2 * rng.random((UPDATES, 256)) - 1) * size
    values = values.astype(np.float32)
    return {"values": values, "initial": np.ones((), np.float32), "tau": 0.01}


def _percentiles64(values: np.ndarray) -> np.ndarray:
    """The distance of both percentiles of each batch, in float64."""
    low, high = np.percentile(values.astype(np.float64), [5, 95], axis=-1)
    return high - low


def _moving_average(who: str):
    """The relative distance from a moving average in float64."""

    def measure(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
        found = (subject if who == "subject" else reference)(SCALE, **inputs)["scale"]
        exact, scale = [], float(inputs["initial"])
        for apart in _percentiles64(inputs["values"]):
            scale += inputs["tau"] * (max(1.0, apart) - scale)
            exact.append(scale)
        return measure_errors(_relative(found, np.asarray(exact), inputs), inputs)

    return measure


ROW = Entry(
    id="T25",
    agent="TD-MPC2",
    kind="deviation",
    title="Percentiles and moving average of RunningScale",
    reference="RunningScale: sort-and-interpolate _percentile; S.lerp_(v, τ), i.e. S + τ·(v − S).",
    subject=(
        "jnp.percentile (linear: the same formula); (1 − τ)·S + τ·v (optax.incremental_update)."
    ),
    consequence="Float32 rounding (≤ 1e-6 relative over 30 updates, tested).",
    sources=(
        Source("tdmpc2-b67b21c", "tdmpc2/common/scale.py", "23-40"),
        Source("tdmpc2-5f6fade", "tdmpc2/common/scale.py", "23-40"),
        Source("tdmpc2-eece801", "tdmpc2/common/scale.py", "21-42"),
        Source("tdmpc2-e9f5932", "tdmpc2/common/scale.py", "21-42"),
    ),
    pins=ALL,
    claims=(
        Claim(
            "scale",
            f"The scale is the reference's after each of {UPDATES} updates.",
            AtMost(1e-6, "relative"),
            "The row's own bound. A moving average is rounded twice per update, by half an ε each "
            "time: as a random walk over 30 updates √60 · ε/2, 4.6e-7 a side.",
            (SCALE,),
            _scale_cases,
            compare(SCALE, "scale", _relative),
            stated=Stated("≤ 1e-6 relative over 30 updates", 0, 1e-6),
        ),
        Claim(
            "exact",
            "The core's scale is the moving average in exact arithmetic.",
            AtMost(5e-7, "relative"),
            "As for `scale`, of one side.",
            (SCALE,),
            _scale_cases,
            _moving_average("subject"),
            about="subject",
        ),
        Claim(
            "reference-exact",
            "So is the reference's.",
            AtMost(5e-7, "relative"),
            "As for `scale`, of one side.",
            (SCALE,),
            _scale_cases,
            _moving_average("reference"),
            about="reference",
        ),
        Claim(
            "percentiles",
            "The percentiles are the same formula.",
            AtMost(3, "ε · (|value| + place · gap)"),
            PERCENTILE_REASON,
            (PERCENTILES,),
            percentile_cases,
            compare_outputs(PERCENTILES, SIZES),
        ),
    ),
)
