"""Operations that do what code under a worker should not do."""

import contextlib
import ctypes
import os
import subprocess
import sys
import time

import numpy as np


def chatter(x):
    print("printed by Python")
    os.write(1, b"written to descriptor 1\n")
    ctypes.CDLL(None).puts(b"written by C")
    ctypes.CDLL(None).fflush(None)
    print("printed as an error", file=sys.stderr)
    return {"x": x, "read": len(sys.stdin.read())}


def scream():
    for line in range(1000):
        print(f"line {line}")
    os.abort()


def abort():
    os.abort()


def leave(status):
    sys.exit(status)


def answer_objects():
    return {"fine": np.zeros(2), "wrong": np.array([{}], object)}


def answer_nothing():
    return None


def overwrite(x, y):
    y += 1
    return {"x": x}


def fail(text):
    raise ValueError(text)


def speak_out_of_turn():
    for descriptor in range(64, 80):
        with contextlib.suppress(OSError):
            os.write(descriptor, b"this is no message, and it is longer than a prefix")
    time.sleep(1000)


def hang(pids, grandchild, hold_gil):
    """Writes who is there into the file `pids` and never comes back."""
    who = [os.getpid(), os.getppid()]
    if grandchild:
        who.append(subprocess.Popen(["sleep", "1000"]).pid)
    if pids:
        with open(pids + ".part", "w") as file:
            file.write(" ".join(map(str, who)))
        os.rename(pids + ".part", pids)
    if hold_gil:
        ctypes.PyDLL(None).sleep(1000)
    time.sleep(1000)


def fork_and_die():
    """Leaves a child that holds the worker's pipes open."""
    if os.fork() == 0:
        time.sleep(1000)
    os._exit(7)


OPERATIONS = {
    function.__name__: function
    for function in (
        chatter,
        scream,
        abort,
        leave,
        answer_objects,
        answer_nothing,
        overwrite,
        fail,
        speak_out_of_turn,
        hang,
        fork_and_die,
    )
}
