"""Looks for the input on which a claim is worst, with Hypothesis.

A claim's own cases are few and fixed. Its `search` draws others, and Hypothesis is told how
close each comes to breaking the tolerance, so that it climbs towards the worst.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import tempfile
from collections.abc import Callable, Iterable, Iterator

from parity.claims import AtLeast, AtMost, Equals, Measurement, Tolerance, Verdict, Within
from parity.implementations import Implementation
from parity.operations import Inputs
from parity.outcome import Outcome, RunError, outcome
from parity.registry import Claim, Entry
from parity.runner import References

# Hypothesis wants finite scores.
_WORST = 1e300


@dataclasses.dataclass
class Search:
    """What was found for one claim at one pin.

    Attributes:
        entry: The claim's entry.
        claim: The claim.
        pin: The reference's pin; None where the claim needs no reference.
        examples: How many inputs were tried.
        worst: The outcome on the worst of them; None before the first.
        score: How close the worst comes to breaking the tolerance; beyond 1 it breaks.
    """

    entry: Entry
    claim: Claim
    pin: str | None
    examples: int = 0
    worst: Outcome | None = None
    score: float = -math.inf

    @property
    def verdict(self) -> Verdict:
        """The verdict on the worst input."""
        return self.worst.verdict if self.worst else Verdict.NOT_MEASURED

    def note(self, found: Outcome) -> float:
        """Keeps an outcome if it is the worst so far; returns its score."""
        self.examples += 1
        points = score(self.claim.tolerance, found)
        broken = found.verdict is Verdict.BROKEN
        # A broken claim is worse than any that holds, whatever the score makes of rounding.
        rank = (broken, points)
        if self.worst is None or rank > (self.worst.verdict is Verdict.BROKEN, self.score):
            self.worst, self.score = found, points
        return points


def searches(entries: Iterable[Entry], claim_id: str | None = None) -> list[Search]:
    """One empty search for every claim with a `search`, at every pin of its entry.

    Args:
        entries: Whose claims.
        claim_id: This claim only.

    Raises:
        UnknownIdError: An entry has no claim of this id.
    """
    return [
        Search(entry, claim, pin)
        for entry in entries
        for claim in ([entry.claim(claim_id)] if claim_id else entry.claims)
        if claim.search is not None
        for pin in ((None,) if claim.about == "subject" else entry.pins_of(claim) or (None,))
    ]


def fuzz(
    search: Search,
    subject: Implementation,
    references: References,
    *,
    examples: int,
    seed: int,
    progress: Callable[[Search], None] = lambda search: None,
) -> None:
    """Fills a search. The same seed tries the same inputs.

    What was found so far is in `search` at any time, also when this is interrupted.

    Raises:
        RunError: The claim itself failed, or the reference gave no proper answer.
        HarnessError: The reference could not be asked.
    """
    import hypothesis
    from hypothesis.errors import HypothesisException

    claim = search.claim
    if claim.about != "subject" and search.pin is None:
        why = f"{search.entry.id} names no pin at which to ask a reference"
        search.worst = Outcome(Verdict.NOT_MEASURED, why=why)
        return
    assert claim.search is not None
    reference = references(search.pin) if search.pin else None

    def attempt(inputs: Inputs) -> None:
        found = outcome(search.entry, claim, subject, reference, inputs)
        if found.verdict is Verdict.NOT_MEASURED:
            raise _UnmeasurableError(found)
        hypothesis.target(search.note(found), label=claim.id)
        progress(search)

    settings = hypothesis.settings(
        max_examples=examples,
        database=None,
        deadline=None,
        derandomize=False,  # which would ignore the seed
        print_blob=False,
        report_multiple_bugs=False,
        suppress_health_check=tuple(hypothesis.HealthCheck),  # type: ignore[arg-type]
        phases=(hypothesis.Phase.generate, hypothesis.Phase.target),
        verbosity=hypothesis.Verbosity.quiet,
    )
    with _scratch():
        try:
            tried = settings(hypothesis.given(claim.search())(attempt))
            hypothesis.seed(seed)(tried)()
        except _UnmeasurableError as error:
            # Of a claim that is not measured everywhere, only a break is certain.
            if search.verdict is not Verdict.BROKEN:
                search.worst = error.found
        except HypothesisException as error:
            where = f"{search.entry.id}/{claim.id}"
            raise RunError(f"the search of {where} draws no inputs: {error}") from error


def score(tolerance: Tolerance, found: Outcome) -> float:
    """How close an outcome comes to breaking the tolerance: 1 at its edge, finite always."""
    if found.measurement is None or not found.measurement.compared:
        return _WORST
    points = _points(tolerance, found.measurement)
    return _WORST if math.isnan(points) else max(-_WORST, min(points, _WORST))


def _points(tolerance: Tolerance, found: Measurement) -> float:
    if isinstance(tolerance, AtMost):
        scale = abs(tolerance.bound) or 1.0
        return 1 + (found.high - tolerance.bound) / scale
    if isinstance(tolerance, AtLeast):
        scale = abs(tolerance.bound) or 1.0
        return 1 + (tolerance.bound - found.low) / scale
    if isinstance(tolerance, Within):
        half = (tolerance.high - tolerance.low) / 2 or 1.0
        return 1 + max(tolerance.low - found.low, found.high - tolerance.high) / half
    if isinstance(tolerance, Equals):
        return 1 + max(abs(found.low - tolerance.value), abs(found.high - tolerance.value))
    return 1.0 if tolerance.judge(found) is Verdict.HOLDS else 2.0


class _UnmeasurableError(Exception):
    def __init__(self, found: Outcome):
        super().__init__(found.why)
        self.found = found


@contextlib.contextmanager
def _scratch() -> Iterator[None]:
    """Keeps Hypothesis from leaving a folder in the user's working directory."""
    from hypothesis import configuration

    with tempfile.TemporaryDirectory() as folder:
        configuration.set_hypothesis_home_dir(folder)
        try:
            yield
        finally:
            configuration.set_hypothesis_home_dir(None)
