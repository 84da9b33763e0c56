"""Processes that share tasks: what they tell, what they raise, and that none is left behind."""

import contextlib
import multiprocessing
import os
import signal

import pytest

from parity.pool import ProcessLostError, spread
from reference_harness.worker_errors import WorkerCrashedError


@contextlib.contextmanager
def doubling():
    yield lambda task, tell: [tell(2 * task), tell("done")]


@contextlib.contextmanager
def failing():
    def work(task, tell):
        tell(task)
        try:
            raise ZeroDivisionError("the cause")
        except ZeroDivisionError as cause:
            raise WorkerCrashedError("it crashed", "its log") from cause

    yield work


class UnsendableError(Exception):
    def __init__(self, one, two):
        super().__init__(f"{one} and {two}")


@contextlib.contextmanager
def raising():
    def work(task, tell):
        raise UnsendableError("one", "two")

    yield work


@contextlib.contextmanager
def dying():
    yield lambda task, tell: os.kill(os.getpid(), signal.SIGKILL)


@contextlib.contextmanager
def interrupted():
    yield lambda task, tell: [os.kill(os.getpid(), signal.SIGINT), tell("still here")]


@contextlib.contextmanager
def unopened():
    raise FileNotFoundError("no such folder")
    yield


def test_every_task_is_done_once_and_what_is_told_stays_in_order():
    told = {}
    for task, what in spread(doubling, range(5), 2):
        told.setdefault(task, []).append(what)
    assert told == {n: [2 * n, "done"] for n in range(5)}


def test_a_failure_comes_with_its_class_its_words_and_the_trace_of_its_cause():
    with pytest.raises(WorkerCrashedError, match=r"it crashed\n  . its log") as caught:
        assert list(spread(failing, [1, 2], 2)) == []
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert "test_pool.py" in caught.value.__cause__.__notes__[0]
    assert multiprocessing.active_children() == []


def test_a_failure_that_can_not_be_sent_is_told():
    with pytest.raises(RuntimeError, match="UnsendableError: one and two"):
        list(spread(raising, [1], 1))


def test_a_process_that_could_not_open_says_why():
    with pytest.raises(FileNotFoundError, match="no such folder"):
        list(spread(unopened, [1], 1))


def test_a_process_that_is_killed_is_noticed():
    with pytest.raises(ProcessLostError, match="at 7 has ended"):
        list(spread(dying, [7], 1))


def test_ctrl_c_is_for_the_process_that_started_the_others():
    assert sorted(spread(interrupted, [1, 2], 2)) == [(1, "still here"), (2, "still here")]


def test_whoever_stops_listening_leaves_no_process_behind():
    told = spread(doubling, range(100), 2)
    next(told)
    assert len(multiprocessing.active_children()) == 2
    told.close()
    assert multiprocessing.active_children() == []
