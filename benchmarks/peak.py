"""The machine's sgemm peak: the best that jax and numpy reach on large square products.

    python -m benchmarks.peak CORES

Every number of cores is measured in a process of its own, which is confined to them before
either library counts them. Prints GFLOP/s.
"""

from __future__ import annotations

import subprocess
import sys

SIZES = (2048, 4096)
REPEATS = 5


def measure(cores: int) -> float:
    """GFLOP/s of a fresh process on so many cores."""
    command = [sys.executable, "-m", "benchmarks.peak", str(cores)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def _main(cores: int) -> None:
    from benchmarks.cores import use_cores

    use_cores(cores)
    import jax
    import numpy as np

    from benchmarks.timing import timed

    best = 0.0
    for size in SIZES:
        x = np.random.default_rng(0).random((size, size), np.float32)
        y = jax.device_put(x)
        product = jax.jit(jax.numpy.matmul)
        calls = (lambda x=x: x @ x, lambda y=y, f=product: jax.block_until_ready(f(y, y)))
        for call in calls:
            call()
            fastest = min(timed(call).wall for _ in range(REPEATS))
            best = max(best, 2 * size**3 / fastest / 1e9)
    print(best)


if __name__ == "__main__":
    _main(int(sys.argv[1]))
