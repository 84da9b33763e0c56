"""The reference's side: its stock agent, in a worker of its own environment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.cores import use_cores
from benchmarks.dreamerv3.problems import Case, columns, observations
from benchmarks.timing import Seconds
from parity.trace.dreamerv3.reference import compiled_folder
from parity.workers import ask, start_reference

PIN = "dreamerv3-29eb964"
OPERATIONS = "reference_harness.dreamerv3.benchmark"
# A compilation without a cache takes minutes.
_TIME_LIMIT = 3600.0


class Theirs:
    """The stock agent on one case.

    Args:
        case: What is timed.
        cache: Where its compiled programs are kept; by default, one beside those of traces.

    Raises:
        CannotMeasureError: The reference is not installed here.
        HarnessError: Its worker broke.

    Attributes:
        compile_seconds: How long its training step took to trace and compile, or to come
            from the cache.
        parameters: How many numbers it trains.
        packages: The versions in its environment.
    """

    def __init__(self, case: Case, cache: Path | None = None):
        # A program is compiled for the cores that there are, but kept under one name for all.
        folder = cache or compiled_folder() / f"{use_cores(None)}-cores"
        self._worker = start_reference(
            PIN,
            operations=OPERATIONS,
            time_limit=_TIME_LIMIT,
            environment={"JAX_COMPILATION_CACHE_DIR": str(folder)},
        )
        self._settings = case.problem.reference_settings("float32")
        self._columns, self._observations = columns(case), observations(case)
        built = self._ask("build")
        self.compile_seconds = float(built["compile_seconds"])
        self.parameters = int(built["parameters"])
        self.packages = dict(self._worker.identity.packages)

    def update(self, times: int = 1) -> Seconds:
        """Seconds per update."""
        return _seconds(self._ask("update", data=self._columns, times=times))

    def act(self, times: int = 1) -> Seconds:
        """Seconds per row of all environments."""
        return _seconds(self._ask("act", observation=self._observations, times=times))

    def close(self) -> None:
        """Ends the worker."""
        self._worker.close()

    def _ask(self, what: str, **inputs: Any) -> Any:
        operation = f"dreamerv3.benchmark_{what}"
        return ask(self._worker, operation, {"settings": self._settings, **inputs})


def _seconds(answer: Any) -> Seconds:
    return Seconds(float(answer["seconds"]), float(answer["cpu_seconds"]))
