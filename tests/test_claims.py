"""The comparators: what each of them accepts, and that each of them can fail."""

import decimal
import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from parity.claims import (
    AtLeast,
    AtMost,
    BitIdentical,
    Equals,
    Measurement,
    Stated,
    Verdict,
    Within,
    figure,
    measure_bits,
    measure_errors,
    ulp_distance,
)

F32 = np.float32
TINY = np.nextafter(F32(0), F32(1))
LARGEST = np.finfo(F32).max
TOLERANCES = [AtMost(3), AtLeast(1), Within(1, 3), Equals(2), BitIdentical()]

finite = st.floats(width=32, allow_nan=False, allow_infinity=False)
positive = st.floats(1e-30, 1e30)


def measured(low, high=None, compared=1):
    return Measurement(low, low if high is None else high, compared)


def array(*values):
    return np.array(values, F32)


@pytest.mark.parametrize(
    ("tolerance", "accepted", "refused"),
    [
        (AtMost(3), (-9, 3), [(4, 4), (0, 4)]),
        (AtLeast(1), (1, 9), [(0, 0), (0, 9)]),
        (Within(1, 3), (1, 3), [(0, 2), (2, 4), (0, 4)]),
        (Equals(2), (2, 2), [(1, 2), (2, 3), (1, 3), (3, 3)]),
        (BitIdentical(), (0, 0), [(1, 1), (0, 1)]),
    ],
)
def test_every_tolerance_accepts_and_refuses(tolerance, accepted, refused):
    assert tolerance.judge(measured(*accepted)) is Verdict.HOLDS
    for ends in refused:
        assert tolerance.judge(measured(*ends)) is Verdict.BROKEN


@pytest.mark.parametrize("tolerance", TOLERANCES, ids=lambda t: t.stated())
@pytest.mark.parametrize("ends", [(math.nan, math.nan), (math.nan, 2), (2, math.nan)])
def test_nothing_holds_of_a_number_that_is_none(tolerance, ends):
    assert tolerance.judge(measured(*ends)) is Verdict.BROKEN


@pytest.mark.parametrize("tolerance", [*TOLERANCES, AtMost(math.inf)], ids=lambda t: t.stated())
def test_nothing_holds_of_an_empty_comparison(tolerance):
    empty = measure_errors(np.zeros((0, 4)), {})
    assert empty.compared == 0
    assert tolerance.judge(empty) is Verdict.BROKEN
    assert tolerance.judge(measured(2, compared=0)) is Verdict.BROKEN


def test_ends_in_the_wrong_order_hold_nothing():
    assert AtMost(3).judge(measured(5, 1)) is Verdict.BROKEN
    assert AtLeast(3).judge(measured(5, 1)) is Verdict.BROKEN


def test_an_infinite_error_exceeds_every_bound():
    endless = measure_errors(np.array([1.0, np.inf]), {})
    assert AtMost(1e300).judge(endless) is Verdict.BROKEN
    assert AtMost(1e300).margin(endless) == "—"


def test_equals_takes_no_range_and_no_neighbour():
    assert Equals(0.1).judge(measured(0.1)) is Verdict.HOLDS
    assert Equals(0.1).judge(measured(math.nextafter(0.1, 1))) is Verdict.BROKEN
    assert Equals(2).judge(measured(1, 3)) is Verdict.BROKEN
    assert Equals(2).judge(measured(2, 3)) is Verdict.BROKEN


def test_bounds_themselves_are_allowed():
    assert AtMost(3).judge(measured(3)) is Verdict.HOLDS
    assert AtMost(3).judge(measured(math.nextafter(3, 4))) is Verdict.BROKEN
    assert AtLeast(1).judge(measured(math.nextafter(1, 0))) is Verdict.BROKEN
    assert Within(-0.17, 0.16).judge(measured(-0.17, 0.16)) is Verdict.HOLDS
    assert Within(-0.17, 0.16).judge(measured(-0.17001, 0)) is Verdict.BROKEN


@pytest.mark.parametrize(
    ("tolerance", "measurement", "margin"),
    [
        (AtMost(4), measured(1), "75%"),
        (AtMost(4), measured(6), "-50%"),
        (AtMost(-4), measured(-5), "25%"),
        (AtMost(0), measured(0), "—"),
        (AtLeast(4), measured(5), "25%"),
        (AtLeast(4), measured(2), "-50%"),
        (AtLeast(-4), measured(-3), "25%"),
        (Within(0, 4), measured(2), "100%"),
        (Within(0, 4), measured(1, 2), "50%"),
        (Within(0, 4), measured(-1, 2), "-50%"),
        (Within(0, 4), measured(1, math.nan), "—"),
        (Equals(4), measured(4), "—"),
    ],
)
def test_margin_is_what_is_left_of_the_tolerance(tolerance, measurement, margin):
    assert tolerance.margin(measurement) == margin


