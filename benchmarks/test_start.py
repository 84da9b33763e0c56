"""How long the command takes to answer when it has nothing to compute."""

import subprocess
import sys


def test_parity_list(benchmark):
    command = [sys.executable, "-m", "parity", "list"]
    benchmark.pedantic(
        lambda: subprocess.run(command, check=True, capture_output=True), rounds=7, warmup_rounds=1
    )
