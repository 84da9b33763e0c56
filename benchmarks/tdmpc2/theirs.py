"""The reference's side: its stock agent, in a worker of its own environment."""

from __future__ import annotations

from typing import Any

from benchmarks.cores import use_cores
from benchmarks.tdmpc2.problems import Case, batch, observation
from benchmarks.timing import Seconds
from parity.workers import ask, start_reference

OPERATIONS = "reference_harness.tdmpc2.benchmark"
_TIME_LIMIT = 1800.0


class Theirs:
    """The stock agent on one case, each operation on the number of threads that suits it best.

    Args:
        case: What is timed.

    Raises:
        CannotMeasureError: The reference is not installed here.
        HarnessError: Its worker broke.

    Attributes:
        packages: The versions in its environment.
        threads: The number that was fastest, by operation.
    """

    def __init__(self, case: Case):
        self._worker = start_reference(
            f"tdmpc2-{case.pin}", operations=OPERATIONS, time_limit=_TIME_LIMIT
        )
        settings = case.problem.reference_settings("float32")
        self._inputs = {
            "update": {"settings": settings, "batch": batch(case)},
            "plan": {"settings": settings, "observation": observation(case)},
        }
        self._times = {"update": case.updates, "plan": case.plans}
        self.packages = dict(self._worker.identity.packages)
        self.threads = {what: self._fastest(what) for what in self._inputs}

    def update(self, times: int = 1) -> Seconds:
        """Seconds per update."""
        return self._ask("update", times, self.threads["update"])

    def plan(self, times: int = 1) -> Seconds:
        """Seconds per planned action."""
        return self._ask("plan", times, self.threads["plan"])

    def close(self) -> None:
        """Ends the worker."""
        self._worker.close()

    def _fastest(self, what: str) -> int:
        """The best of three rounds decides; the first call of each is not counted."""

        def seconds(threads: int) -> float:
            self._ask(what, 1, threads)
            return min(self._ask(what, self._times[what], threads).wall for _ in range(3))

        return min(range(1, use_cores(None) + 1), key=seconds)

    def _ask(self, what: str, times: int, threads: int) -> Seconds:
        inputs: dict[str, Any] = {**self._inputs[what], "times": times, "threads": threads}
        answer = ask(self._worker, f"tdmpc2.benchmark_{what}", inputs)
        return Seconds(float(answer["seconds"]), float(answer["cpu_seconds"]))
