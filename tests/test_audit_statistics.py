"""Statistics with known answers: size, power and coverage on simulated seeds."""

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from audits.statistics.bootstrap import difference_interval, strata_interval
from audits.statistics.equivalence import Verdict, equivalence, mean_equivalence
from audits.statistics.power import equivalence_power, mean_equivalence_power, seeds_needed
from audits.statistics.ranges import chance_of_overlap, chance_within, overlap, relabel


def simulated(seeds, difference, margin, audits=2000):
    rng = np.random.default_rng(0)
    ours = rng.normal(difference, 1.0, (audits, seeds))
    reference = rng.normal(0.0, 1.0, (audits, seeds))
    return [equivalence(a, b, margin) for a, b in zip(ours, reference, strict=True)]


def within(share, expected, audits):
    """Three Monte Carlo errors."""
    return abs(share - expected) < 3 * math.sqrt(expected * (1 - expected) / audits)


def test_the_interval_and_the_p_values_are_those_of_scipys_welch_test():
    a, b = [1.0, 2.5, 4.0, 3.0], [0.5, 1.0, 2.0]
    found = equivalence(a, b, margin=5.0)
    welch: Any = stats.ttest_ind(a, b, equal_var=False)
    low, high = welch.confidence_interval(0.9)
    assert (found.low, found.high) == pytest.approx((low, high))
    assert found.p_difference == pytest.approx(welch[1])
    shifted: Any = stats.ttest_ind(np.add(a, -5.0), b, equal_var=False, alternative="less")
    assert found.p_value == pytest.approx(shifted[1])


@pytest.mark.parametrize(
    ("ours", "verdict"),
    [
        ([10.0, 10.1, 9.9], Verdict.PASS),
        ([13.0, 13.1, 12.9], Verdict.FAIL),
        ([7.0, 7.1, 6.9], Verdict.FAIL),
        ([12.0, 12.1, 11.9], Verdict.INCONCLUSIVE),  # the interval crosses the margin
        ([4.0, 10.0, 16.0], Verdict.INCONCLUSIVE),  # and here both
        ([10.0], Verdict.INCONCLUSIVE),
    ],
)
def test_the_verdict_is_where_the_interval_lies(ours, verdict):
    found = equivalence(ours, [10.0, 10.1, 9.9], margin=2.0)
    assert found.verdict is verdict
    assert (found.p_value < 0.05) == (verdict is Verdict.PASS)


def test_seeds_that_all_agree_leave_no_doubt():
    assert equivalence([1.0, 1.0], [1.0, 1.0], 0.5).verdict is Verdict.PASS
    assert equivalence([2.0, 2.0], [1.0, 1.0], 0.5).verdict is Verdict.FAIL


def test_what_is_no_value_per_seed_is_refused():
    with pytest.raises(ValueError, match="finite"):
        equivalence([1.0, math.nan], [1.0, 2.0], 1.0)
    with pytest.raises(ValueError, match="margin"):
        equivalence([1.0], [1.0], 0.0)


def test_programs_that_differ_by_the_margin_pass_at_the_level_of_the_test():
    # 10 seeds and a margin of 3 deviations: the other side never limits, the size is exact.
    passed = [found.verdict is Verdict.PASS for found in simulated(10, 3.0, 3.0)]
    assert within(np.mean(passed), 0.05, len(passed))


@pytest.mark.parametrize(("seeds", "margin"), [(3, 2.5), (5, 2.0), (10, 1.5)])
def test_power_is_the_share_of_equal_programs_that_pass(seeds, margin):
    passed = [found.verdict is Verdict.PASS for found in simulated(seeds, 0.0, margin)]
    expected = equivalence_power(seeds, 1.0, margin)
    assert 0.2 < expected < 0.95
    assert within(np.mean(passed), expected, len(passed))


def test_power_of_programs_that_differ():
    passed = [found.verdict is Verdict.PASS for found in simulated(10, 0.8, 1.5)]
    expected = equivalence_power(10, 1.0, 1.5, true_difference=0.8)
    assert within(np.mean(passed), expected, len(passed))


def test_the_seeds_needed_are_the_least_that_suffice():
    needed = seeds_needed(1.0, 1.0, power=0.8)
    assert needed is not None
    assert equivalence_power(needed, 1.0, 1.0) >= 0.8
    assert equivalence_power(needed - 1, 1.0, 1.0) < 0.8
    assert seeds_needed(100.0, 1.0) is None
    assert seeds_needed(0.0, 1.0) == 2