def test_texts():
    assert AtMost(3, "ε·E|b|").stated() == "≤ 3 ε·E|b|"
    assert AtLeast(52, "windows").stated() == "≥ 52 windows"
    assert Within(-0.17, 0.16).stated() == "-0.17 to 0.16"
    assert Equals(2000, "episodes").stated() == "= 2,000 episodes"
    assert BitIdentical().stated() == "bit-identical"
    assert AtMost(3).least(measured(0.1)) == "≤ 0.1"
    assert AtMost(3).least(measured(4.15201e-5)) == "≤ 4.153e-5"
    assert AtLeast(3).least(measured(1.25)) == "≥ 1.25"
    assert Within(0, 1).least(measured(-2, 1.5)) == "-2 to 1.5"
    assert Equals(0).least(measured(7)) == "= 7"
    assert measured(0.5).text == "0.5"
    assert measured(-0.5, 0.5).text == "-0.5 to 0.5"
    assert measured(math.nan).text == "nan"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (-0.0, "0"),
        (200_000, "200,000"),
        (4.16e-5, "4.16e-5"),
        (4.152e-12, "4.152e-12"),
        (4.85165e8, "4.852e8"),
        (1.5e22, "1.5e22"),
        (0.123456, "0.1235"),
        (math.inf, "inf"),
        (-math.inf, "-inf"),
        (math.nan, "nan"),
        (float(TINY), "1.401e-45"),
    ],
)
def test_figures_are_short(value, text):
    assert figure(value) == text


@given(positive)
def test_least_tolerances_would_have_passed(value):
    up = float(AtMost(1).least(measured(value)).removeprefix("≤ ").replace(",", ""))
    down = float(AtLeast(1).least(measured(value)).removeprefix("≥ ").replace(",", ""))
    assert AtMost(up).judge(measured(value)) is Verdict.HOLDS
    assert AtLeast(down).judge(measured(value)) is Verdict.HOLDS
    assert value * 0.998 <= down <= value <= up <= value * 1.002
    assert figure(value, decimal.ROUND_CEILING) == AtMost(1).least(measured(value))[2:]


def test_worst_error_comes_with_its_row():
    inputs = {"x": np.arange(3.0), "bins": np.arange(5.0), "mode": "eager"}
    errors = np.array([[0, 1], [4, 2], [3, 0]])
    worst = measure_errors(errors, inputs)
    assert (worst.low, worst.high, worst.compared) == (4, 4, 6)
    assert worst.worst_input["x"] == 1
    assert worst.worst_input["mode"] == "eager"
    np.testing.assert_array_equal(worst.worst_input["bins"], inputs["bins"])


def test_worst_row_is_found_on_another_axis():
    errors = np.array([[0, 1, 2, 9], [4, 2, 0, 1]])
    worst = measure_errors(errors, {"x": np.arange(4.0), "steps": np.arange(2)}, rows=4)
    assert worst.worst_input["x"] == 3
    np.testing.assert_array_equal(worst.worst_input["steps"], [0, 1])


def test_nan_is_the_worst_error():
    worst = measure_errors(np.array([1e300, np.nan, np.inf, 2]), {"x": np.arange(4.0)})
    assert worst.high == math.inf
    assert worst.worst_input["x"] == 1


def test_scalar_error_keeps_the_inputs_whole():
    worst = measure_errors(np.float64(2), {"x": np.arange(3.0)})
    assert (worst.high, worst.compared) == (2, 1)
    assert worst.worst_input["x"].shape == (3,)


