"""A program that owns a hung worker, to be killed by the test: `python owner.py FILE`.

It also forks a child that outlives it. The worker writes its pids into FILE when it hangs.
"""

import os
import signal
import sys
import time
from pathlib import Path

from reference_harness.worker import Worker

if __name__ == "__main__":
    # A shell that runs the tests in the background has them ignore Ctrl-C.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    unruly = Path(__file__).with_name("unruly.py")
    with Worker("hung", sys.executable, unruly) as worker:
        assert worker.offers("hang")
        heir = os.fork()
        if heir == 0:
            time.sleep(1000)
        print(heir, flush=True)
        worker.ask("hang", {"pids": sys.argv[1], "grandchild": True, "hold_gil": True})