def test_the_bootstrap_enumerates_a_few_seeds_exactly():
    # Of two seeds: means 0, 1, 1, 2 against 0: quantiles of four equally likely values.
    low, high = difference_interval([0.0, 2.0], [0.0, 0.0], level=0.9)
    assert (low, high) == pytest.approx(
        tuple(np.quantile(np.repeat([0.0, 1.0, 1.0, 2.0], 4), (0.05, 0.95)))
    )


def test_the_bootstrap_covers_what_it_says_with_many_seeds():
    rng = np.random.default_rng(0)
    covered = []
    for _ in range(300):
        low, high = difference_interval(*rng.normal(size=(2, 40)), draws=1000)
        covered.append(low <= 0.0 <= high)
    assert within(np.mean(covered), 0.89, len(covered))


def test_ranges_part_as_often_as_the_orders_say():
    rng = np.random.default_rng(0)
    found = [overlap(*rng.normal(size=(2, 3))) for _ in range(2000)]
    assert chance_of_overlap(3, 3) == pytest.approx(0.9)
    assert within(np.mean(found), 0.9, len(found))


def test_a_perfect_port_is_within_range_as_often_as_the_quadrature_says():
    rng = np.random.default_rng(0)
    ours, reference = rng.normal(size=(2, 4000, 3))
    mean = ours.mean(-1)
    found = (reference.min(-1) <= mean) & (mean <= reference.max(-1))
    assert chance_within(3, 3) == pytest.approx(0.63, abs=0.005)
    assert within(np.mean(found), chance_within(3, 3), len(found))


def test_relabelling_counts_how_many_divisions_part_as_many_windows():
    values = np.zeros((6, 4))
    values[:3] = [[10.0], [11.0], [12.0]]  # ours lies above in every window
    values[3:] = [[1.0], [2.0], [3.0]]
    found = relabel(values, 3)
    assert found.parted == 4
    assert (found.at_least, found.divisions) == (2, 20)  # itself, and its mirror image
    assert found.p_value == pytest.approx(0.1)


def test_relabelling_leaves_out_windows_without_a_value_and_draws_where_there_are_many():
    values = np.random.default_rng(0).normal(size=(24, 30))
    values[0, 0] = math.nan
    found = relabel(values, 12, draws=300)
    assert found.divisions == 301
    assert found.p_value > 0.05


def test_the_mean_over_one_task_is_that_task():
    ours, reference = [1.0, 2.0, 4.0], [2.0, 3.0, 3.5, 4.0]
    assert mean_equivalence([(ours, reference)], 2.0) == equivalence(ours, reference, 2.0)


def test_the_error_of_a_mean_over_tasks_is_that_of_its_seeds():
    """Ten tasks, whose differences cancel: what is left is the seeds, not the tasks."""
    rng = np.random.default_rng(0)
    seeds = rng.normal(0, 1, (10, 2, 5))
    shift = np.array([100.0, -100.0] * 5)[:, None]
    found = mean_equivalence(list(zip(seeds[:, 0] + shift, seeds[:, 1], strict=True)), 1.0)
    variances = seeds.var(-1, ddof=1) / 5
    error = np.sqrt(variances.sum()) / 10
    assert found.difference == pytest.approx((seeds[:, 0] - seeds[:, 1]).mean())
    half = stats.t.ppf(0.95, found.degrees) * error
    assert found.high - found.low == pytest.approx(2 * half)
    assert 8 < found.degrees < 80
    low, high = strata_interval(list(zip(seeds[:, 0] + shift, seeds[:, 1], strict=True)))
    assert (high - low) / (2 * half) == pytest.approx(0.85, abs=0.1)


def test_power_over_tasks_is_the_share_of_equal_programs_that_pass():
    rng = np.random.default_rng(1)
    deviations, passed, tried = (5.0, 40.0, 90.0), 0, 1500
    for _ in range(tried):
        pairs = [(rng.normal(0, d, 5), rng.normal(0, d, 3)) for d in deviations]
        passed += mean_equivalence(pairs, 60.0).verdict is Verdict.PASS
    expected = mean_equivalence_power(deviations, 5, 3, 60.0)
    assert passed / tried == pytest.approx(expected, abs=0.04)
    assert 0.2 < expected < 0.8
    one = mean_equivalence_power((1.0,), 5, 5, 2.5)
    assert one == pytest.approx(equivalence_power(5, 1.0, 2.5), abs=0.015)
    assert mean_equivalence_power((1.0,), 1, 5, 2.5) == 0.0
