"""What comes of one measurement: a verdict, and what explains it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from parity import exchanges, worst_input
from parity.claims import Measurement, Verdict
from parity.exchanges import Exchange, Noting, Question
from parity.implementations import CannotMeasureError, Implementation, NotHereError
from parity.operations import Inputs
from parity.registry import Claim, Entry
from parity.sides import (
    ReferenceAnswerError,
    ReferenceSide,
    SubjectAnswerError,
    SubjectSide,
    Unasked,
)
from reference_harness.errors import HarnessError
from reports.records import NOT_HERE, StatedFigure, number


class RunError(Exception):
    """The claims could not be measured, through no behaviour of the subject."""


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What came of one measurement.

    Attributes:
        verdict: See `Verdict`.
        measurement: None where there was no figure.
        why: Why there was none, or where the worst figure of a broken claim is.
        asked: Where an answer failed, the inputs that it failed on.
        notes: What the two sides were asked, and what they answered.
    """

    verdict: Verdict
    measurement: Measurement | None = None
    why: str = ""
    asked: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    notes: tuple[Exchange, ...] = dataclasses.field(default=(), repr=False, compare=False)

    @property
    def element(self) -> str:
        """The element with the worst figure, and its two values; "" where it is not known."""
        if self.measurement is None or self.measurement.element is None:
            return ""
        return exchanges.describe(self.measurement.element, self.notes)

    @property
    def questions(self) -> list[Question]:
        """The question on which the claim is worst; all that it asked, where that is not known."""
        if self.measurement is None:  # an answer failed: it was the last
            return exchanges.questions(self.notes)[-1:]
        return exchanges.questions(self.notes, self.measurement.element)

    def fields(self, claim: Claim) -> dict[str, Any]:
        """The fields of a `ClaimRecord` that depend on what was measured."""
        if self.measurement is None:
            asked = worst_input.shortened(self.asked)
            return {"verdict": self.verdict.value, "why": self.why, "worst_input": asked}
        found, stated = self.measurement, claim.stated
        return {
            "verdict": self.verdict.value,
            "why": self.why,
            "stated": StatedFigure(stated.text, stated.agrees(found)) if stated else None,
            "measured": found.text,
            "low": number(found.low),
            "high": number(found.high),
            "least": claim.tolerance.least(found),
            "margin": claim.tolerance.margin(found),
            "compared": found.compared,
            "worst_input": worst_input.shortened(found.worst_input),
            "note": found.note,
        }


def drawn(entry: Entry, claim: Claim) -> Inputs:
    """The inputs of a claim, the same in every run.

    Raises:
        RunError: They could not be drawn.
    """
    try:
        return claim.cases(entry.rng(claim))
    except Exception as error:
        raise _failed(entry, claim, error) from error


def outcome(
    entry: Entry,
    claim: Claim,
    subject: Implementation,
    reference: Implementation | None,
    inputs: Inputs,
) -> Outcome:
    """Measures a claim on these inputs.

    Args:
        entry: The claim's entry.
        claim: The claim.
        subject: The implementation under audit.
        reference: None where there is none: the claim must then be about the subject alone.
        inputs: What `claim.cases` or `claim.search` drew.

    Raises:
        RunError: The claim itself failed, or the reference gave no proper answer.
        HarnessError: The reference could not be asked.
    """
    if claim.core_only and not subject.is_core:
        return Outcome(
            Verdict.NOT_MEASURED,
            why="it is about the core's own choice; a port may follow the reference instead",
        )
    ours = Unasked("subject") if claim.about == "reference" else SubjectSide(subject)
    theirs: Implementation = Unasked("reference")
    if claim.about != "subject" and reference is not None:
        theirs = ReferenceSide(reference)
    notes: list[Exchange] = []
    try:
        found = claim.measure(
            Noting("subject", ours, notes), Noting("reference", theirs, notes), inputs
        )
        verdict = claim.tolerance.judge(found)
    except CannotMeasureError as error:
        why = NOT_HERE * isinstance(error, NotHereError) + (str(error) or "no reason was given")
        return Outcome(Verdict.NOT_MEASURED, why=why)
    except SubjectAnswerError as error:
        return Outcome(Verdict.BROKEN, why=str(error), asked=error.inputs, notes=tuple(notes))
    except ReferenceAnswerError as error:
        raise RunError(
            f"{entry.id}/{claim.id} could not be measured; the reference's harness or its "
            f"recording is at fault, not the subject: {error}"
        ) from error
    except HarnessError:
        raise
    except Exception as error:
        raise _failed(entry, claim, error) from error
    measured = Outcome(verdict, found, notes=tuple(notes))
    why = ""
    if verdict is Verdict.BROKEN:
        why = measured.element or exchanges.first_difference(notes)
    return dataclasses.replace(measured, why=why if found.compared else "nothing was compared")


def _failed(entry: Entry, claim: Claim, error: Exception) -> RunError:
    return RunError(f"{entry.id}/{claim.id} failed: {type(error).__name__}: {error}")
