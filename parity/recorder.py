"""Measures claims live, and records what they asked of the reference."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from parity.implementations import CannotMeasureError, Implementation
from parity.operations import Answer, Inputs
from parity.provenance import now
from parity.references import References
from parity.registry import Claim, Entry
from parity.runner import Progress, record_claim
from reference_harness.recorder import Recorder, Written
from reference_harness.recordings import FOLDER


@dataclasses.dataclass(frozen=True)
class Recorded:
    """What `record` did.

    Attributes:
        written: What was written, pin by pin.
        left_out: Why a pin, or a claim at a pin, was not recorded.
    """

    written: tuple[Written, ...]
    left_out: tuple[str, ...]


class Saving(Implementation):
    """A reference whose every answer is noted."""

    def __init__(self, inner: Implementation, recorder: Recorder):
        self.name = inner.name
        self._inner = inner
        self._recorder = recorder

    def answer(self, operation: str, inputs: Inputs) -> Answer:
        """See `Implementation.answer`."""
        answer = self._inner.answer(operation, inputs)
        self._recorder.add(operation, inputs, answer)
        return answer


def record(
    entries: Iterable[Entry],
    subject: Implementation,
    references: References,
    *,
    command: str,
    pins: Sequence[str] = (),
    prune: bool = False,
    folder: Path = FOLDER,
    progress: Progress = lambda done, total, label: None,
) -> Recorded:
    """Asks what the claims ask, live, and writes it down when all has been asked.

    Args:
        entries: Whose claims.
        subject: Takes part in the claims; its answers are not recorded.
        references: The live references.
        command: What to write down as the command that made the recording.
        pins: Record these only; none means all.
        prune: Let go of all that was recorded of these pins before.
        folder: Where recordings are kept.
        progress: Is told (measurements done, in all, the next claim).

    Raises:
        RunError: A claim failed, or a reference gave no proper answer. Nothing is written.
        HarnessError: A reference could not be asked. Nothing is written.
    """
    plan: dict[str, list[tuple[Entry, Claim]]] = {}
    for entry in entries:
        for claim in entry.claims:
            asks = claim.operations and claim.about != "subject"
            for pin in entry.pins_of(claim) if asks else ():
                if not pins or pin in pins:
                    plan.setdefault(pin, []).append((entry, claim))
    total, done = sum(map(len, plan.values())), 0
    recorders: list[Recorder] = []
    left_out: list[str] = []
    for pin, claims in plan.items():
        try:
            recorder = Recorder(pin, _session(references, pin, command), folder)
        except CannotMeasureError as error:
            left_out.append(f"{pin}: {error}")
            done += len(claims)
            continue
        recorders.append(recorder)
        saving = Saving(references(pin), recorder)
        for entry, claim in claims:
            name = f"{entry.id}/{claim.id}"
            progress(done, total, f"{name} at {pin}")
            done += 1
            found = record_claim(entry, claim, pin, subject, lambda _, it=saving: it, "live")
            # Where the subject failed, the claim did not come to all of its questions.
            if found.verdict == "NOT MEASURED" or not found.compared:
                recorder.drop()
                left_out.append(f"{name} at {pin}: {found.why}")
            else:
                recorder.keep(name)
    progress(total, total, "")
    return Recorded(tuple(r.write(prune=prune) for r in recorders), tuple(left_out))


def _session(references: References, pin: str, command: str) -> dict[str, Any]:
    from reference_harness.pins import find_pin

    identity = references.live(pin).worker.identity
    return {
        "command": command,
        "created": now(),
        "commit": find_pin(pin).commit,
        "python": identity.python,
        "platform": identity.platform,
        "cpu": identity.cpu,
        "packages": dict(sorted(identity.packages.items())),
    }
