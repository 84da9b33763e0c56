"""Clocks, and where a measurement was made."""

from __future__ import annotations

import dataclasses
import os
import resource
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from benchmarks.cores import use_cores
from parity.provenance import installed, now, processor

PACKAGES = ("jax", "jaxlib", "numpy", "flax", "optax")


@dataclasses.dataclass(frozen=True)
class Seconds:
    """How long something took.

    Attributes:
        wall: On the clock.
        cpu: Of processor time, on all cores together: what other programs on the machine
            change little.
    """

    wall: float
    cpu: float

    @property
    def cores(self) -> float:
        """How many cores were busy on average."""
        return self.cpu / self.wall


def cpu_time() -> float:
    """Processor time of this process so far, in seconds."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def timed(call: Callable[[], Any], times: int = 1) -> Seconds:
    """Seconds of one of `times` calls, which must return when their work is done."""
    wall, cpu = time.perf_counter(), cpu_time()
    for _ in range(times):
        call()
    return Seconds((time.perf_counter() - wall) / times, (cpu_time() - cpu) / times)


def median(samples: Sequence[Seconds]) -> Seconds:
    """The median of each clock."""
    return Seconds(
        statistics.median(sample.wall for sample in samples),
        statistics.median(sample.cpu for sample in samples),
    )


def circumstances() -> Mapping[str, Any]:
    """What a figure depends on beside the program."""
    return {
        "time": now(),
        "processor": processor(),
        "cores": use_cores(None),
        "load": [round(value, 2) for value in os.getloadavg()],
        "packages": installed(PACKAGES),
    }
