"""Ctrl-C: orderly at first, at once when asked twice, and never amid what is being written."""

import os
import signal
import threading
import time

import pytest

from core.training.interruption import Interruption, interruptible


def press(number=signal.SIGINT):
    os.kill(os.getpid(), number)


def test_the_first_signal_is_remembered_and_the_second_raises():
    interruption = Interruption()
    before = signal.getsignal(signal.SIGTERM)
    with interruption.watched():
        press(signal.SIGTERM)
        assert interruption.number == signal.SIGTERM
        with pytest.raises(KeyboardInterrupt):
            press()
    assert interruption.number == signal.SIGTERM
    assert signal.getsignal(signal.SIGTERM) == before


def test_what_is_being_written_is_not_interrupted():
    interruption = Interruption()
    with interruption.watched():
        with interruption.held():
            for _ in range(3):
                press()
        assert interruption.number == signal.SIGINT
        with pytest.raises(KeyboardInterrupt):
            press()


def test_a_signal_that_the_process_ignores_stays_ignored():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        interruption = Interruption()
        with interruption.watched():
            press()
        assert not interruption.number
    finally:
        signal.signal(signal.SIGINT, before)


def test_ctrl_c_does_not_wait_for_what_runs_in_the_background():
    release, beats, interruption = threading.Event(), [], Interruption()
    threading.Timer(0.3, press).start()
    start = time.monotonic()
    with interruption.watched(), pytest.raises(KeyboardInterrupt):
        interruptible(lambda: release.wait(30), interruption, lambda: beats.append(1), seconds=0.05)
    assert interruption.number == signal.SIGINT
    assert time.monotonic() - start < 10
    assert beats
    release.set()


def test_a_result_and_an_error_come_back():
    assert interruptible(lambda: 3, Interruption(), lambda: None) == 3
    with pytest.raises(ZeroDivisionError):
        interruptible(lambda: 1 // 0, Interruption(), lambda: None)
