"""Runs toy seeds until it is stopped: OUT SEED ..."""

import signal
import sys
from pathlib import Path

from reference_harness.dreamerv3.training import __main__ as command
from reference_harness.dreamerv3.training.attempts import Program

# Whoever runs the tests in the background may have told their children to ignore it.
signal.signal(signal.SIGINT, signal.default_int_handler)
toy = Program("the toy", Path(sys.executable), Path(__file__).with_name("toy.py"))
command.reference_program = lambda: toy
command.app(["--out", sys.argv[1], "--smoke", "--seed", *sys.argv[2:]])
