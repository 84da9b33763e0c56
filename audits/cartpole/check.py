"""A named assertion, and how it came out."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Sequence

import msgspec

Finding = Iterator[str]  # what is wrong, one phrase each


class Outcome(enum.StrEnum):
    """Of a check; nothing that was not looked at counts as passed."""

    PASS = "PASS"
    FAIL = "FAIL"
    NOT_MEASURED = "NOT MEASURED"


class Check(msgspec.Struct, frozen=True):
    """One assertion about one run, or about both sides.

    Attributes:
        id: As in `updates/ours/seed0`.
        says: What is asserted, one sentence.
        outcome: Of it.
        found: What was found instead, or why it was not measured; "" where it passed.
    """

    id: str
    says: str
    outcome: Outcome
    found: str = ""


def made(name: str, says: str, finding: Iterable[str]) -> Check:
    """A check that passes if nothing is wrong.

    Args:
        name: Its id.
        says: What it asserts.
        finding: What is wrong.
    """
    problems = list(finding)
    outcome = Outcome.FAIL if problems else Outcome.PASS
    more = f" (and {len(problems) - 3} more)" if len(problems) > 3 else ""
    return Check(name, says, outcome, "; ".join(problems[:3]) + more)


def not_measured(name: str, says: str, why: str) -> Check:
    """A check that could not be made."""
    return Check(name, says, Outcome.NOT_MEASURED, why)


def failed(checks: Sequence[Check]) -> list[Check]:
    """Those that failed."""
    return [check for check in checks if check.outcome is Outcome.FAIL]
