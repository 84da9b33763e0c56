"""The order of a run as the core's loop tells it, and faults of it."""

import contextlib

import numpy as np
import pytest

from deviations import d1
from deviations.faults.dreamerv3.events import FAULTS
from parity.core_subject.dreamerv3 import events
from parity.implementations import CannotMeasureError
from parity.operations import catalogue
from parity.workers import start_reference

SIZES = {"seed": 0, "envs": 2, "batch": 3, "length": 4, "train_ratio": 12.0, "ticks": 20}


@pytest.fixture(scope="module")
def told():
    return events.run_events(**SIZES)


def test_the_core_acts_draws_and_writes_back_in_step(told):
    operation = catalogue()["dreamerv3.run_events"]
    operation.check_outputs(told, operation.check_inputs(SIZES))
    number = np.arange(len(told["rows"]))
    assert len(number) == 30
    np.testing.assert_array_equal(told["acted_with"], told["updates"])
    for name in ("drawn_after", "written", "measured"):
        np.testing.assert_array_equal(told[name], number)
    # 4 rows of each environment and 3 more open the gate; ticks are complete by then.
    np.testing.assert_array_equal(told["rows"], 12 + number // 2 * 2)
    assert (told["start"] + SIZES["length"] < told["rows"][:, None] // 2).all()


def test_a_fault_of_the_order_is_told(told):
    (fault,) = (fault for fault in FAULTS if fault.id == "X403")
    late = fault.overrides()["dreamerv3.run_events"](**SIZES)
    assert d1._results(told).tolist() == [0] * 60
    assert d1._results(late).max() == 1


@pytest.mark.reference
def test_after_a_run_the_head_of_the_reference_answers_everything_else():
    try:
        worker = start_reference("dreamerv3-e3f0224")
    except CannotMeasureError as error:
        pytest.skip(str(error))
    with contextlib.closing(worker):
        worker.ask("dreamerv3.run_events", SIZES)
        assert worker.ask("dreamerv3.default_precision", {})["activations"] == 8
