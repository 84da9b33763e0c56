"""The order of a run of TD-MPC2 as the core's loop tells it, and faults of it."""

import numpy as np
import pytest

from deviations import t9, t28, tdmpc2_runs
from deviations.faults.tdmpc2.schedule import FAULTS
from deviations.tdmpc2_runs import EVENTS
from parity.core_subject.tdmpc2 import events, scripted
from parity.operations import catalogue

RUN = tdmpc2_runs.run(eval_every=5)(np.random.default_rng(0))


@pytest.fixture(scope="module")
def told():
    return events.run_events(**RUN)


def test_the_core_tells_every_step_plan_update_and_evaluation(told):
    operation = catalogue()["tdmpc2.run_events"]
    operation.check_outputs(told, operation.check_inputs(RUN))
    tick = np.arange(40)
    np.testing.assert_array_equal(told["step"][:, 0], tick % 5)
    np.testing.assert_array_equal(told["planned"], tick > 10)
    np.testing.assert_array_equal(told["updates"], [0] * 10 + [10] + [1] * 29)
    np.testing.assert_array_equal(told["held"], [-1] * 10 + (tick[10:] // 5).tolist())
    fresh = (tick % 5 == 0) | (tick == 11)
    np.testing.assert_array_equal(
        told["before"][:, 0], np.where(tick < 11, -3, np.where(fresh, -1, tick - 1))
    )
    np.testing.assert_array_equal(told["t0"][:, 0], np.where(tick < 11, -1, tick % 5 == 0))
    np.testing.assert_array_equal(told["evaluated"], np.arange(5, 41, 5))
    starts = t9._starts(told)
    assert len(starts) == len(np.unique(starts)) == 8 + 8 * 2
    assert told["error"] == 0


def test_an_end_before_time_stops_the_run_in_its_own_tick():
    asked = {**RUN, **tdmpc2_runs.MIXED, "eval_episodes": 0}
    answer = events.run_events(**asked)
    ends = tdmpc2_runs.ended(answer, asked)
    assert answer["error"] == 1
    assert np.flatnonzero(ends).tolist() == [len(ends) - 1]


def test_a_fault_of_the_order_is_told(told):
    (fault,) = (fault for fault in FAULTS if fault.id == "X702")
    early = fault.overrides()["tdmpc2.run_events"](**RUN)
    assert tdmpc2_runs.first_plan(told) == 11
    assert tdmpc2_runs.first_plan(early) == 10
    assert events.run_events(**RUN)["planned"].tolist() == told["planned"].tolist()


def test_means_of_others_are_no_own_ones():
    """A mean that is not a whole number's, shifted, or another environment's."""
    own = np.asarray([[7, 7, 0]], np.float32)[:, :, None]
    assert scripted.origins(own).tolist() == [6]
    assert scripted.origins(-own).tolist() == [-2]
    assert scripted.origins(0 * own).tolist() == [-1]
    assert scripted.origins(own + np.asarray([[[0], [0], [1]]])).tolist() == [-4]
    two = np.concatenate([own, own])  # number 7 of two environments is the first one's
    assert scripted.origins(two).tolist() == [3, -4]


def test_an_answer_without_a_step_satisfies_nothing():
    none = {name: value[:0] if value.ndim else value for name, value in events_of_nothing().items()}
    for claim in (*t9.CLAIMS, *t28.CLAIMS):
        if claim.about != "reference" and claim.operations == (EVENTS,):
            found = claim.measure(lambda *_, **__: none, lambda *_, **__: none, claim.cases(None))
            assert claim.tolerance.judge(found) == "BROKEN", claim.id


def events_of_nothing():
    names = ("stepped", "planned", "updates", "held", "evaluated")
    wide = ("start", "step", "t0", "before", "eval_start")
    return {
        **{name: np.zeros(1, np.int64) for name in names},
        **{name: np.zeros((1, 1)) for name in wide},
        "error": np.zeros((), np.int64),
    }