@pytest.mark.parametrize(
    ("left", "right", "count"),
    [
        (array(1, 2), array(1, 2), 0),
        (array(1, 2), array(1, np.nextafter(F32(2), F32(3))), 1),
        (array(0.0), array(-0.0), 1),
        (array(TINY), array(0.0), 1),
        (array(TINY), array(-TINY), 1),
        (array(np.nan), array(np.nan), 0),
        (array(np.nan), array(1), 1),
        (array(np.inf), array(np.inf), 0),
        (array(np.inf), array(-np.inf), 1),
        (array(np.inf), array(LARGEST), 1),
        (np.array([1.0]), np.array([math.nextafter(1, 2)]), 1),
        (np.array([2**53]), np.array([2**53 + 1]), 1),
        (np.array([True, False]), np.array([True, True]), 1),
    ],
)
def test_bits_that_differ_are_counted(left, right, count):
    result = measure_bits(left, right, {})
    assert (result.high, result.compared) == (count, len(left))
    assert (BitIdentical().judge(result) is Verdict.HOLDS) == (count == 0)


def test_bits_name_the_row_that_is_furthest_off():
    left = array(1, 1, 1)
    right = array(1, np.nextafter(F32(1), F32(2)), 2)
    result = measure_bits(left, right, {"x": np.arange(3.0)})
    assert result.worst_input["x"] == 2
    assert result.note == "at most 8,388,608 ULP apart"


@pytest.mark.parametrize("values", [np.array([1, 1, 1]) + 2**40, np.array([1.0, 1.0, 1.0])])
def test_bits_name_the_row_that_float32_can_not_tell_apart(values):
    other = values.copy()
    other[1] = np.nextafter(1, 2) if other.dtype == np.float64 else other[1] + 1
    result = measure_bits(values, other, {"x": np.arange(3)})
    assert (result.high, result.note) == (1, "")
    assert result.worst_input["x"] == 1


def test_bits_of_nothing_prove_nothing():
    assert BitIdentical().judge(measure_bits(array(), array(), {})) is Verdict.BROKEN


@pytest.mark.parametrize("right", [np.ones(1, F32), np.ones((3, 1), F32), np.ones(3)])
def test_bits_are_not_broadcast_or_cast(right):
    with pytest.raises(ValueError, match=r"one shape and dtype, got float32\[3\]"):
        measure_bits(np.ones(3, F32), right, {})


@given(finite, st.integers(0, 40), st.sampled_from([-1, 1]))
def test_ulp_distance_counts_steps(start, steps, direction):
    here = there = F32(start)
    with np.errstate(all="ignore"):  # the steps to infinity and around 0 raise flags
        for _ in range(steps):
            there = np.nextafter(there, F32(direction * np.inf))
    assume(np.isfinite(there))
    # 0 and −0 are one number to nextafter, and one apart here.
    expected = steps + bool(np.signbit(here) != np.signbit(there))
    assert ulp_distance(here, there) == expected
    assert ulp_distance(there, here) == expected


def test_ulp_distance_at_the_ends_of_the_line():
    assert ulp_distance(array(0.0), array(-0.0)) == 1
    assert ulp_distance(array(TINY), array(0.0)) == 1
    assert ulp_distance(array(-TINY), array(-0.0)) == 1
    assert ulp_distance(array(TINY), array(-TINY)) == 3
    assert ulp_distance(array(LARGEST), array(np.inf)) == 1
    assert ulp_distance(array(-np.inf), array(np.inf)) == 2 * 0x7F800000 + 1
    np.testing.assert_array_equal(
        ulp_distance(array(np.nan, np.nan, 1), array(np.nan, 1, np.nan)), [0, np.inf, np.inf]
    )


@given(st.lists(finite, min_size=3, max_size=3))
def test_ulp_distance_is_a_distance_along_a_line(values):
    low, middle, high = sorted(array(*values), key=lambda x: (x, not np.signbit(x)))
    assert ulp_distance(low, high) == ulp_distance(low, middle) + ulp_distance(middle, high)
    assert (ulp_distance(low, high) == 0) == (low.tobytes() == high.tobytes())


def test_stated_figures_agree_or_not():
    stated = Stated("−0.17 to +0.16", -0.175, 0.165)
    assert stated.agrees(measured(-0.17, 0.16))
    assert not stated.agrees(measured(-0.17, 0.177))
    assert not stated.agrees(measured(-0.2, 0.1))
    assert not stated.agrees(measured(math.nan))
    assert not stated.agrees(measured(0, math.nan))
    assert not stated.agrees(measured(0, compared=0))
    at_most = Stated("≤ 4.8e-6", high=4.8e-6)
    assert at_most.agrees(measured(4.8e-6))
    assert not at_most.agrees(measured(5.4e-6))


def test_a_stated_figure_without_bounds_is_refused():
    with pytest.raises(ValueError, match="'negligible' has no bound"):
        Stated("negligible")
