"""Well-behaved operations for the tests of the worker."""

import json
import os
import sys

import numpy as np


def _text(value):
    return np.frombuffer(json.dumps(value).encode(), np.uint8)


def echo(**inputs):
    return inputs


def add(a, b):
    return {"sum": a + b}


def surroundings():
    return {
        "environment": _text(dict(os.environ)),
        "path": _text(sys.path),
        "arguments": _text(sys.argv[1:]),
        "ours": _text(sorted(name for name in sys.modules if "reference_harness" in name)),
        "pid": os.getpid(),
    }


OPERATIONS = {"echo": echo, "add": add, "surroundings": surroundings}
