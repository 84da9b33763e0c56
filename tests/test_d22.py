"""A constant that is slightly wrong must break row D22, with the input that shows it."""

import dataclasses

import numpy as np
import pytest

from core.dreamerv3 import twohot
from deviations import d22, d22_measurements
from parity.claims import Verdict
from parity.core_subject import TABLE
from parity.implementations import InProcess


@pytest.fixture
def stretched(monkeypatch):
    """The core with the limit of its bins wrong by one part in 1e4."""
    twohot.make_bins.cache_clear()
    monkeypatch.setattr(twohot, "LIMIT", twohot.LIMIT * (1 + 1e-4))
    yield InProcess("core", TABLE)
    twohot.make_bins.cache_clear()


class Exact(InProcess):
    """Answers with the exact bins, in place of a reference."""

    def __init__(self):
        exact = d22_measurements.rounded_bins
        super().__init__(
            "exact", {"dreamerv3.twohot_bins": lambda count, mode: {"bins": exact(count)}}
        )


def measure(claim_id, subject):
    claim = d22.ROW.claim(claim_id)
    measurement = claim.measure(subject, Exact(), claim.cases(d22.ROW.rng(claim)))
    return claim.tolerance.judge(measurement), measurement


@pytest.mark.parametrize("claim", ["bins", "bins-rounding"])
def test_one_part_in_ten_thousand_breaks_the_claims_about_bins(claim, stretched):
    verdict, measurement = measure(claim, stretched)
    assert verdict is Verdict.BROKEN
    assert measurement.worst_input["count"] in d22_measurements.COUNTS


@pytest.mark.parametrize("claim", ["bins", "bins-rounding"])
def test_the_core_as_it_is_satisfies_them(claim):
    verdict, _ = measure(claim, InProcess("core", TABLE))
    assert verdict is Verdict.HOLDS


def test_the_predicted_noise_is_that_of_half_a_ulp_per_pair():
    """NOISE_STD is a prediction: simulate the rounding of the products in float64."""
    rng = np.random.default_rng(0)
    probs = (1 + rng.random((4000, 127)) * 0.02 - 0.01) / 255
    products = probs.astype(np.float32).astype(np.float64) * d22_measurements.rounded_bins()[128:]
    error = (products.astype(np.float32) - products).sum(axis=1)
    assert abs(error.std() / d22_measurements.NOISE_STD - 1) < 0.05
    assert np.abs(error).max() < d22_measurements.NOISE_MAX


def test_every_claim_of_the_row_says_why_its_tolerance_is_what_it_is():
    for claim in d22.ROW.claims:
        assert len(claim.reason) > 15, claim.id
        assert dataclasses.is_dataclass(claim.tolerance)
